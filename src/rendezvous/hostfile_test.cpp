#include "rendezvous/hostfile.hpp"

#include <gtest/gtest.h>

#include "base/problem.hpp"

namespace {

using rondo::base::Problem;
using rondo::rendezvous::check_ring;
using rondo::rendezvous::Hostfile;
using rondo::rendezvous::parse_hostfile;
using rondo::rendezvous::read_hostfile;
using rondo::rendezvous::to_string;

template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const Problem& problem) {
    EXPECT_EQ(problem.kind(), rondo::ErrorKind::invalid_argument);
    return problem.what();
  }
  return "accepted";
}

std::string refusal_of(const std::string& text) {
  return refusal([&] { (void)parse_hostfile(text, "h"); });
}

std::string ring_refusal(const std::string& text, int rank) {
  return refusal([&] { check_ring(parse_hostfile(text, "h"), rank); });
}

TEST(Hostfile, every_form_of_mlx) {
  const Hostfile file =
      parse_hostfile(R"([["10.0.0.1:4000", "[fd00::1]:4001"], "host-b:5000", ["0.0.0.0:6000"]])", "h");
  ASSERT_EQ(file.size(), 3);
  EXPECT_EQ(to_string(file.ranks[0].at(0)), "10.0.0.1:4000");
  EXPECT_EQ(to_string(file.ranks[0].at(1)), "[fd00::1]:4001");
  EXPECT_EQ(to_string(file.ranks[1].at(0)), "host-b:5000");
  EXPECT_EQ(to_string(file.ranks[2].at(0)), "0.0.0.0:6000");
  EXPECT_EQ(parse_hostfile(R"(["a:1","b:2"])", "h").size(), 2);
}

TEST(Hostfile, what_is_not_a_hostfile_is_told_by_file_entry_and_value) {
  EXPECT_EQ(refusal_of(" \n"), "hostfile \"h\": it is empty, expected a JSON array with one item per rank");
  EXPECT_EQ(refusal_of("[1e999]"), "hostfile \"h\": a number in it is out of range");
  EXPECT_EQ(refusal_of("[\"a:1\",").find("hostfile \"h\": it is not JSON (byte "), 0U);
  EXPECT_EQ(refusal_of(R"({"b":"x:1"})"),
            "hostfile \"h\": it holds {\"b\":\"x:1\"}, expected an array with one item per rank");
  EXPECT_EQ(refusal_of("[]"), "hostfile \"h\": it holds [], expected at least one rank");
  EXPECT_EQ(refusal_of(R"(["a:1", []])"), "hostfile \"h\": entry 1 is [], expected at least one address");
  EXPECT_EQ(refusal_of(R"(["a:1", 7])"), "hostfile \"h\": entry 1 is 7, expected \"host:port\"");
  EXPECT_EQ(refusal_of(R"([["a:1", null]])"),
            "hostfile \"h\": entry 0, address 1 is null, expected \"host:port\"");
  EXPECT_EQ(refusal_of(R"([{"ssh":"a"}])"),
            "hostfile \"h\": entry 0 is {\"ssh\":\"a\"}: this is a hostfile for a launcher, expected "
            "\"host:port\"");
  const std::string port = refusal_of(R"(["a:1", "b:70000"])");
  EXPECT_NE(port.find("hostfile \"h\": entry 1: "), std::string::npos) << port;
  EXPECT_NE(port.find("b:70000"), std::string::npos) << port;
}

TEST(Hostfile, a_file_that_cannot_be_read_is_named_with_the_cause) {
  EXPECT_EQ(refusal([] { (void)read_hostfile("/nowhere/at/all"); }),
            "hostfile \"/nowhere/at/all\": it cannot be read: No such file or directory");
  EXPECT_EQ(refusal([] { (void)read_hostfile("/"); }), "hostfile \"/\": it cannot be read: Is a directory");
}

TEST(Hostfile, a_rank_needs_its_place_and_equal_neighbours) {
  const std::string three = R"([["a:1","a:2"], ["b:1","b:2"], ["c:1"]])";
  EXPECT_EQ(ring_refusal(three, 3), "hostfile \"h\": rank 3 is outside it: it holds ranks 0 to 2");
  EXPECT_EQ(ring_refusal(R"(["a:1"])", 1), "hostfile \"h\": rank 1 is outside it: it holds rank 0 only");
  EXPECT_EQ(ring_refusal(three, 1),
            "hostfile \"h\": entry 1 has 2 addresses and entry 2 has 1, expected equally many");
  EXPECT_EQ(ring_refusal(R"(["a:1","b:0","c:1"])", 0),
            "hostfile \"h\": entry 1, address 0: \"b:0\" has port 0, expected 1 to 65535");
  EXPECT_EQ(ring_refusal(R"(["a:1","b:1","c:1","a:1"])", 3),
            "hostfile \"h\": \"a:1\" is entry 3, address 0 and entry 0, address 0 as well");
}

TEST(Hostfile, files_for_one_rank_hold_placeholders_for_ranks_that_it_never_calls) {
  // Rank 1 of 6: only 0 and 2 are its neighbours.
  EXPECT_EQ(ring_refusal(R"(["10.0.0.1:4000","0.0.0.0:4000","10.0.0.3:4000","198.51.100.1:0",
                             "198.51.100.1:0",["198.51.100.1:0","198.51.100.1:0"]])",
                         1),
            "accepted");
}

}  // namespace
