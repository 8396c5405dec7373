// Rows B01 to B12, B25 and B28 of the acceptance list: backends, settings, groups.

#include "acceptance/support.hpp"

#include <cstdlib>
#include <limits>
#include <sstream>
#include <thread>
#include <unordered_set>

namespace rondo::test {
namespace {

constexpr auto invalid = ErrorKind::invalid_argument;

constexpr std::array<Backend, backend_count> all_backends = {Backend::any,   Backend::ring, Backend::mpi,
                                                             Backend::jaccl, Backend::nccl, Backend::tcp,
                                                             Backend::shm,   Backend::sim};

/// A variable of the environment for the length of a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Acceptance, B01_BackendIsAValue) {
  const std::unordered_set<Backend> set(all_backends.begin(), all_backends.end());
  EXPECT_EQ(set.size(), all_backends.size());
  Backend copy = Backend::ring;
  copy = Backend::tcp;
  EXPECT_EQ(copy, Backend::tcp);
  EXPECT_NE(copy, Backend::shm);
  std::ostringstream out;
  for (const Backend backend : all_backends) out << backend << ' ';
  EXPECT_EQ(out.str(), "any ring mpi jaccl nccl tcp shm sim ");
  EXPECT_EQ(to_string(Backend::jaccl), "jaccl");
}

TEST(Acceptance, B02_NamesGoRoundAndParsingIsExact) {
  for (const Backend backend : all_backends) EXPECT_EQ(parse_backend(to_string(backend)), backend);
  expect_error(invalid, {"distributed backend name contains an interior NUL byte"},
               [] { (void)parse_backend(std::string_view("ri\0ng", 5)); });
  for (const char* wrong : {"", "Ring", "RING", " ring", "ring ", "gloo", "an", "anyy"}) {
    const std::string due =
        "unknown distributed backend \"" + std::string(wrong) + "\"; expected any, ring, mpi, jaccl, or nccl";
    expect_error(invalid, {due, "tcp", "shm", "sim"}, [&] { (void)parse_backend(wrong); });
  }
}

TEST(Acceptance, B03_StrictInitSaysWhatIsMissing) {
  for (const Backend backend : all_backends) {
    if (backend == Backend::sim || backend == Backend::any || is_available(backend)) continue;
    SCOPED_TRACE(label(backend));
    expect_error(ErrorKind::unavailable, {to_string(backend)}, [&] { (void)init(true, backend); });
    const Group group = init(false, backend);
    EXPECT_EQ(group.size(), 1);
    EXPECT_EQ(group.rank(), 0);
    EXPECT_FALSE(group.fallback_reason().empty());
    EXPECT_TRUE(same(group.all_sum(Tensor::of<float>({1, 2})), Tensor::of<float>({1, 2})));
  }
  EXPECT_TRUE(one().fallback_reason().empty());
}

TEST(Acceptance, B05_InitialisedBackendsAreCached) {
  // A group of one that came from a failure is not cached: the strict error stays.
  (void)init(false, Backend::ring);
  expect_error(ErrorKind::unavailable, {}, [] { (void)init(true, Backend::ring); });

  Group first = init(true, Backend::sim);
  EXPECT_EQ(first.size(), 1);
  EXPECT_EQ(first.backend(), Backend::sim);
  EXPECT_TRUE(first.fallback_reason().empty());
  EXPECT_EQ(init(true, Backend::sim), first);
  EXPECT_EQ(init(false, Backend::sim), first);
  EXPECT_EQ(init(false, Backend::any), first) << "the first real group answers any";
  EXPECT_EQ(init(true, Backend::any), first);
  first.shutdown();
  const Group second = init(true, Backend::sim);
  EXPECT_NE(second, first);
  EXPECT_TRUE(same(second.all_sum(Tensor::of<float>({3})), Tensor::of<float>({3})));
  EXPECT_EQ(init(true, Backend::sim), second);
  second.shutdown();
}

TEST(Acceptance, B08_SettingsComeFromTheEnvironmentStrictly) {
  {
    const Variable timeout("RONDO_TIMEOUT", "2.5s");
    const Variable init_timeout("RONDO_INIT_TIMEOUT", "7");
    const Variable check("RONDO_CHECK", "agreement,payload");
    const Variable backend("RONDO_BACKEND", "sim");
    const Variable rank("RONDO_RANK", "3");
    const Variable size("RONDO_SIZE", "4");
    const Variable eager("RONDO_EAGER_BYTES", "4096");
    const Config config = Config::from_env();
    EXPECT_EQ(config.timeout, 2500ms);
    EXPECT_EQ(config.init_timeout, 7s);
    EXPECT_TRUE(config.check_agreement);
    EXPECT_TRUE(config.check_payload);
    EXPECT_EQ(config.backend, Backend::sim);
    EXPECT_EQ(config.rank, 3);
    EXPECT_EQ(config.size, 4);
    EXPECT_EQ(config.eager_bytes, 4096U);
  }
  {
    const Variable check("RONDO_CHECK", "payload");
    EXPECT_FALSE(Config::from_env().check_agreement);
    EXPECT_TRUE(Config::from_env().check_payload);
  }
  EXPECT_EQ(Config::from_env(), Config());
  const std::vector<std::array<const char*, 2>> wrong = {
      {"RONDO_TIMEOUT", "soon"},     {"RONDO_TIMEOUT", "-1"},       {"RONDO_TIMEOUT", "1 s"},
      {"RONDO_INIT_TIMEOUT", "1x"},  {"RONDO_CHECK", "agreemant"},  {"RONDO_CHECK", "agreement;payload"},
      {"RONDO_RANK", "1.5"},         {"RONDO_RANK", "-1"},          {"RONDO_RANK", "0x1"},
      {"RONDO_SIZE", "four"},        {"RONDO_SIZE", "4 "},          {"RONDO_BACKEND", "Ring"},
      {"RONDO_EAGER_BYTES", "lots"}, {"RONDO_CREDIT_BYTES", "1e6"}, {"RONDO_ARENA_BYTES", "-5"},
      {"RONDO_RANK", "99999999999"},
  };
  for (const auto& [name, value] : wrong) {
    SCOPED_TRACE(label(name, value));
    const Variable set(name, value);
    expect_error(invalid, {name, value}, [] { (void)Config::from_env(); });
  }
}

TEST(Acceptance, B09_AvailabilityAnswersWithAReason) {
  EXPECT_TRUE(is_available(Backend::any));
  EXPECT_TRUE(is_available(Backend::sim));
  EXPECT_TRUE(unavailable_reason(Backend::sim).empty());
  for (const Backend backend : all_backends) {
    EXPECT_EQ(is_available(backend), unavailable_reason(backend).empty()) << backend;
  }
}

TEST(Acceptance, B10_GroupIsACheapSharedHandle) {
  static_assert(noexcept(std::declval<const Group&>().rank())&& noexcept(
      std::declval<const Group&>().size())&& noexcept(std::declval<const Group&>().backend()));
  const Group group = one();
  const Group copy = group;  // NOLINT: the copy is what is tested
  EXPECT_EQ(copy, group);
  EXPECT_EQ(to_string(group), "Group { backend: sim, rank: 0, size: 1 }");
  std::ostringstream out;
  out << sim_group(3)[2];
  EXPECT_EQ(out.str(), "Group { backend: sim, rank: 2, size: 3 }");

  // The last handle closes: then, and not before, the others see that the rank has left.
  std::vector<Group> groups = sim_group(2);
  Group kept = groups[1];
  groups.pop_back();
  kept.send(Tensor::of<float>({4}), 0);
  EXPECT_TRUE(same(groups[0].recv<float>({1}, 1), Tensor::of<float>({4})));
  kept.send(Tensor::of<float>({5}), 0);
  kept = groups[0];
  EXPECT_TRUE(same(groups[0].recv<float>({1}, 1), Tensor::of<float>({5}))) << "what was sent still arrives";
  expect_error(ErrorKind::disconnected, {"rank 1"}, [&] { (void)groups[0].recv<float>({1}, 1); });
}

TEST(Acceptance, B10_ShutdownIsAGoodbyeThroughEveryHandle) {
  std::vector<Group> groups = sim_group(2);
  const Group other = groups[1];
  groups[1].shutdown();
  groups[1].shutdown();
  EXPECT_TRUE(error_of([&] { other.send(Tensor::of<float>({4}), 0); }).has_value());
  EXPECT_EQ(other.rank(), 1);
  EXPECT_EQ(other.size(), 2);
  expect_error(ErrorKind::disconnected, {"rank 1"}, [&] { groups[0].barrier(); });
}

TEST(Acceptance, B11_MessagesOfSeveralThreadsOnOneGroup) {
  std::vector<Group> groups = sim_group(2);
  constexpr int threads_each = 3;
  constexpr int rounds = 100;
  std::vector<std::jthread> threads;
  for (const Group& group : groups) {
    for (int thread = 0; thread < threads_each; ++thread) {
      threads.emplace_back([&group, thread] {
        const int peer = 1 - group.rank();
        for (int round = 0; round < rounds; ++round) {
          const Shape shape = {round % 20 == 0 ? 10'000 : 3};
          const auto salt = static_cast<std::uint64_t>(thread * rounds + round);
          Tensor out(DType::int32, shape);
          group.sendrecv(values(DType::int32, shape, group.rank(), Content::bits, salt), peer, out.view(),
                         peer, {.tag = thread});
          EXPECT_TRUE(same(out, values(DType::int32, shape, peer, Content::bits, salt)));
        }
      });
    }
  }
}

TEST(Acceptance, B11_TwoGroupsTwoThreads) {
  run_threads(3, [](const Group& group) {
    const auto other = group.split(0, group.size() - group.rank());
    ASSERT_TRUE(other.has_value());
    const auto work = [](const Group& on, std::int32_t factor) {
      for (std::int32_t round = 0; round < 200; ++round) {
        const Tensor sum = on.all_sum(Tensor::of<std::int32_t>({factor * round, on.rank()}));
        EXPECT_TRUE(same(sum, Tensor::of<std::int32_t>({3 * factor * round, 3})));
      }
    };
    const std::jthread second([&] { work(*other, 7); });
    work(group, 5);
  });
}

// Collectives of two threads on one group: each is whole, one after the other, in the order issued. All ranks
// issue the same calls, so whichever thread comes first, the n-th call of every rank is the same.
TEST(Acceptance, B11_CollectivesOfTwoThreadsOnOneGroup) {
  run_threads(2, [](const Group& group) {
    const auto work = [&] {
      for (int round = 0; round < 200; ++round) {
        const Tensor sum = group.all_sum(Tensor::of<std::int32_t>({1, 2}));
        EXPECT_TRUE(same(sum, Tensor::of<std::int32_t>({2, 4})));
      }
    };
    const std::jthread second(work);
    work();
  });
}

/// Every member is there once, in the order of its rank.
void check_members(const Group& group) {
  const Tensor ranks = group.all_gather(Tensor::of<std::int32_t>({group.rank()}));
  ASSERT_EQ(ranks.count(), static_cast<std::size_t>(group.size()));
  for (int rank = 0; rank < group.size(); ++rank)
    EXPECT_EQ(ranks.span<std::int32_t>()[static_cast<std::size_t>(rank)], rank);
}

TEST(Acceptance, B12_SplitAndSubgroup) {
  for (const Group& alone : {init(), one(), init(true, Backend::sim)}) {
    const auto part = alone.split(3, 9);
    ASSERT_TRUE(part.has_value());
    EXPECT_EQ(part->size(), 1);
    EXPECT_EQ(part->rank(), 0);
    EXPECT_FALSE(alone.split(-1).has_value());
    EXPECT_EQ(alone.subgroup({0})->size(), 1);
    EXPECT_FALSE(alone.subgroup(std::span<const int>()).has_value());
  }
  everywhere(5, [](const Group& group) {
    const auto part = group.split(group.rank() == 4 ? -1 : group.rank() / 2, group.rank() == 1 ? 0 : 1);
    ASSERT_EQ(part.has_value(), group.rank() != 4);
    if (part) {
      const std::array<int, 4> due = {1, 0, 0, 1};
      EXPECT_EQ(part->rank(), due[static_cast<std::size_t>(group.rank())]);
      EXPECT_EQ(part->size(), 2);
      check_members(*part);
    }
    const auto listed = group.subgroup({3, 1, 4});
    ASSERT_EQ(listed.has_value(), group.rank() == 1 || group.rank() >= 3);
    if (listed) {  // only members take part
      const Tensor order = listed->all_gather(Tensor::of<std::int32_t>({group.rank()}));
      EXPECT_TRUE(same(order, Tensor::of<std::int32_t>({3, 1, 4})));
    }
    check_members(group);
  });
  everywhere(2, [](const Group& group) {
    expect_error(invalid, {}, [&] { (void)group.subgroup({0, 2}); });
    expect_error(invalid, {}, [&] { (void)group.subgroup({0, 0}); });
    expect_error(invalid, {}, [&] { (void)group.subgroup({-1}); });
    check_members(group);
  });
}

TEST(Acceptance, B25_AnyRankReachesAnyRank) {
  everywhere(5, [](const Group& group) {
    for (int from = 0; from < 5; ++from) {
      for (int to = 0; to < 5; ++to) {
        if (from == to) continue;
        const std::int32_t due = 10 * from + to;
        if (group.rank() == from) group.send(Tensor::of<std::int32_t>({due}), to);
        if (group.rank() == to) {
          EXPECT_TRUE(same(group.recv<std::int32_t>({1}, from), Tensor::of<std::int32_t>({due})));
        }
      }
    }
  });
}

// Offsets beyond 2^31 elements and 2^32 bytes, on memory that is never touched but at a few places.
TEST(Acceptance, B28_SizesAreOf64Bits) {
  constexpr std::int64_t many = (std::int64_t{1} << 31) + 5;
  EXPECT_EQ(byte_size(DType::complex128, Shape{many, 3}), static_cast<std::size_t>(many) * 48);
  const Group alone = one();
  Tensor large(DType::int8, {many});
  const std::span<std::int8_t> elements = large.span<std::int8_t>();
  elements[0] = 1;
  elements[elements.size() - 1] = 7;
  const Tensor result = alone.all_sum(large);
  EXPECT_EQ(result.count(), static_cast<std::size_t>(many));
  EXPECT_EQ(result.span<std::int8_t>()[elements.size() - 1], 7);
  alone.all_sum(large.view());
  EXPECT_EQ(elements[elements.size() - 1], 7);
  const ConstView last(elements.data(), {2}, {many - 1});
  EXPECT_TRUE(same(Tensor(last), Tensor::of<std::int8_t>({1, 7})));
}

}  // namespace
}  // namespace rondo::test
