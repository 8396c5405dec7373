// The fake must catch what it is there to catch.

#include "collective/channel_fake.hpp"

#include <gtest/gtest.h>

#include <array>

#include "collective/test_support.hpp"

namespace rondo::collective::fake {
namespace {

using transport::Pending;

std::string pair(const std::function<void(FakeChannel&)>& zero, const std::function<void(FakeChannel&)>& one,
                 ArenaKind arena = ArenaKind::none, int limit_ms = 60000) {
  World world({2, arena, 128, std::chrono::milliseconds(limit_ms)});
  return world.run([&](FakeChannel& channel) { (channel.rank() == 0 ? zero : one)(channel); });
}

void exchange(FakeChannel& channel, Bytes out, Bytes in) {
  Pending send;
  Pending receive;
  channel.recv(receive, 1 - channel.rank(), in);
  channel.send(send, 1 - channel.rank(), out);
  channel.wait(receive);
  channel.wait(send);
}

TEST(ChannelFake, MovesBytesInOrder) {
  const auto body = [](FakeChannel& channel) {
    for (std::size_t k = 0; k < 3; ++k) {
      Memory out = Memory::of(channel.rank(), k);
      Memory in(k);
      exchange(channel, out.bytes(), in.bytes());
      check(in, "received", [&](std::size_t i) { return value(1 - channel.rank(), i); });
    }
  };
  EXPECT_EQ(pair(body, body), "");
}

TEST(ChannelFake, CatchesDifferentSizes) {
  const auto body = [](std::size_t sent, std::size_t wanted) {
    return [=](FakeChannel& channel) {
      Memory out = Memory::of(channel.rank(), sent);
      Memory in(wanted);
      exchange(channel, out.bytes(), in.bytes());
    };
  };
  EXPECT_NE(pair(body(3, 2), body(3, 2)).find("24 bytes sent, 16 wanted"), std::string::npos);
}

TEST(ChannelFake, CatchesWaitingForASendBeforeItsReceive) {
  const auto body = [](FakeChannel& channel) {
    Memory out = Memory::of(channel.rank(), 4);
    Pending send;
    channel.send(send, 1 - channel.rank(), out.bytes());
    channel.wait(send);
  };
  EXPECT_NE(pair(body, body, ArenaKind::none, 20).find("no end in sight"), std::string::npos);
}

TEST(ChannelFake, CatchesMemoryChangedWhileSent) {
  const auto zero = [](FakeChannel& channel) {
    Memory out = Memory::of(0, 4);
    Pending send;
    channel.send(send, 1, out.bytes());
    out[2] ^= 1U;
    channel.wait(send);
  };
  const auto one = [](FakeChannel& channel) {
    Memory in(4);
    Pending receive;
    channel.recv(receive, 0, in.bytes());
    channel.wait(receive);
  };
  EXPECT_NE(pair(zero, one).find("memory changed"), std::string::npos);
}

TEST(ChannelFake, CatchesOneMemoryForTwoReceives) {
  const auto body = [](FakeChannel& channel) {
    Memory in(4);
    Pending receives[2];
    channel.recv(receives[0], 1 - channel.rank(), in.bytes().first(16));
    channel.recv(receives[1], 1 - channel.rank(), in.bytes().subspan(8));
  };
  EXPECT_NE(pair(body, body).find("posted already"), std::string::npos);
}

TEST(ChannelFake, CatchesWhatIsLeft) {
  std::array<Pending, 2> forgotten;
  Memory out = Memory::of(0, 1);
  const auto nothing = [](FakeChannel&) {};
  EXPECT_NE(pair([&](FakeChannel& channel) { channel.send(forgotten[0], 1, out.bytes()); }, nothing), "");
}

TEST(ChannelFake, SpoilsWhatIsReadTooEarly) {
  const auto body = [](FakeChannel& channel) {
    channel.slot(channel.rank())[0] = std::byte{7};
    EXPECT_NE(channel.slot(1 - channel.rank())[0], std::byte{7});
    channel.meet();
    EXPECT_EQ(channel.slot(1 - channel.rank())[0], std::byte{7});
    channel.slot(channel.rank())[0] = std::byte{8};
    EXPECT_EQ(channel.slot(1 - channel.rank())[0], std::byte{7});
    channel.arrive();
    channel.await_all();
    EXPECT_EQ(channel.slot(1 - channel.rank())[0], std::byte{8});
  };
  EXPECT_EQ(pair(body, body, ArenaKind::snapshots), "");
}

TEST(ChannelFake, CatchesWrongSteps) {
  const auto twice = [](FakeChannel& channel) {
    channel.meet();
    channel.meet();
  };
  EXPECT_NE(pair(twice, twice, ArenaKind::shared), "");
  const auto unmet = [](FakeChannel& channel) { channel.arrive(); };
  EXPECT_NE(pair(unmet, unmet, ArenaKind::shared), "");
  const auto once = [](FakeChannel& channel) { channel.meet(); };
  const auto more = [](FakeChannel& channel) {
    channel.meet();
    channel.arrive();
  };
  EXPECT_NE(pair(once, more, ArenaKind::shared), "");
}

}  // namespace
}  // namespace rondo::collective::fake
