#include "sim/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "support/reference.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace rondo::test {
namespace {

std::size_t index_of(int rank) { return static_cast<std::size_t>(rank); }

std::vector<std::size_t> counts_of(std::uint64_t random, int size, std::uint64_t line) {
  std::vector<std::size_t> counts;
  for (int rank = 0; rank < size; ++rank) {
    const std::uint64_t drawn = mix(random, line, static_cast<std::uint64_t>(rank));
    counts.push_back(drawn % 3 == 0 ? 0U : static_cast<std::size_t>(drawn >> 20U) % 9U);
  }
  return counts;
}

std::int64_t total(std::span<const std::size_t> counts) {
  return static_cast<std::int64_t>(sum_before(counts, static_cast<int>(counts.size())));
}

/// One step on one rank of one group.
class Runner {
 public:
  Runner(const Step& step, const Group& group)
      : step_(step),
        group_(group),
        n_(group.size()),
        rank_(group.rank()),
        root_(static_cast<int>(step.random % index_of(n_))),
        next_((rank_ + 1) % n_),
        previous_((rank_ + n_ - 1) % n_) {}

  void run() {
    switch (step_.deed) {
      case Deed::all_reduce:
        return all_reduce(false);
      case Deed::all_reduce_in_place:
        return all_reduce(true);
      case Deed::reduce:
        return reduce();
      case Deed::reduce_scatter:
        return reduce_scatter();
      case Deed::reduce_scatter_v:
        return reduce_scatter_v();
      case Deed::all_gather:
        return all_gather();
      case Deed::all_gather_v:
        return all_gather_v();
      case Deed::broadcast:
        return broadcast();
      case Deed::gather:
        return gather();
      case Deed::scatter:
        return scatter();
      case Deed::all_to_all:
        return all_to_all();
      case Deed::all_to_all_v:
        return all_to_all_v();
      case Deed::barrier:
        return group_.barrier();
      case Deed::ring_shift:
        return ring_shift();
      case Deed::exchange_batch:
        return exchange_batch();
      case Deed::fan_in:
        return fan_in();
      case Deed::fan_out:
        return fan_out();
      case Deed::split:
        return;  // made by run_program
    }
  }

 private:
  Shape shape() const { return {step_.rows, step_.columns}; }
  Shape shape_times_n() const { return {step_.rows * n_, step_.columns}; }
  Content content() const { return content_for(step_.op, step_.dtype); }
  Tensor data(int rank, const Shape& shape, std::uint64_t more = 0) const {
    return values(step_.dtype, shape, rank, Content::bits, step_.random + more);
  }
  std::vector<Tensor> all_data(const Shape& shape) const {
    return values_of_all(n_, step_.dtype, shape, Content::bits, step_.random);
  }
  std::vector<Tensor> terms(const Shape& shape) const {
    return values_of_all(n_, step_.dtype, shape, content(), step_.random);
  }
  const Tensor& mine(const std::vector<Tensor>& all) const { return all[index_of(rank_)]; }

  void all_reduce(bool in_place) const {
    const auto in = terms(shape());
    Tensor out = in_place ? mine(in).clone() : Tensor();
    if (in_place) {
      group_.all_reduce(out.view(), step_.op);
    } else {
      out = group_.all_reduce(mine(in), step_.op);
    }
    EXPECT_TRUE(same(out, reference_reduce(in, step_.op)));
  }

  void reduce() const {
    const auto in = terms(shape());
    const auto out = group_.reduce(mine(in), step_.op, root_);
    ASSERT_EQ(out.has_value(), rank_ == root_);
    if (out) {
      EXPECT_TRUE(same(*out, reference_reduce(in, step_.op)));
    }
  }

  void reduce_scatter() const {
    const auto in = terms(shape_times_n());
    const auto rows = static_cast<std::size_t>(step_.rows);
    EXPECT_TRUE(same(group_.reduce_scatter(mine(in), step_.op),
                     reference_rows(reference_reduce(in, step_.op), rows * index_of(rank_), rows)));
  }

  void reduce_scatter_v() const {
    const auto counts = counts_of(step_.random, n_, 0);
    const auto in = terms({total(counts), step_.columns});
    EXPECT_TRUE(same(
        group_.reduce_scatter_v(mine(in), counts, step_.op),
        reference_rows(reference_reduce(in, step_.op), sum_before(counts, rank_), counts[index_of(rank_)])));
  }

  void all_gather() const {
    const auto in = all_data(shape());
    EXPECT_TRUE(same(group_.all_gather(mine(in)), n_ == 1 ? in[0] : reference_concat(in)));
  }

  void all_gather_v() const {
    const auto counts = counts_of(step_.random, n_, 1);
    std::vector<Tensor> in;
    for (int rank = 0; rank < n_; ++rank)
      in.push_back(data(rank, {static_cast<std::int64_t>(counts[index_of(rank)]), step_.columns}));
    EXPECT_TRUE(same(group_.all_gather_v(mine(in), counts), reference_concat(in)));
  }

  void broadcast() const {
    const auto in = all_data(shape());
    EXPECT_TRUE(same(group_.broadcast(mine(in), root_), in[index_of(root_)]));
  }

  void gather() const {
    const auto in = all_data(shape());
    const auto out = group_.gather(mine(in), root_);
    ASSERT_EQ(out.has_value(), rank_ == root_);
    if (out) {
      EXPECT_TRUE(same(*out, reference_concat(in)));
    }
  }

  void scatter() const {
    const Tensor whole = data(root_, shape_times_n());
    Tensor out(step_.dtype, shape());
    group_.scatter(rank_ == root_ ? whole.view() : ConstView(step_.dtype, nullptr, std::size_t{0}),
                   out.view(), root_);
    const auto rows = static_cast<std::size_t>(step_.rows);
    EXPECT_TRUE(same(out, reference_rows(whole, rows * index_of(rank_), rows)));
  }

  void all_to_all() const {
    const auto in = all_data(shape_times_n());
    const std::vector<std::size_t> line(index_of(n_), static_cast<std::size_t>(step_.rows));
    const std::vector<std::vector<std::size_t>> matrix(index_of(n_), line);
    EXPECT_TRUE(same(group_.all_to_all(mine(in)), reference_exchange(in, rank_, matrix)));
  }

  void all_to_all_v() const {
    std::vector<std::vector<std::size_t>> matrix;
    std::vector<Tensor> in;
    std::vector<std::size_t> receive;
    for (int rank = 0; rank < n_; ++rank) {
      matrix.push_back(counts_of(step_.random, n_, 2 + index_of(rank)));
      in.push_back(data(rank, {total(matrix.back()), step_.columns}));
      receive.push_back(matrix.back()[index_of(rank_)]);
    }
    const Tensor due = reference_exchange(in, rank_, matrix);
    const auto& send = matrix[index_of(rank_)];
    if (step_.random % 2 == 0) {
      EXPECT_TRUE(same(group_.all_to_all_v(mine(in), send, receive), due));
    } else {
      EXPECT_TRUE(same(group_.all_to_all_v(mine(in), group_.plan_all_to_all_v(send)), due));
    }
  }

  void ring_shift() const {
    if (n_ == 1) return;
    Request sending = group_.isend(data(rank_, shape()), next_, {.tag = tag()});
    EXPECT_TRUE(same(group_.recv(step_.dtype, shape(), previous_, {.tag = tag()}), data(previous_, shape())));
    sending.wait();
  }

  void exchange_batch() const {
    std::vector<Message> messages;
    std::vector<Tensor> sent;
    std::vector<Tensor> out;
    std::vector<Tensor> due;
    for (int peer = 0; peer < n_; ++peer) {
      if (peer == rank_) continue;
      sent.push_back(data(rank_, shape(), index_of(peer)));
      due.push_back(data(peer, shape(), index_of(rank_)));
      out.emplace_back(step_.dtype, shape());
      messages.emplace_back(Send{sent.back(), peer, tag()});
      messages.emplace_back(Recv{out.back().view(), peer, tag()});
    }
    std::mt19937_64 random(step_.random + index_of(rank_));
    std::shuffle(messages.begin(), messages.end(), random);
    group_.batch(messages);
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_TRUE(same(out[i], due[i]));
  }

  void fan_in() const {
    if (rank_ != root_) return group_.send(data(rank_, shape()), root_, {.tag = tag()});
    std::vector<bool> seen(index_of(n_), false);
    for (int turn = 1; turn < n_; ++turn) {
      Tensor out(step_.dtype, shape());
      const MessageInfo info = group_.recv_into(out.view(), any_source, {.tag = tag()});
      ASSERT_NE(info.source, rank_);
      EXPECT_FALSE(seen[index_of(info.source)]);
      seen[index_of(info.source)] = true;
      EXPECT_TRUE(same(out, data(info.source, shape())));
    }
  }

  void fan_out() const {
    if (rank_ == root_) {
      for (int peer = 0; peer < n_; ++peer) {
        if (peer != root_) group_.send(data(peer, shape()), peer, {.tag = tag()});
      }
      return;
    }
    const MessageInfo info = group_.probe(root_, {.tag = any_tag});
    EXPECT_EQ(info.tag, tag());
    EXPECT_TRUE(
        same(group_.recv(info.dtype, info.shape, info.source, {.tag = info.tag}), data(rank_, shape())));
  }

  // A tag of its own: fan_in's any_source must not take what belongs to a later step.
  int tag() const { return static_cast<int>(step_.random % 1'000'003); }

  const Step& step_;
  const Group& group_;
  int n_, rank_, root_, next_, previous_;
};

}  // namespace

std::string to_string(Deed deed) {
  constexpr std::array<const char*, deed_count> names = {"all_reduce",       "all_reduce_in_place",
                                                         "reduce",           "reduce_scatter",
                                                         "reduce_scatter_v", "all_gather",
                                                         "all_gather_v",     "broadcast",
                                                         "gather",           "scatter",
                                                         "all_to_all",       "all_to_all_v",
                                                         "barrier",          "ring_shift",
                                                         "exchange_batch",   "fan_in",
                                                         "fan_out",          "split"};
  return names[static_cast<std::size_t>(deed)];
}

Program make_program(std::uint64_t seed, int steps) {
  std::mt19937_64 random(seed);
  Program program;
  int groups = 1;
  for (int i = 0; i < steps; ++i) {
    Step step{};
    step.deed = static_cast<Deed>(random() % deed_count);
    do {
      step.dtype = static_cast<DType>(random() % dtype_count);
      step.op = static_cast<ReduceOp>(random() % reduce_op_count);
    } while (!supported(step.op, step.dtype));
    if (step.deed > Deed::reduce_scatter_v) step.dtype = static_cast<DType>(random() % dtype_count);
    step.rows = static_cast<std::int64_t>(random() % 12);
    if (random() % 12 == 0) step.rows = static_cast<std::int64_t>(random() % 3000);
    step.columns = static_cast<std::int64_t>(random() % 4);
    step.where = static_cast<int>(random() % static_cast<std::uint64_t>(groups));
    step.random = random();
    if (step.deed == Deed::split) ++groups;
    program.push_back(step);
  }
  return program;
}

std::string to_string(const Program& program) {
  std::ostringstream out;
  for (const Step& step : program) {
    out << to_string(step.deed) << " " << step.dtype << " " << step.op << " [" << step.rows << ", "
        << step.columns << "] in group " << step.where << "\n";
  }
  return out.str();
}

void run_program(const Program& program, const Group& whole,
                 const std::function<void(int step, bool ends)>& note) {
  std::vector<std::optional<Group>> groups = {whole};
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Step& step = program[i];
    const auto& group = groups[index_of(step.where)];
    note(static_cast<int>(i), false);
    if (group) {
      SCOPED_TRACE(label("step", i, to_string(step.deed), step.dtype, step.op, step.rows, "x", step.columns,
                         "group", step.where, "rank", group->rank(), "of", group->size()));
      if (step.deed == Deed::split) {
        const auto pick = mix(step.random, static_cast<std::uint64_t>(group->rank()), 1);
        groups.push_back(group->split(static_cast<int>(pick % 5) - 1, static_cast<int>((pick >> 8U) % 3)));
      } else {
        Runner(step, *group).run();
      }
    } else if (step.deed == Deed::split) {
      groups.emplace_back();
    }
    note(static_cast<int>(i), true);
  }
}

}  // namespace rondo::test
