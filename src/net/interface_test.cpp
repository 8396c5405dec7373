#include "net/interface.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "net/test_support.hpp"

namespace {

using namespace rondo::net;
using namespace rondo::net::testing_support;

Interface made_up(const std::string& name, const std::string& address) {
  return {name, address_of(address), true, name == "lo"};
}

std::vector<Interface> machine() {
  return {made_up("lo", "127.0.0.1:0"),        made_up("lo", "[::1]:0"),
          made_up("eth0", "10.0.0.7:0"),       made_up("eth0", "[fd00::7]:0"),
          made_up("eth10", "10.1.0.8:0"),      made_up("docker0", "172.17.0.1:0"),
          made_up("virbr0", "192.168.122.1:0")};
}

std::string chosen(const std::string& choice) {
  std::string out;
  for (const Interface& one : choose(machine(), choice))
    out += (out.empty() ? "" : " ") + one.name + "=" + host_text(one.address);
  return out;
}

TEST(Choose, nothing_asked_is_all) {
  EXPECT_EQ(chosen(""),
            "lo=127.0.0.1 lo=::1 eth0=10.0.0.7 eth0=fd00::7 eth10=10.1.0.8 docker0=172.17.0.1 "
            "virbr0=192.168.122.1");
}

TEST(Choose, by_name) {
  EXPECT_EQ(chosen("eth0"), "eth0=10.0.0.7 eth0=fd00::7");
  EXPECT_EQ(chosen("eth10"), "eth10=10.1.0.8");
  EXPECT_EQ(chosen("virbr0,lo"), "lo=127.0.0.1 lo=::1 virbr0=192.168.122.1");  // in the list's order
  EXPECT_EQ(chosen("eth10,eth10"), "eth10=10.1.0.8");
}

TEST(Choose, by_prefix_unless_it_is_a_whole_name) {
  EXPECT_EQ(chosen("eth"), "eth0=10.0.0.7 eth0=fd00::7 eth10=10.1.0.8");
  EXPECT_EQ(chosen("eth1"), "eth10=10.1.0.8");
  EXPECT_EQ(chosen("d,v"), "docker0=172.17.0.1 virbr0=192.168.122.1");
  std::vector<Interface> two = {made_up("eth1", "10.0.0.1:0"), made_up("eth10", "10.0.0.2:0")};
  ASSERT_EQ(choose(two, "eth1").size(), 1U);
  EXPECT_EQ(choose(two, "eth1")[0].name, "eth1");
}

TEST(Choose, by_network) {
  EXPECT_EQ(chosen("10.0.0.0/8"), "eth0=10.0.0.7 eth10=10.1.0.8");
  EXPECT_EQ(chosen("10.0.0.0/16"), "eth0=10.0.0.7");
  EXPECT_EQ(chosen("10.0.0.0/15"), "eth0=10.0.0.7 eth10=10.1.0.8");
  EXPECT_EQ(chosen("10.0.0.7/32"), "eth0=10.0.0.7");
  EXPECT_EQ(chosen("10.0.0.0/29"), "eth0=10.0.0.7");
  EXPECT_EQ(chosen("172.16.0.0/12"), "docker0=172.17.0.1");
  EXPECT_EQ(chosen("fd00::/8"), "eth0=fd00::7");
  EXPECT_EQ(chosen("::1/128"), "lo=::1");
  EXPECT_EQ(chosen("::/0"), "lo=::1 eth0=fd00::7");
  EXPECT_EQ(chosen("0.0.0.0/0,::1/128"),
            "lo=127.0.0.1 lo=::1 eth0=10.0.0.7 eth10=10.1.0.8 docker0=172.17.0.1 virbr0=192.168.122.1");
}

TEST(Choose, excluded) {
  EXPECT_EQ(chosen("^docker0,virbr,lo"), "eth0=10.0.0.7 eth0=fd00::7 eth10=10.1.0.8");
  EXPECT_EQ(chosen("^eth,127.0.0.0/8"), "lo=::1 docker0=172.17.0.1 virbr0=192.168.122.1");
  EXPECT_EQ(chosen("^podman0,0.0.0.0/0"), "lo=::1 eth0=fd00::7");  // what is kept out need not be there
}

constexpr const char* what_there_is =
    "; there is lo (127.0.0.1, ::1), eth0 (10.0.0.7, fd00::7), eth10 (10.1.0.8), docker0 (172.17.0.1), "
    "virbr0 (192.168.122.1)";

TEST(Choose, what_matches_nothing_lists_what_there_is) {
  const auto refusal = [](const std::string& choice) { return problem_of([&] { (void)chosen(choice); }); };
  const auto text = [](const std::string& choice, const std::string& why) {
    return "invalid_argument: interface choice \"" + choice + "\": " + why + what_there_is;
  };
  EXPECT_EQ(refusal("eth2"), text("eth2", "\"eth2\" matches nothing"));
  EXPECT_EQ(refusal("eth0,wlan"), text("eth0,wlan", "\"wlan\" matches nothing"));
  EXPECT_EQ(refusal("eth0x"), text("eth0x", "\"eth0x\" matches nothing"));
  EXPECT_EQ(refusal("11.0.0.0/8"), text("11.0.0.0/8", "\"11.0.0.0/8\" matches nothing"));
  EXPECT_EQ(refusal("fe80::/10"), text("fe80::/10", "\"fe80::/10\" matches nothing"));
  EXPECT_EQ(refusal("^l,e,d,v"), text("^l,e,d,v", "nothing is left"));
  EXPECT_EQ(problem_of([] { (void)choose({}, "eth0"); }),
            "invalid_argument: interface choice \"eth0\": \"eth0\" matches nothing; there is no interface");
}

TEST(Choose, malformed_ones_are_refused) {
  const auto refusal = [](const std::string& choice) { return problem_of([&] { (void)chosen(choice); }); };
  for (const std::string choice : {",", "eth0,", ",eth0", "eth0,,lo", "^", "^,lo"})
    EXPECT_TRUE(contains(refusal(choice), "\": an empty name; there is lo")) << choice;
  for (const std::string network :
       {"10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/8/8", "/8", "10.0/8", "eth0/8",
        "10.0.0.0/-1", "10.0.0.0/99999999999", "10.0.0.0/8 "})
    EXPECT_TRUE(contains(refusal(network),
                         "\"" + network + "\" is not a network such as 10.0.0.0/8 or fd00::/8; there is lo"))
        << refusal(network);
  EXPECT_TRUE(contains(refusal(" eth0"), "\" eth0\" matches nothing"));
  EXPECT_TRUE(contains(refusal("^10.0.0.0/33"), "is not a network"));
}

TEST(Interfaces, the_machine_has_loopback) {
  const std::vector<Interface> all = list_interfaces();
  const auto is_local = [](const Interface& one) { return one.address == address_of("127.0.0.1:0"); };
  const auto found = std::find_if(all.begin(), all.end(), is_local);
  ASSERT_NE(found, all.end());
  EXPECT_TRUE(found->loopback);
  EXPECT_TRUE(found->up);
  EXPECT_FALSE(found->name.empty());
  for (const Interface& one : all) EXPECT_EQ(one.address.port(), 0) << one.name;
}

TEST(Route, to_loopback_leaves_from_loopback) {
  EXPECT_EQ(to_string(route_to(address_of("127.0.0.1:4000"))), "127.0.0.1:0");
  EXPECT_EQ(to_string(route_to(address_of("127.0.0.1:0"))), "127.0.0.1:0");
  EXPECT_TRUE(contains(route_text(address_of("127.0.0.1:4000")), "127.0.0.1 on "));
  if (!has_v6()) GTEST_SKIP() << "this machine has no ::1";
  EXPECT_EQ(to_string(route_to(address_of("[::1]:4000"))), "[::1]:0");
}

TEST(Route, none_is_told) {
  const std::string got = problem_of([] { (void)route_to(Address()); });
  EXPECT_EQ(got.rfind("unavailable: no route to an unknown address: ", 0), 0U) << got;
  EXPECT_EQ(route_text(Address()), "");
}

}  // namespace
