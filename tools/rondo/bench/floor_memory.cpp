#include "bench/floor_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "bench/cores.hpp"
#include "bench/lockstep.hpp"

namespace rondo::tools::bench {

namespace {

constexpr std::size_t most_memory = std::size_t{2} << 30;  // of all threads together

// Makes the compiler believe that the memory was looked at.
void seen(const void* memory) noexcept { asm volatile("" : : "r"(memory) : "memory"); }

/// out[i] = a[i] + b[i], in vectors of Width bytes, which the caller's target decides how to make.
template <int Width>
[[gnu::always_inline]] inline void add_vectors(float* out, const float* a, const float* b,
                                               std::size_t count) noexcept {
  using Vector [[gnu::vector_size(Width), gnu::aligned(4), gnu::may_alias]] = float;
  constexpr std::size_t lanes = Width / sizeof(float);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    *reinterpret_cast<Vector*>(out + i) =
        *reinterpret_cast<const Vector*>(a + i) + *reinterpret_cast<const Vector*>(b + i);
  }
  for (; i < count; ++i) out[i] = a[i] + b[i];
}

using Add = void (*)(float* out, const float* a, const float* b, std::size_t count) noexcept;

void add_narrow(float* out, const float* a, const float* b, std::size_t count) noexcept {
  add_vectors<16>(out, a, b, count);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_avx2(float* out, const float* a, const float* b,
                                      std::size_t count) noexcept {
  add_vectors<32>(out, a, b, count);
}
[[gnu::target("avx512f")]] void add_avx512(float* out, const float* a, const float* b,
                                           std::size_t count) noexcept {
  add_vectors<64>(out, a, b, count);
}
Add widest_add() noexcept {
  if (__builtin_cpu_supports("avx512f") != 0) return add_avx512;
  if (__builtin_cpu_supports("avx2") != 0) return add_avx2;
  return add_narrow;
}
#else
Add widest_add() noexcept { return add_narrow; }
#endif

/// Two inputs and a result.
struct Memory {
  explicit Memory(std::size_t bytes) : floats(bytes / sizeof(float) + 1) {
    for (auto& each : parts) each.reset(new float[floats]);
  }
  // By the thread that works on it, so that it is near that thread's core.
  void touch() noexcept {
    for (auto& each : parts) std::fill_n(each.get(), floats, 1.0F);
  }
  std::size_t floats;
  std::unique_ptr<float[]> parts[3];
};

struct MemoryCurves {
  Curve& copy;
  Curve& add;
};

void measure_on(const std::vector<int>& cores, const FloorPlan& plan, const std::function<bool()>& stop,
                MemoryCurves curves) {
  const std::vector<std::size_t> sizes = plan.sizes_within(most_memory / 3 / cores.size());
  if (sizes.empty()) return;
  std::vector<Memory> memory;
  for (std::size_t i = 0; i < cores.size(); ++i) memory.emplace_back(sizes.back());
  const Add add = widest_add();
  Lockstep step(cores.size());
  std::atomic<bool> stopped{false};
  on_cores(cores, [&](std::size_t i) {
    memory[i].touch();
    const float* const a = memory[i].parts[0].get();
    const float* const b = memory[i].parts[1].get();
    float* const out = memory[i].parts[2].get();
    for (const std::size_t bytes : sizes) {
      const std::size_t count = bytes / sizeof(float);
      const double copying = step.least(i, plan.seconds, [&] {
        std::memcpy(out, a, bytes);
        seen(out);
      });
      const double adding = step.least(i, plan.seconds, [&] {
        add(out, a, b, count);
        seen(out);
      });
      if (i == 0) {
        curves.copy.add(bytes, copying);
        if (count > 0) curves.add.add(bytes, adding);
        stopped = stop();
      }
      if (step.agreed(i, stopped ? 1 : 0) > 0) return;
    }
  });
}

}  // namespace

void measure_memory(Floors& floors, const FloorPlan& plan, const std::function<bool()>& stop) {
  const std::vector<int> cores = cores_to_use();
  if (cores.empty()) return;
  measure_on({cores.front()}, plan, stop, {floors.copy_one, floors.add_one});
  if (stop()) return;
  measure_on(cores, plan, stop, {floors.copy_all, floors.add_all});
}

void measure_pull(Floors& floors, const FloorPlan& plan, const std::function<bool()>& stop) {
  const std::vector<std::size_t> sizes = plan.sizes_within(most_memory / 3);
  if (sizes.empty()) return;
  Memory memory(sizes.back());
  memory.touch();
  Lockstep step(1);
  for (const std::size_t bytes : sizes) {
    const iovec local{memory.parts[0].get(), bytes};
    const iovec remote{memory.parts[1].get(), bytes};
    const auto pull = [&] { return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0); };
    if (stop() || pull() != static_cast<ssize_t>(bytes)) return;  // not allowed here
    floors.pull.add(bytes, step.least(0, plan.seconds, [&] { (void)pull(); }));
  }
}

}  // namespace rondo::tools::bench
