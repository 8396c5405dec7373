#include "backend/solo/solo.hpp"

#include "base/check.hpp"

namespace rondo::backend {

namespace {

// Collectives of a group of one never come here (GroupBackend returns the input), and messages never pass
// their checks.
class SoloBackend final : public GroupBackend {
 public:
  using GroupBackend::GroupBackend;

  std::optional<Failure> failure() const override {
    std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  void perform(const Task&) override { unreachable(); }
  void perform(const Send&, base::Deadline&) override { unreachable(); }
  void perform(const Recv&, base::Deadline&) override { unreachable(); }
  void perform(std::span<const Message>, base::Deadline&) override {}  // an empty batch
  std::unique_ptr<Operation> begin(const Message&, std::string_view) override { unreachable(); }
  MessageInfo wait_for_message(int, int, base::Deadline&) override { unreachable(); }
  std::optional<MessageInfo> look_for_message(int, int) override { unreachable(); }

  std::shared_ptr<GroupBackend> make_sub(std::span<const int>, std::uint64_t, int) override {
    return std::make_shared<SoloBackend>(identity(), scheduler(), timeout());
  }

  void fail(const Failure& cause) override {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = cause;
    failed_.store(true, std::memory_order_release);
  }
  bool failed() const noexcept override { return failed_.load(std::memory_order_acquire); }
  void close() noexcept override {}

  [[noreturn]] static void unreachable() {
    base::broken_invariant("a group of one moves nothing", __FILE__, __LINE__);
  }

  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
  std::atomic<bool> failed_{false};
};

}  // namespace

std::shared_ptr<GroupBackend> make_solo(Backend kind, Duration timeout, std::string fallback_reason) {
  Identity identity;
  identity.kind = kind;
  identity.fallback_reason = std::move(fallback_reason);
  return std::make_shared<SoloBackend>(std::move(identity), base::real_scheduler(), timeout);
}

}  // namespace rondo::backend
