#pragma once
/// Tests only: values, reductions and references of the algorithm tests.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collective/algorithms.hpp"
#include "collective/channel_fake.hpp"

namespace rondo::collective::fake {

using Word = std::uint64_t;
using Words = std::vector<Word>;
using Sizes = std::vector<std::size_t>;

inline Word mix(Word x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}
/// Distinct per rank and element.
inline Word value(int rank, std::size_t index) {
  return mix(static_cast<Word>(rank) * 1000003U + static_cast<Word>(index));
}

/// An operation for which order matters: a word is a map x -> a x + b over 32 bits, a = upper half with the
/// lowest bit set, and two words combine to the map that applies the right one first.
inline Word compose(Word left, Word right) {
  const Word a = (left >> 32) | 1U;
  const Word b = left & 0xFFFFFFFFU;
  const Word c = (right >> 32) | 1U;
  const Word d = right & 0xFFFFFFFFU;
  return (((a * c) & 0xFFFFFFFFU) << 32) | ((a * d + b) & 0xFFFFFFFFU);
}
/// Stands for the division of a mean: no map of the kind above, so it must be the last thing that happens.
inline Word divided(Word word, std::size_t divisor) { return mix(word + divisor); }

/// The smallest number of operands a kernel call of this thread has had since it was set.
inline thread_local std::size_t fewest_operands = 0;

inline void compose_kernel(void* out, std::span<const void* const> in, std::size_t count,
                           std::size_t divisor) {
  fewest_operands = std::min(fewest_operands, in.size());
  for (std::size_t i = 0; i < count; ++i) {
    Word word = static_cast<const Word*>(in[0])[i];
    for (std::size_t k = 1; k < in.size(); ++k) word = compose(word, static_cast<const Word*>(in[k])[i]);
    static_cast<Word*>(out)[i] = divisor > 0 ? divided(word, divisor) : word;
  }
}

inline Reduction composition(std::size_t divisor) {
  return {&compose_kernel, DType::uint64, sizeof(Word), divisor};
}

/// What element `index` becomes when the ranks are combined from `start` on, modulo n.
inline Word combined(int start, int n, std::size_t index, std::size_t divisor) {
  Word word = value(start, index);
  for (int k = 1; k < n; ++k) word = compose(word, value((start + k) % n, index));
  return divisor > 0 ? divided(word, divisor) : word;
}

/// `count` words between two guards.
class Memory {
 public:
  explicit Memory(std::size_t count) : words_(count + 2, guard) {}
  static Memory of(int rank, std::size_t count) {
    Memory memory(count);
    for (std::size_t i = 0; i < count; ++i) memory[i] = value(rank, i);
    return memory;
  }

  std::size_t size() const { return words_.size() - 2; }
  Word& operator[](std::size_t index) { return words_[index + 1]; }
  std::span<Word> words() { return std::span(words_).subspan(1, size()); }
  Bytes bytes() { return std::as_writable_bytes(words()); }
  bool guarded() const { return words_.front() == guard && words_.back() == guard; }
  friend bool operator==(const Memory&, const Memory&) = default;

 private:
  static constexpr Word guard = 0x5AFE5AFE5AFE5AFEU;
  Words words_;
};

/// Compares with what `expected(i)` says and looks at the guards. Threads may call it.
inline void check(Memory& memory, const std::string& where,
                  const std::function<Word(std::size_t)>& expected) {
  EXPECT_TRUE(memory.guarded()) << where << ": written beyond the end";
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory[i] != expected(i)) {
      ADD_FAILURE() << where << ": element " << i << " of " << memory.size() << " is wrong";
      return;
    }
  }
}

inline const std::vector<int>& group_sizes() {
  static const std::vector<int> sizes{2, 3, 4, 5, 8};
  return sizes;
}
inline std::vector<std::size_t> vector_counts(int n) {
  const auto size = static_cast<std::size_t>(n);
  return {0, 1, size - 1, size, size + 1, 13, 31, 97, 257};
}

/// Parts of the ranks: equal, uneven, with zeros, all at one rank, nothing at all.
inline std::vector<Sizes> part_counts(int n) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<Sizes> patterns(6, Sizes(size, 0));
  for (std::size_t r = 0; r < size; ++r) {
    patterns[0][r] = 11;
    patterns[1][r] = 7 * r + 3;
    patterns[2][r] = r % 2 == 0 ? 0 : 29 + r;
    patterns[3][r] = r == size / 2 ? 101 : 0;
    patterns[5][r] = r + 1 == size ? 1 : (5 * r) % 3 * 17;
  }
  return patterns;
}
inline std::size_t sum(const Sizes& counts) {
  std::size_t sum = 0;
  for (const std::size_t count : counts) sum += count;
  return sum;
}
inline std::size_t before(const Sizes& counts, int rank) {
  return sum(Sizes(counts.begin(), counts.begin() + rank));
}
/// The same in bytes of words.
inline Sizes in_bytes(Sizes counts) {
  for (std::size_t& count : counts) count *= sizeof(Word);
  return counts;
}

/// Every arena a flat algorithm is run over: so small that there are many rounds, odd, and so large that one
/// step is enough; and every way of reading each other's memory.
inline std::vector<Settings> arenas(int n) {
  std::vector<Settings> all{{n, ArenaKind::snapshots, 128}, {n, ArenaKind::shared, 128},
                            {n, ArenaKind::snapshots, 384}, {n, ArenaKind::shared, 384},
                            {n, ArenaKind::shared, 8192},   {n, ArenaKind::snapshots, 8192}};
  for (const Copies copies : {Copies::but_one, Copies::read, Copies::shared, Copies::mixed}) {
    Settings settings{n, ArenaKind::shared, 768};
    settings.copies = copies;
    all.push_back(settings);
  }
  return all;
}

/// The worlds an algorithm is run in: `flat` over arenas, the others without.
inline std::vector<Settings> worlds(int n, bool flat) {
  return flat ? arenas(n) : std::vector<Settings>{{n, ArenaKind::none, 128}};
}

inline std::string at(const char* name, const Channel& channel, std::size_t count) {
  return std::string(name) + ", rank " + std::to_string(channel.rank()) + " of " +
         std::to_string(channel.size()) + ", " + std::to_string(count) + " elements";
}

}  // namespace rondo::collective::fake
