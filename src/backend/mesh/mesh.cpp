#include "backend/mesh/mesh.hpp"

#include <algorithm>
#include <deque>

#include "backend/mesh/collectives.hpp"
#include "tensor/layout.hpp"
#include "transport/collective_lane.hpp"
#include "transport/match.hpp"

namespace rondo::backend {

namespace {

using transport::Envelope;
using transport::Match;

// How long the last handle of a group waits for its last frames to leave.
constexpr Duration goodbye_limit = std::chrono::seconds(5);

Envelope envelope_of(const ConstView& view, int tag) {
  Envelope envelope;
  envelope.tag = tag;
  envelope.dtype = view.dtype();
  envelope.bytes = view.bytes();
  envelope.dims.size = static_cast<int>(view.shape().size());
  std::copy(view.shape().begin(), view.shape().end(), envelope.dims.value.begin());
  return envelope;
}

// One send, packed when it has gaps.
class OneSend {
 public:
  OneSend(Match& match, const Send& message) : match_(match) {
    std::span<const std::byte> payload(message.data.data(), message.data.bytes());
    if (!message.data.contiguous()) {
      packed_ = std::make_unique_for_overwrite<std::byte[]>(payload.size());
      tensor::pack(message.data, {packed_.get(), payload.size()});
      payload = {packed_.get(), payload.size()};
    }
    match_.start(sending_, message.to, envelope_of(message.data, message.tag), payload);
  }
  ~OneSend() { match_.cancel(sending_); }
  OneSend(const OneSend&) = delete;
  OneSend& operator=(const OneSend&) = delete;

  bool test() { return match_.test(sending_); }
  void wait(base::Deadline& deadline) { match_.wait(sending_, deadline); }
  void cancel() noexcept { match_.cancel(sending_); }

 private:
  Match& match_;
  transport::Sending sending_;
  std::unique_ptr<std::byte[]> packed_;
};

// One receive, unpacked when it has gaps.
class OneRecv {
 public:
  OneRecv(Match& match, const Recv& message) : match_(match), message_(message) {
    std::span<std::byte> memory(message.out.data(), message.out.bytes());
    if (!message.out.contiguous()) {
      packed_ = std::make_unique_for_overwrite<std::byte[]>(memory.size());
      memory = {packed_.get(), memory.size()};
    }
    match_.start(receiving_, message.from, envelope_of(message.out, message.tag), memory);
  }
  ~OneRecv() { match_.cancel(receiving_); }
  OneRecv(const OneRecv&) = delete;
  OneRecv& operator=(const OneRecv&) = delete;

  bool test() { return match_.test(receiving_); }
  void wait(base::Deadline& deadline) {
    match_.wait(receiving_, deadline);
    if (packed_) tensor::unpack({packed_.get(), message_.out.bytes()}, message_.out);
    packed_.reset();
    if (message_.info == nullptr) return;
    message_.info->source = receiving_.source();
    message_.info->tag = receiving_.tag();
    message_.info->dtype = message_.out.dtype();
    message_.info->shape.assign(message_.out.shape().begin(), message_.out.shape().end());
    message_.info->bytes = message_.out.bytes();
  }
  void cancel() noexcept { match_.cancel(receiving_); }

 private:
  Match& match_;
  Recv message_;
  transport::Receiving receiving_;
  std::unique_ptr<std::byte[]> packed_;
};

// Either, as an operation that outlives its call. Holds its group.
template <class One>
class MessageOperation final : public Operation {
 public:
  template <class Kind>
  MessageOperation(std::shared_ptr<GroupBackend> group, std::string_view verb, Match& match,
                   const Kind& message)
      : group_(std::move(group)), verb_(verb), one_(match, message) {}

  bool test() override { return over_ || one_.test(); }
  void wait(Duration limit) override {
    if (over_) return;
    base::Deadline deadline(group_->scheduler(), limit);
    over_ = true;
    try {
      one_.wait(deadline);
    } catch (const base::Problem& problem) {
      throw group_->explain(problem, verb_, 0, deadline.elapsed());
    }
  }
  void cancel() noexcept override {
    over_ = true;
    one_.cancel();
  }

 private:
  std::shared_ptr<GroupBackend> group_;
  std::string verb_;
  One one_;
  bool over_ = false;
};

class MeshBackend final : public GroupBackend {
 public:
  MeshBackend(std::shared_ptr<Engine> engine, std::unique_ptr<transport::Transport> wires,
              transport::GroupId id)
      : GroupBackend(
            Identity{
                wires->kind(), {wires->rank(), wires->size()}, wires->local_rank(), wires->local_size(), {}},
            engine->progress.scheduler(), engine->config.timeout),
        engine_(std::move(engine)),
        transport_(std::move(wires)),
        id_(std::move(id)),
        lane_(engine_->progress, *transport_, engine_->config.check_payload,
              engine_->config.single_copy_bytes),
        match_(engine_->progress, *transport_,
               {engine_->config.eager_bytes, engine_->config.credit_bytes, engine_->config.check_payload,
                engine_->config.single_copy_bytes}) {
    engine_->progress.add(*transport_);
  }

  ~MeshBackend() override {
    say_goodbye();
    engine_->progress.remove(*transport_);
  }

  std::optional<Failure> failure() const override {
    // What has been told in the meantime may wait for somebody to look at it.
    if (!transport_->failed()) engine_->progress.poll();
    return transport_->failure();
  }

 private:
  void perform(const Task& task) override {
    run_collective(task, seat(), lane_, engine_->table, engine_->config.check_agreement);
  }

  void perform(const Send& message, base::Deadline& deadline) override {
    OneSend(match_, message).wait(deadline);
  }
  void perform(const Recv& message, base::Deadline& deadline) override {
    OneRecv(match_, message).wait(deadline);
  }

  // Receives are posted first, so that what arrives finds its place; an early end takes the rest back.
  void perform(std::span<const Message> messages, base::Deadline& deadline) override {
    std::deque<OneRecv> receives;
    std::deque<OneSend> sends;
    for (const Message& each : messages) {
      if (const auto* recv = std::get_if<Recv>(&each)) receives.emplace_back(match_, *recv);
    }
    for (const Message& each : messages) {
      if (const auto* send = std::get_if<Send>(&each)) sends.emplace_back(match_, *send);
    }
    for (OneSend& each : sends) each.wait(deadline);
    for (OneRecv& each : receives) each.wait(deadline);
  }

  std::unique_ptr<Operation> begin(const Message& message, std::string_view verb) override {
    if (const auto* send = std::get_if<Send>(&message)) {
      return std::make_unique<MessageOperation<OneSend>>(shared_from_this(), verb, match_, *send);
    }
    return std::make_unique<MessageOperation<OneRecv>>(shared_from_this(), verb, match_,
                                                       std::get<Recv>(message));
  }

  MessageInfo wait_for_message(int from, int tag, base::Deadline& deadline) override {
    return match_.probe(from, tag, deadline);
  }
  std::optional<MessageInfo> look_for_message(int from, int tag) override { return match_.look(from, tag); }

  std::shared_ptr<std::byte> memory_for_tensors(std::size_t bytes) override {
    return transport_->allocate(bytes);
  }

  std::shared_ptr<GroupBackend> make_sub(std::span<const int> members, std::uint64_t number,
                                         int color) override {
    transport::GroupId id = id_;
    id.push_back(number);
    id.push_back(static_cast<std::uint64_t>(color));
    auto wires = transport_->sub(id, members);
    auto made = std::make_shared<MeshBackend>(engine_, std::move(wires), std::move(id));
    made->set_timeout(timeout());
    return made;
  }

  void fail(const Failure& cause) override { transport_->fail(cause); }
  bool failed() const noexcept override { return transport_->failed(); }
  void close() noexcept override { say_goodbye(); }

  class Flushed final : public transport::Condition {
   public:
    explicit Flushed(const transport::Transport& wires) : wires_(wires) {}
    bool met() override { return wires_.flushed() || wires_.failed(); }

   private:
    const transport::Transport& wires_;
  };

  void say_goodbye() noexcept {
    if (said_goodbye_.exchange(true) || seat().size == 1) return;
    // The loss of a rank may have been told and not been looked at: then it is no time for goodbyes.
    engine_->progress.poll();
    if (failed()) return;
    lane_.say_goodbye();
    match_.say_goodbye();
    base::Deadline deadline(scheduler(), std::min(goodbye_limit, timeout()));
    Flushed flushed(*transport_);
    engine_->progress.wait(*transport_, deadline, flushed);
  }

  std::shared_ptr<Engine> engine_;
  std::unique_ptr<transport::Transport> transport_;
  transport::GroupId id_;
  transport::CollectiveLane lane_;
  Match match_;
  std::atomic<bool> said_goodbye_{false};
};

}  // namespace

std::shared_ptr<GroupBackend> make_mesh(std::shared_ptr<Engine> engine,
                                        std::unique_ptr<transport::Transport> transport,
                                        transport::GroupId id) {
  return std::make_shared<MeshBackend>(std::move(engine), std::move(transport), std::move(id));
}

}  // namespace rondo::backend
