#include "net/address.hpp"

#include <gtest/gtest.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "net/interface.hpp"
#include "net/test_support.hpp"

namespace {

using namespace rondo::net;
using namespace rondo::net::testing_support;

TEST(HostPort, forms) {
  const std::vector<std::pair<std::string, HostPort>> cases = {
      {"node1:4000", {"node1", 4000}},
      {"node-1.rack_7.example.com:65535", {"node-1.rack_7.example.com", 65535}},
      {"example.com.:80", {"example.com.", 80}},
      {"7up:1", {"7up", 1}},
      {"1.2.3.4:0", {"1.2.3.4", 0}},
      {"[::1]:4001", {"::1", 4001}},
      {"[2001:db8::7]:4002", {"2001:db8::7", 4002}},
      {"[::ffff:10.0.0.1]:4003", {"::ffff:10.0.0.1", 4003}},
      {"[fe80::1%eth0]:4004", {"fe80::1%eth0", 4004}},
      {"[fe80::1%2]:4005", {"fe80::1%2", 4005}},
      {"[ff02::1%eth0.7]:4006", {"ff02::1%eth0.7", 4006}},
  };
  for (const auto& [text, expected] : cases) {
    const HostPort got = parse_host_port(text);
    EXPECT_EQ(got.host, expected.host) << text;
    EXPECT_EQ(got.port, expected.port) << text;
  }
}

TEST(HostPort, malformed_ones_are_refused_with_the_reason) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "nothing there"},
      {"node1", "no port"},
      {"node1:", "no port"},
      {":4000", "no host"},
      {":", "no host"},
      {"node1:x", "the port \"x\" is not a whole number from 0 to 65535"},
      {"node1:65536", "the port \"65536\" is not"},
      {"node1:99999999999999999999", "the port \"99999999999999999999\" is not"},
      {"node1:-1", "the port \"-1\" is not"},
      {"node1:+1", "the port \"+1\" is not"},
      {"node1:080", "the port \"080\" is not"},
      {"node1:00", "the port \"00\" is not"},
      {"node1:1.5", "the port \"1.5\" is not"},
      {"node1:0x10", "the port \"0x10\" is not"},
      {" node1:4000", "a blank"},
      {"node1:4000 ", "a blank"},
      {"node1 :4000", "a blank"},
      {"node1:4000\n", "a blank"},
      {std::string("node1\0:4000", 11), "a blank"},
      {"n\xc3\xb6"
       "de:4000",
       "not ASCII"},
      {"::1:4000", "more than one colon (IPv6 addresses stand in brackets)"},
      {"fe80::1%eth0:4000", "more than one colon"},
      {"node1:40:00", "more than one colon"},
      {"tcp://node1:4000", "more than one colon"},
      {"node1/:4000", "\"node1/\" is not the name of a host"},
      {"user@node1:4000", "\"user@node1\" is not the name of a host"},
      {"node1%eth0:4000", "\"node1%eth0\" is not the name of a host"},
      {"-node:4000", "\"-node\" is not the name of a host"},
      {".node:4000", "\".node\" is not the name of a host"},
      {"a..b:4000", "\"a..b\" is not the name of a host"},
      {std::string(254, 'a') + ":1", "is not the name of a host"},
      {"1.2.3:4000", "\"1.2.3\" is not an IPv4 address"},
      {"1.2.3.256:4000", "\"1.2.3.256\" is not an IPv4 address"},
      {"1.2.3.4.5:4000", "\"1.2.3.4.5\" is not an IPv4 address"},
      {"1.2.3.4.:4000", "\"1.2.3.4.\" is not an IPv4 address"},
      {".:4000", "\".\" is not the name of a host"},
      {"2130706433:4000", "\"2130706433\" is not an IPv4 address"},
      {"0x7f000001:4000", "\"0x7f000001\" is not an IPv4 address"},
      {"[::1", "no closing bracket"},
      {"[::1]", "no port"},
      {"[::1]:", "no port"},
      {"[::1]4000", "something else than a colon behind the bracket"},
      {"[::1]]:4000", "something else than a colon behind the bracket"},
      {"[]:4000", "\"\" is not an IPv6 address"},
      {"[[::1]]:4000", "\"[::1\" is not an IPv6 address"},
      {"[node1]:4000", "\"node1\" is not an IPv6 address"},
      {"[1.2.3.4]:4000", "\"1.2.3.4\" is not an IPv6 address"},
      {"[1:2]:4000", "\"1:2\" is not an IPv6 address"},
      {"[%eth0]:4000", "\"\" is not an IPv6 address"},
      {"[fe80::1]:4000", "a link-local address needs an interface"},
      {"[fe80::1%]:4000", "\"\" is not the name of an interface"},
      {"[fe80::1%a%b]:4000", "\"a%b\" is not the name of an interface"},
      {"[fe80::1%a/b]:4000", "\"a/b\" is not the name of an interface"},
      {"[fe80::1%0123456789abcdef]:4000", "\"0123456789abcdef\" is not the name of an interface"},
      {"[::1]:65536", "the port \"65536\" is not"},
  };
  for (const auto& [text, reason] : cases) {
    const std::string got = problem_of([&, &input = text] { (void)parse_host_port(input); });
    EXPECT_EQ(got.rfind("invalid_argument: \"", 0), 0U) << got;
    EXPECT_TRUE(contains(got, reason)) << got << "\n  expected: " << reason;
    EXPECT_TRUE(contains(got, "expected host:port, such as node1:4000")) << got;
    if (text.find('\n') == std::string::npos && text.find('\0') == std::string::npos && text.size() < 200) {
      EXPECT_TRUE(contains(got, "\"" + text + "\"")) << got;
    }
    EXPECT_EQ(got.find('\n'), std::string::npos) << got;
  }
}

TEST(HostPort, a_long_text_is_not_repeated_in_full) {
  const std::string got = problem_of([] { (void)parse_host_port(std::string(100000, 'a')); });
  EXPECT_LT(got.size(), 1000U);
}

TEST(Address, text_and_back) {
  for (const std::string text : {"127.0.0.1:4000", "0.0.0.0:0", "255.254.253.252:65535", "[::1]:4000",
                                 "[::]:0", "[2001:db8::7:6]:4001"})
    EXPECT_EQ(to_string(address_of(text)), text);
  EXPECT_EQ(host_text(address_of("10.1.2.3:9")), "10.1.2.3");
  EXPECT_EQ(host_text(address_of("[2001:db8::7]:9")), "2001:db8::7");
}

TEST(Address, ports_are_set_and_read) {
  for (const std::string text : {"10.0.0.1:258", "[fd00::1]:258"}) {
    Address address = address_of(text);
    EXPECT_EQ(address.port(), 258);
    address.set_port(515);
    EXPECT_EQ(address.port(), 515);
    EXPECT_FALSE(address == address_of(text));
    address.set_port(258);
    EXPECT_TRUE(address == address_of(text));
  }
}

TEST(Address, equality_looks_at_number_family_and_port) {
  EXPECT_TRUE(address_of("[fd00::1]:4") == address_of("[fd00:0::0:1]:4"));
  EXPECT_FALSE(address_of("[fd00::1]:4") == address_of("[fd00::2]:4"));
  EXPECT_FALSE(address_of("[fd00::1]:4") == address_of("[fd00::1]:5"));
  EXPECT_FALSE(address_of("10.0.0.1:4") == address_of("10.0.0.2:4"));
  EXPECT_FALSE(address_of("0.0.0.0:4") == address_of("[::]:4"));
  EXPECT_TRUE(Address() == Address());
}

TEST(Address, loopback_and_any) {
  for (const std::string text : {"127.0.0.1:1", "127.9.8.7:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_TRUE(address_of(text).is_loopback()) << text;
    EXPECT_FALSE(address_of(text).is_any()) << text;
  }
  for (const std::string text : {"0.0.0.0:1", "[::]:1"}) {
    EXPECT_TRUE(address_of(text).is_any()) << text;
    EXPECT_FALSE(address_of(text).is_loopback()) << text;
  }
  for (const std::string text : {"128.0.0.1:1", "0.0.0.1:1", "[::2]:1", "[1::]:1", "[::ffff:10.0.0.127]:1"}) {
    EXPECT_FALSE(address_of(text).is_loopback()) << text;
    EXPECT_FALSE(address_of(text).is_any()) << text;
  }
}

TEST(Address, others_have_words_but_no_number) {
  EXPECT_EQ(to_string(Address()), "an unknown address");
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  const Address address(reinterpret_cast<const sockaddr*>(&local), sizeof local);
  EXPECT_EQ(to_string(address), "a local socket");
  EXPECT_EQ(address.port(), 0);
  EXPECT_TRUE(address.number().empty());
  EXPECT_FALSE(address.is_any());
  EXPECT_FALSE(address.is_loopback());
}

TEST(Resolve, numbers_need_no_resolver) {
  const std::vector<Address> found = resolve({"10.1.2.3", 4000});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(to_string(found[0]), "10.1.2.3:4000");
  EXPECT_EQ(found[0].length(), sizeof(sockaddr_in));
  EXPECT_EQ(to_string(resolve({"2001:db8::1", 4001}).at(0)), "[2001:db8::1]:4001");
}

TEST(Resolve, localhost_is_loopback_each_address_once) {
  addrinfo* known = nullptr;
  if (getaddrinfo("localhost", nullptr, nullptr, &known) != 0) {
    GTEST_SKIP() << "this machine does not know localhost (no /etc/hosts)";
  }
  freeaddrinfo(known);
  const std::vector<Address> found = resolve({"localhost", 4321});
  ASSERT_FALSE(found.empty());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(found[i].is_loopback()) << to_string(found[i]);
    EXPECT_EQ(found[i].port(), 4321);
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(found[i] == found[j]) << to_string(found[i]);
  }
}

TEST(Resolve, an_unknown_name_is_told_with_the_resolvers_words) {
  // A part of a name has at most 63 characters, so this one is known nowhere, whatever network there is.
  const std::string name = std::string(64, 'x') + ".invalid";
  const std::string got = problem_of([&] { (void)resolve({name, 4000}); });
  const std::string start = "unavailable: cannot resolve \"" + name + "\": ";
  EXPECT_EQ(got.rfind(start, 0), 0U) << got;
  EXPECT_GT(got.size(), start.size() + 5) << got;
}

TEST(Resolve, an_unknown_interface_is_told) {
  const std::string got = problem_of([] { (void)resolve(parse_host_port("[fe80::1%nosuch9]:4000")); });
  EXPECT_EQ(got, "unavailable: cannot resolve \"fe80::1%nosuch9\": there is no interface \"nosuch9\"");
  EXPECT_TRUE(contains(problem_of([] { (void)resolve({"fe80::1%4000000000", 1}); }), "no interface"));
}

TEST(Resolve, scopes_by_name_and_number) {
  const std::vector<Interface> all = list_interfaces();
  ASSERT_FALSE(all.empty());
  const std::string name = all[0].name;
  const unsigned index = if_nametoindex(name.c_str());
  ASSERT_NE(index, 0U);
  const Address address = address_of("[fe80::7%" + name + "]:4000");
  EXPECT_EQ(address.scope(), index);
  EXPECT_EQ(to_string(address), "[fe80::7%" + name + "]:4000");
  EXPECT_TRUE(address == address_of(to_string(address)));
  EXPECT_TRUE(address == address_of("[fe80::7%" + std::to_string(index) + "]:4000"));
  EXPECT_EQ(address_of("[fd00::7%" + name + "]:4000").scope(), 0U);  // only link-local ones have a scope
  sockaddr_in6 raw = *reinterpret_cast<const sockaddr_in6*>(address.get());
  raw.sin6_scope_id = index + 1000000;  // one that the system does not know
  const Address other(reinterpret_cast<const sockaddr*>(&raw), sizeof raw);
  EXPECT_FALSE(other == address);
  EXPECT_EQ(to_string(other), "[fe80::7%" + std::to_string(index + 1000000) + "]:4000");
}

}  // namespace
