#include "transport/header.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.hpp"
#include "rondo/error.hpp"

namespace {

using namespace rondo::transport;
using rondo::DType;
using rondo::ErrorKind;
using rondo::ReduceOp;
using rondo::base::Problem;
using Bytes = std::span<const std::byte>;

constexpr FrameKind kinds[] = {FrameKind::skip,   FrameKind::goodbye, FrameKind::presence,
                               FrameKind::part,   FrameKind::eager,   FrameKind::offer,
                               FrameKind::accept, FrameKind::refuse,  FrameKind::withdraw,
                               FrameKind::gone,   FrameKind::data,    FrameKind::credit};

Header random_header(std::mt19937_64& random) {
  const auto below = [&](std::size_t bound) { return static_cast<int>(random() % bound); };
  Header header;
  header.lane = static_cast<Lane>(below(2));
  header.kind = kinds[below(std::size(kinds))];
  header.verb = static_cast<Verb>(below(static_cast<std::size_t>(Verb::plan) + 1));
  header.op = static_cast<ReduceOp>(below(rondo::reduce_op_count));
  header.dtype = static_cast<DType>(below(rondo::dtype_count));
  header.sequence = static_cast<std::uint32_t>(random());
  header.part = static_cast<std::uint32_t>(random());
  header.number = random();
  header.root_or_tag = static_cast<std::int32_t>(static_cast<std::uint32_t>(random()));
  header.count = random();
  header.bytes = random();
  header.name_hash = random();
  header.payload_hash = random();
  header.dims.size = below(rondo::max_dims + 1);
  for (int i = 0; i < header.dims.size; ++i) {
    header.dims.value[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(random() >> 1);
  }
  return header;
}

/// What decode says of bytes it refuses; empty when it takes them.
std::string refusal(Bytes bytes) {
  try {
    (void)decode(bytes);
  } catch (const Problem& problem) {
    EXPECT_EQ(problem.kind(), ErrorKind::disconnected);
    return problem.what();
  }
  return {};
}

/// The same for a header that encode writes as it is told, with the check right.
std::string refusal(const Header& header) {
  HeaderBytes bytes{};
  const std::size_t length = encode(header, bytes);
  return refusal(Bytes(bytes).first(length));
}

testing::AssertionResult says(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << text << "\" has no \"" << part << '"';
}

TEST(Header, comes_back_as_it_was) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    const Header header = random_header(random);
    HeaderBytes bytes{};
    const std::size_t length = encode(header, bytes);
    ASSERT_EQ(length, 64 + 8 * static_cast<std::size_t>(header.dims.size));
    ASSERT_EQ(header_length(Bytes(bytes).first(64)), length);
    const Header back = decode(Bytes(bytes).first(length));
    ASSERT_EQ(back, header);
    ASSERT_EQ(back.lane, header.lane);
    ASSERT_EQ(back.kind, header.kind);
    ASSERT_EQ(back.verb, header.verb);
    ASSERT_EQ(back.op, header.op);
    ASSERT_EQ(back.dtype, header.dtype);
    ASSERT_EQ(back.sequence, header.sequence);
    ASSERT_EQ(back.part, header.part);
    ASSERT_EQ(back.number, header.number);
    ASSERT_EQ(back.root_or_tag, header.root_or_tag);
    ASSERT_EQ(back.count, header.count);
    ASSERT_EQ(back.bytes, header.bytes);
    ASSERT_EQ(back.name_hash, header.name_hash);
    ASSERT_EQ(back.payload_hash, header.payload_hash);
    ASSERT_TRUE(std::ranges::equal(std::span<const std::int64_t>(back.dims),
                                   std::span<const std::int64_t>(header.dims)));
  }
}

TEST(Header, has_these_bytes) {
  Header header;
  header.lane = Lane::message;
  header.kind = FrameKind::offer;
  header.verb = Verb::gather_v;
  header.op = ReduceOp::max;
  header.dtype = DType::complex64;
  header.sequence = 0x04030201;
  header.part = 0x08070605;
  header.number = 0x100f0e0d0c0b0a09;
  header.root_or_tag = -2;
  header.count = 0x1817161514131211;
  header.bytes = 0x201f1e1d1c1b1a19;
  header.name_hash = 0x2827262524232221;
  header.payload_hash = 0x302f2e2d2c2b2a29;
  header.dims.size = 2;
  header.dims.value[0] = 0x3837363534333231;
  header.dims.value[1] = 3;
  constexpr unsigned char expected[] = {'R',  'D',  1,    0x91, 9,    3,    13,   2,      // magic to dims
                                        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,   // sequence, part
                                        0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10,   // number
                                        0xfe, 0xff, 0xff, 0xff, 0x08, 0xa3, 0x83, 0x8d,   // tag, check
                                        0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,   // count
                                        0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20,   // bytes
                                        0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,   // name hash
                                        0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, 0x30,   // payload hash
                                        0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,   // first extent
                                        0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};  // second extent
  HeaderBytes bytes{};
  ASSERT_EQ(encode(header, bytes), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]) << "byte " << i;
  }
}

TEST(Header, every_turned_bit_is_refused) {
  std::mt19937_64 random(2);
  for (int dims = 0; dims <= rondo::max_dims; dims += 4) {
    Header header = random_header(random);
    header.dims = {};
    header.dims.size = dims;
    for (int i = 0; i < dims; ++i) header.dims.value[static_cast<std::size_t>(i)] = 3 + i;
    HeaderBytes bytes{};
    const std::size_t length = encode(header, bytes);
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      HeaderBytes turned = bytes;
      turned[bit / 8] ^= std::byte{static_cast<unsigned char>(1U << (bit % 8))};
      EXPECT_NE(refusal(Bytes(turned).first(length)), "") << "bit " << bit;
      // Read to the length that the turned header claims, as a wire does.
      const auto claimed = header_length(Bytes(turned).first(Header::fixed_bytes));
      if (claimed) {
        EXPECT_NE(refusal(Bytes(turned).first(*claimed)), "") << "bit " << bit;
      }
    }
  }
}

TEST(Header, unknown_values_are_refused_by_name) {
  Header header;
  header.kind = static_cast<FrameKind>(3);
  EXPECT_TRUE(says(refusal(header), "unknown frame kind 3"));
  header.kind = static_cast<FrameKind>(24);
  EXPECT_TRUE(says(refusal(header), "unknown frame kind 24"));
  header = {};
  header.verb = static_cast<Verb>(static_cast<int>(Verb::plan) + 1);
  EXPECT_TRUE(says(refusal(header), "unknown verb 17"));
  header = {};
  header.op = static_cast<ReduceOp>(rondo::reduce_op_count);
  EXPECT_TRUE(says(refusal(header), "unknown reduction " + std::to_string(rondo::reduce_op_count)));
  header = {};
  header.dtype = static_cast<DType>(rondo::dtype_count);
  EXPECT_TRUE(says(refusal(header), "unknown dtype 17"));
  header = {};
  header.dtype = static_cast<DType>(255);
  EXPECT_TRUE(says(refusal(header), "unknown dtype 255"));
  EXPECT_EQ(refusal(Header()), "");
}

TEST(Header, a_negative_extent_is_refused) {
  Header header;
  header.dims.size = 3;
  header.dims.value = {2, 0, 5};
  EXPECT_EQ(refusal(header), "");
  header.dims.value[1] = -7;
  EXPECT_TRUE(says(refusal(header), "axis 1 has the negative extent -7"));
}

TEST(Header, more_than_8_axes_or_another_version_begin_no_header) {
  HeaderBytes bytes{};
  (void)encode(Header(), bytes);
  bytes[7] = std::byte{8};
  EXPECT_EQ(header_length(bytes), Header::max_bytes);
  bytes[7] = std::byte{9};
  EXPECT_EQ(header_length(bytes), std::nullopt);
  EXPECT_TRUE(
      says(refusal(Bytes(bytes).first(64)), "version 1 with 9 axes, expected version 1 and at most 8"));
  bytes[7] = std::byte{0};
  bytes[2] = std::byte{2};
  EXPECT_EQ(header_length(bytes), std::nullopt);
  EXPECT_TRUE(says(refusal(Bytes(bytes).first(64)), "version 2 with 0 axes, expected version 1"));
}

TEST(Header, what_does_not_begin_with_the_magic_or_is_cut_is_refused) {
  HeaderBytes bytes{};
  Header header;
  header.dims.size = 1;
  header.dims.value[0] = 6;
  const std::size_t length = encode(header, bytes);
  EXPECT_EQ(header_length(Bytes(bytes).first(63)), std::nullopt);
  EXPECT_TRUE(says(refusal(Bytes(bytes).first(length - 1)), "71 bytes, expected 72"));
  EXPECT_TRUE(says(refusal(Bytes(bytes).first(length + 1)), "73 bytes, expected 72"));
  EXPECT_NE(refusal(Bytes(bytes).first(10)), "");
  EXPECT_NE(refusal(Bytes()), "");
  bytes[1] = std::byte{'d'};
  EXPECT_EQ(header_length(bytes), std::nullopt);
  EXPECT_TRUE(says(refusal(Bytes(bytes).first(length)), "does not begin with RD"));
}

TEST(Header, payload_hashes_tell_payloads_apart_and_are_never_0) {
  std::vector<std::byte> payload(1000);
  std::vector<std::uint64_t> hashes = {payload_hash({})};
  for (std::size_t i = 0; i < payload.size(); ++i) {
    payload[i] = static_cast<std::byte>(i % 255 + 1);
    hashes.push_back(payload_hash(payload));
  }
  std::ranges::sort(hashes);
  EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end());
  EXPECT_NE(hashes.front(), 0U);
}

TEST(Stamp, reads_as_users_know_the_call) {
  EXPECT_EQ(to_string(Stamp{12, Verb::all_reduce, DType::float32, ReduceOp::sum, -1, 20, 0}),
            "all_sum #12 (float32, 20 elements)");
  EXPECT_EQ(to_string(Stamp{3, Verb::reduce, DType::int8, ReduceOp::max, 2, 5, 0}),
            "reduce #3 (int8, max, 5 elements, root 2)");
  EXPECT_EQ(to_string(Stamp{4, Verb::barrier, DType::uint8, ReduceOp::sum, -1, 0, 0}), "barrier #4");
  EXPECT_EQ(to_string(Stamp{5, Verb::all_gather_v, DType::int64, ReduceOp::sum, -1, 7, 0xab}),
            "all_gather_v #5 (int64, 7 elements, name and counts 00000000000000ab)");
}

TEST(Stamp, names_of_reductions_that_have_one) {
  EXPECT_EQ(name_of(Verb::all_reduce, ReduceOp::max), "all_max");
  EXPECT_EQ(name_of(Verb::all_reduce, ReduceOp::min), "all_min");
  EXPECT_EQ(name_of(Verb::reduce_scatter, ReduceOp::sum), "sum_scatter");
  EXPECT_EQ(name_of(Verb::reduce_scatter, ReduceOp::max), "reduce_scatter");
  EXPECT_EQ(name_of(Verb::broadcast, ReduceOp::max), "broadcast");
}

}  // namespace
