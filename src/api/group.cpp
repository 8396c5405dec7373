#include "rondo/group.hpp"

#include <ostream>
#include <utility>

#include "backend/backend.hpp"
#include "backend/registry.hpp"

namespace rondo {

using backend::Seat;

namespace {

// Where a call that returns a tensor puts it: fresh memory, or on a group of one the input itself.
template <class MakeShape>
Tensor room_for(backend::GroupBackend& group, std::string_view verb, const Tensor& in, MakeShape make) {
  if (group.seat().size == 1) {
    group.check_open(verb);
    return in;
  }
  return Tensor(in.dtype(), group.shape_for(verb, make));
}

}  // namespace

Group::Group(std::shared_ptr<backend::GroupBackend> impl) : impl_(std::move(impl)) {}

int Group::rank() const noexcept { return impl_->seat().rank; }
int Group::size() const noexcept { return impl_->seat().size; }
int Group::local_rank() const noexcept { return impl_->identity().local_rank; }
int Group::local_size() const noexcept { return impl_->identity().local_size; }
Backend Group::backend() const noexcept { return impl_->identity().kind; }
const std::string& Group::fallback_reason() const noexcept { return impl_->identity().fallback_reason; }
std::optional<Failure> Group::failure() const { return impl_->failure(); }
Duration Group::timeout() const noexcept { return impl_->timeout(); }
void Group::set_timeout(Duration limit) { impl_->set_timeout(limit); }
void Group::abort(std::string_view reason) const { impl_->abort(reason); }
void Group::shutdown() const { impl_->shutdown(); }

std::optional<Group> Group::split(int color, std::optional<int> key) const {
  auto made = impl_->split(color, key);
  return made ? std::optional<Group>(Group(std::move(made))) : std::nullopt;
}

std::optional<Group> Group::subgroup(std::span<const int> ranks) const {
  auto made = impl_->subgroup(ranks);
  return made ? std::optional<Group>(Group(std::move(made))) : std::nullopt;
}

Tensor Group::allocate(DType dtype, std::span<const std::int64_t> shape) const {
  const std::size_t bytes = byte_size(dtype, shape);
  auto memory = impl_->allocate(bytes);
  return memory ? Tensor(dtype, shape, std::move(memory)) : Tensor(dtype, shape);
}

// ---- messages --------------------------------------------------------------------------------------------

void Group::send(ConstView data, int to, MessageOptions options) const {
  impl_->send(Send{data, to, options.tag}, options.timeout);
}

Tensor Group::recv(DType dtype, std::span<const std::int64_t> shape, int from, MessageOptions options) const {
  impl_->check("recv", Recv{View(dtype, nullptr, 0), from, options.tag});
  Tensor out(dtype, shape);
  impl_->recv(Recv{out.view(), from, options.tag}, options.timeout);
  return out;
}

MessageInfo Group::recv_into(View out, int from, MessageOptions options) const {
  MessageInfo info;
  impl_->recv(Recv{out, from, options.tag, &info}, options.timeout, "recv_into");
  return info;
}

MessageInfo Group::probe(int from, MessageOptions options) const {
  return impl_->probe(from, options.tag, options.timeout);
}
std::optional<MessageInfo> Group::try_probe(int from, int tag) const { return impl_->try_probe(from, tag); }

Tensor Group::sendrecv(ConstView data, std::span<const std::int64_t> recv_shape, int peer,
                       MessageOptions options) const {
  impl_->check_peer("sendrecv", "peer", peer);
  Tensor out(data.dtype(), recv_shape);
  sendrecv(data, peer, out.view(), peer, options);
  return out;
}

MessageInfo Group::sendrecv(ConstView data, int to, View out, int from, MessageOptions options) const {
  MessageInfo info;
  const Message both[] = {Recv{out, from, options.tag, &info}, Send{data, to, options.tag}};
  impl_->batch(both, options.timeout, "sendrecv");
  return info;
}

Request Group::isend(ConstView data, int to, MessageOptions options) const {
  return Request(impl_->start(Send{data, to, options.tag}, "isend"), options.timeout.value_or(timeout()), {});
}
Request Group::isend(const Tensor& data, int to, MessageOptions options) const {
  return Request(impl_->start(Send{data, to, options.tag}, "isend"), options.timeout.value_or(timeout()),
                 data);
}
Request Group::irecv(View out, int from, MessageOptions options) const {
  return Request(impl_->start(Recv{out, from, options.tag}, "irecv"), options.timeout.value_or(timeout()),
                 {});
}
void Group::batch(std::span<const Message> messages, MessageOptions options) const {
  impl_->batch(messages, options.timeout, "batch");
}

// ---- collectives -----------------------------------------------------------------------------------------

Tensor Group::all_reduce(const Tensor& in, ReduceOp op, CollectiveOptions options) const {
  Tensor out = size() == 1 ? in : Tensor(in.dtype(), in.shape());
  all_reduce(in.view(), out.view(), op, options);
  return out;
}
void Group::all_reduce(ConstView in, View out, ReduceOp op, CollectiveOptions options) const {
  impl_->run(AllReduce{in, out, op}, options.timeout, options.name);
}
void Group::all_reduce(View in_out, ReduceOp op, CollectiveOptions options) const {
  impl_->run(AllReduce{in_out, in_out, op}, options.timeout, options.name);
}

Tensor Group::all_gather(const Tensor& in, CollectiveOptions options) const {
  Tensor out = room_for(*impl_, "all_gather", in,
                        [&](Seat seat) { return backend::all_gather_shape(in.shape(), seat); });
  if (size() > 1) all_gather(in.view(), out.view(), options);
  return out;
}
void Group::all_gather(ConstView in, View out, CollectiveOptions options) const {
  impl_->run(AllGather{in, out}, options.timeout, options.name);
}

Tensor Group::all_gather_v(const Tensor& in, std::span<const std::size_t> counts,
                           CollectiveOptions options) const {
  Tensor out = room_for(*impl_, "all_gather_v", in, [&](Seat seat) {
    return backend::all_gather_v_shape(in.shape(), counts, seat, "all_gather_v");
  });
  all_gather_v(in.view(), out.view(), counts, options);
  return out;
}
void Group::all_gather_v(ConstView in, View out, std::span<const std::size_t> counts,
                         CollectiveOptions options) const {
  impl_->run(AllGatherV{in, out, counts}, options.timeout, options.name);
}

Tensor Group::reduce_scatter(const Tensor& in, ReduceOp op, CollectiveOptions options) const {
  Tensor out = room_for(*impl_, "sum_scatter", in,
                        [&](Seat seat) { return backend::reduce_scatter_shape(in.shape(), seat); });
  if (size() > 1) reduce_scatter(in.view(), out.view(), op, options);
  return out;
}
void Group::reduce_scatter(ConstView in, View out, ReduceOp op, CollectiveOptions options) const {
  impl_->run(ReduceScatter{in, out, op}, options.timeout, options.name);
}

Tensor Group::reduce_scatter_v(const Tensor& in, std::span<const std::size_t> counts, ReduceOp op,
                               CollectiveOptions options) const {
  Tensor out = room_for(*impl_, "sum_scatter_v", in,
                        [&](Seat seat) { return backend::reduce_scatter_v_shape(in.shape(), counts, seat); });
  reduce_scatter_v(in.view(), out.view(), counts, op, options);
  return out;
}
void Group::reduce_scatter_v(ConstView in, View out, std::span<const std::size_t> counts, ReduceOp op,
                             CollectiveOptions options) const {
  impl_->run(ReduceScatterV{in, out, op, counts}, options.timeout, options.name);
}

Tensor Group::all_to_all(const Tensor& in, CollectiveOptions options) const {
  Tensor out = room_for(*impl_, "all_to_all", in,
                        [&](Seat seat) { return backend::all_to_all_shape(in.shape(), seat); });
  if (size() > 1) all_to_all(in.view(), out.view(), options);
  return out;
}
void Group::all_to_all(ConstView in, View out, CollectiveOptions options) const {
  impl_->run(AllToAll{in, out}, options.timeout, options.name);
}

Tensor Group::all_to_all_v(const Tensor& in, std::span<const std::size_t> send_counts,
                           std::span<const std::size_t> recv_counts, CollectiveOptions options) const {
  const Shape shape = impl_->shape_for("all_to_all_v", [&](Seat seat) {
    return backend::all_to_all_v_shape(in.dtype(), in.shape(), send_counts, recv_counts, seat);
  });
  Tensor out = size() == 1 ? in : Tensor(in.dtype(), shape);
  if (size() > 1) all_to_all_v(in.view(), out.view(), send_counts, recv_counts, options);
  return out;
}
void Group::all_to_all_v(ConstView in, View out, std::span<const std::size_t> send_counts,
                         std::span<const std::size_t> recv_counts, CollectiveOptions options) const {
  impl_->run(AllToAllV{in, out, send_counts, recv_counts}, options.timeout, options.name);
}
Tensor Group::all_to_all_v(const Tensor& in, const ExchangePlan& plan, CollectiveOptions options) const {
  return all_to_all_v(in, plan.send_counts(), plan.recv_counts(), options);
}
void Group::all_to_all_v(ConstView in, View out, const ExchangePlan& plan, CollectiveOptions options) const {
  all_to_all_v(in, out, plan.send_counts(), plan.recv_counts(), options);
}
ExchangePlan Group::plan_all_to_all_v(std::span<const std::size_t> send_counts,
                                      CollectiveOptions options) const {
  return ExchangePlan({send_counts.begin(), send_counts.end()},
                      impl_->exchange_counts(send_counts, options.timeout, options.name));
}

Tensor Group::broadcast(const Tensor& data, int root, CollectiveOptions options) const {
  Tensor out = size() == 1 ? data : rank() == root ? data.clone() : Tensor(data.dtype(), data.shape());
  broadcast(out.view(), root, options);
  return out;
}
void Group::broadcast(View data, int root, CollectiveOptions options) const {
  impl_->run(Broadcast{data, root}, options.timeout, options.name);
}
std::string Group::broadcast_bytes(std::string_view bytes, int root, CollectiveOptions options) const {
  std::uint64_t length = bytes.size();
  broadcast(std::span(&length, 1), root, options);
  std::string out(rank() == root ? bytes : std::string_view());
  out.resize(length);
  broadcast(View(reinterpret_cast<std::uint8_t*>(out.data()), {static_cast<std::int64_t>(length)}), root,
            options);
  return out;
}

std::optional<Tensor> Group::reduce(const Tensor& in, ReduceOp op, int root,
                                    CollectiveOptions options) const {
  const bool here = rank() == root;
  Tensor out = size() == 1 ? in : here ? Tensor(in.dtype(), in.shape()) : Tensor();
  reduce(in.view(), out.view(), op, root, options);
  return here ? std::optional(out) : std::nullopt;
}
void Group::reduce(ConstView in, View out, ReduceOp op, int root, CollectiveOptions options) const {
  impl_->run(Reduce{in, out, op, root}, options.timeout, options.name);
}

std::optional<Tensor> Group::gather(const Tensor& in, int root, CollectiveOptions options) const {
  const bool here = rank() == root;
  Tensor out;
  if (here) {
    out = room_for(*impl_, "gather", in,
                   [&](Seat seat) { return backend::all_gather_shape(in.shape(), seat); });
  }
  gather(in.view(), out.view(), root, options);
  return here ? std::optional(out) : std::nullopt;
}
void Group::gather(ConstView in, View out, int root, CollectiveOptions options) const {
  impl_->run(Gather{in, out, root}, options.timeout, options.name);
}

std::optional<Tensor> Group::gather_v(const Tensor& in, std::span<const std::size_t> counts, int root,
                                      CollectiveOptions options) const {
  const bool here = rank() == root;
  Tensor out;
  if (here) {
    out = room_for(*impl_, "gather_v", in, [&](Seat seat) {
      return backend::all_gather_v_shape(in.shape(), counts, seat, "gather_v");
    });
  }
  gather_v(in.view(), out.view(), counts, root, options);
  return here ? std::optional(out) : std::nullopt;
}
void Group::gather_v(ConstView in, View out, std::span<const std::size_t> counts, int root,
                     CollectiveOptions options) const {
  impl_->run(GatherV{in, out, counts, root}, options.timeout, options.name);
}

void Group::scatter(ConstView in, View out, int root, CollectiveOptions options) const {
  impl_->run(Scatter{in, out, root}, options.timeout, options.name);
}
void Group::scatter_v(ConstView in, View out, std::span<const std::size_t> counts, int root,
                      CollectiveOptions options) const {
  impl_->run(ScatterV{in, out, counts, root}, options.timeout, options.name);
}

void Group::barrier(CollectiveOptions options) const { impl_->run(Barrier{}, options.timeout, options.name); }

// ---- text and set-up -------------------------------------------------------------------------------------

std::string to_string(const Group& group) {
  return "Group { backend: " + std::string(to_string(group.backend())) +
         ", rank: " + std::to_string(group.rank()) + ", size: " + std::to_string(group.size()) + " }";
}
std::ostream& operator<<(std::ostream& out, const Group& group) { return out << to_string(group); }

bool is_available(Backend backend) { return backend::unavailable_reason(backend).empty(); }
std::string unavailable_reason(Backend backend) { return backend::unavailable_reason(backend); }

Group init(bool strict, Backend backend) { return Group(backend::init(strict, backend)); }
Group init(const Config& config) { return Group(backend::init(config)); }
Group init(const Config& config, const Exchange& exchange) { return Group(backend::init(config, exchange)); }

std::vector<Group> sim_group(int size, const Config& config) {
  std::vector<Group> groups;
  for (auto& each : backend::sim_group(size, config)) groups.emplace_back(std::move(each));
  return groups;
}

void sim_run(int size, std::uint64_t seed, const std::function<void(Group)>& rank_main,
             const Config& config) {
  backend::sim_run(
      size, seed, [&](std::shared_ptr<backend::GroupBackend> group) { rank_main(Group(std::move(group))); },
      config);
}

}  // namespace rondo
