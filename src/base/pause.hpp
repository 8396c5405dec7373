#pragma once
/// A hint to the core that this is a spin loop.

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace rondo::base {

inline void pause_core() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace rondo::base
