// Prints what the book shows of the code: bytes as the real encoders write them, and tables. check.py
// compares it with the pages.
//   dumps NAME    one of the names in main

#include <fmt/format.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/config_parse.hpp"
#include "collective/select.hpp"
#include "control/handshake.hpp"
#include "control/watcher.hpp"
#include "rendezvous/file_record.hpp"
#include "rendezvous/star_frames.hpp"
#include "transport/header.hpp"
#include "transport/shm/layout.hpp"

namespace {

using namespace rondo;
using Bytes = std::span<const std::byte>;

struct Field {
  std::size_t bytes;
  std::string what;
};

// A line for every field: offset, bytes, meaning. The fields must cover all of the bytes.
std::string dump(Bytes bytes, const std::vector<Field>& fields) {
  constexpr std::size_t per_line = 8;
  std::string text;
  std::size_t at = 0;
  for (const Field& field : fields) {
    if (at + field.bytes > bytes.size()) throw std::logic_error("no bytes left for " + field.what);
    for (std::size_t done = 0; done < field.bytes; done += per_line) {
      std::string hex;
      for (const std::byte each : bytes.subspan(at + done, std::min(per_line, field.bytes - done)))
        hex += fmt::format("{:02x} ", std::to_integer<int>(each));
      if (done == 0)
        text += fmt::format("{:4}  {:<24}  {}\n", at, hex, field.what);
      else
        text += fmt::format("{:4}  {}\n", at + done, hex.substr(0, hex.size() - 1));
    }
    at += field.bytes;
  }
  if (at != bytes.size()) throw std::logic_error(fmt::format("{} bytes are not told", bytes.size() - at));
  return text;
}

// ---- handshake

std::array<std::byte, 16> counted_from(int first) {
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return bytes;
}

std::vector<Field> head(const std::string& kind, const std::string& length) {
  return {{4, "magic \"rndo\""}, {2, "version"},           {1, "kind: " + kind},
          {1, "zero"},           {2, "length: " + length}, {2, "zero"}};
}

std::vector<Field> joined(std::vector<Field> a, const std::vector<Field>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Field> hello_fields(const std::string& rank, const std::string& to) {
  return joined(head("hello", "60"), {{1, "purpose: control"},
                                      {1, "zero"},
                                      {2, "index"},
                                      {4, "zero"},
                                      {4, "rank: " + rank},
                                      {4, "size: 2"},
                                      {4, "to: " + to},
                                      {8, "group: 0, the job's own"},
                                      {16, "job"},
                                      {16, "nonce"}});
}

// What one side has to say now, as it goes to the other.
std::vector<std::byte> passed(control::Handshake& from, control::Handshake& to) {
  const std::vector<std::byte> bytes(from.outgoing().begin(), from.outgoing().end());
  from.sent(bytes.size());
  to.feed(bytes);
  return bytes;
}

control::Hello hello_of(int rank, int to, int nonce) {
  control::Hello hello;
  hello.purpose = control::Purpose::control;
  hello.rank = rank;
  hello.size = 2;
  hello.to = to;
  hello.job = control::job_of("127.0.0.1:4400");
  hello.nonce = counted_from(nonce);
  return hello;
}

std::string handshake() {
  using control::Handshake;
  const std::vector<Field> proof = joined(head("proof", "32"), {{32, "HMAC-SHA256"}});
  Handshake opener(Handshake::Role::opener, hello_of(1, 0, 0x10), "the job's secret");
  Handshake acceptor(Handshake::Role::acceptor, hello_of(0, -1, 0x80), "the job's secret");
  std::string text = "opener, rank 1: hello\n" + dump(passed(opener, acceptor), hello_fields("1", "0"));
  text += "\nacceptor, rank 0: hello and proof\n" +
          dump(passed(acceptor, opener), joined(hello_fields("0", "-1, whoever answers"), proof));
  text += "\nopener: proof\n" + dump(passed(opener, acceptor), proof);
  acceptor.welcome();
  text += "\nacceptor: verdict\n" +
          dump(passed(acceptor, opener), joined(head("verdict", "2"), {{2, "code: 0, welcome"}}));
  if (opener.state() != Handshake::State::done) throw std::logic_error("the handshake did not end well");
  return text;
}

std::string refusal() {
  using control::Handshake;
  Handshake opener(Handshake::Role::opener, hello_of(1, 0, 0x10), "a secret");
  Handshake acceptor(Handshake::Role::acceptor, hello_of(0, -1, 0x80), "another secret");
  passed(opener, acceptor);
  passed(acceptor, opener);
  const std::size_t words = opener.refusal().text.size();
  return dump(passed(opener, acceptor),
              joined(head("verdict", fmt::format("{}", 2 + words)),
                     {{2, "code: 4, another secret"}, {words, opener.refusal().text}}));
}

// ---- frames of a group

std::vector<std::byte> frame(const transport::Header& header, Bytes payload) {
  transport::HeaderBytes bytes;
  const std::size_t length = encode(header, bytes);
  std::vector<std::byte> all(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
  all.insert(all.end(), payload.begin(), payload.end());
  return all;
}

std::vector<Field> header_fields(const std::array<std::string, 15>& what) {
  return {{2, "magic \"RD\""},
          {1, "version"},
          {1, "lane and kind: " + what[0]},
          {1, "verb: " + what[1]},
          {1, "reduction: " + what[2]},
          {1, "dtype: " + what[3]},
          {1, "dims: " + what[4]},
          {4, "sequence: " + what[5]},
          {4, "part: " + what[6]},
          {8, "number: " + what[7]},
          {4, what[8]},
          {4, "check"},
          {8, "count: " + what[9]},
          {8, "bytes: " + what[10]},
          {8, "name hash: " + what[11]},
          {8, "payload hash: " + what[12]}};
}

std::string collective_frame() {
  const std::array<float, 3> values = {1.5F, -2.0F, 0.25F};
  transport::Header header;
  header.lane = transport::Lane::collective;
  header.kind = transport::FrameKind::part;
  header.verb = transport::Verb::all_reduce;
  header.op = ReduceOp::sum;
  header.dtype = DType::float32;
  header.sequence = 5;
  header.part = 0;
  header.number = 12;
  header.root_or_tag = -1;
  header.count = values.size();
  header.bytes = sizeof(values);
  const Bytes payload = std::as_bytes(std::span(values));
  header.payload_hash = transport::payload_hash(payload);
  return dump(frame(header, payload),
              joined(header_fields({"collective, part", "all_reduce", "sum", "float32", "0", "5", "0", "12",
                                    "root: -1, none", "3 elements", "12", "0, no name and no counts",
                                    "with RONDO_CHECK=payload; else 0"}),
                     {{12, "payload: 1.5, -2, 0.25"}}));
}

std::string message_frame() {
  const std::array<std::int16_t, 6> values = {1, 2, 3, -1, -2, -3};
  transport::Header header;
  header.lane = transport::Lane::message;
  header.kind = transport::FrameKind::eager;
  header.dtype = DType::int16;
  header.sequence = 2;
  header.root_or_tag = 7;
  header.count = header.bytes = sizeof(values);
  header.dims.size = 2;
  header.dims.value[0] = 2;
  header.dims.value[1] = 3;
  return dump(
      frame(header, std::as_bytes(std::span(values))),
      joined(header_fields({"message, eager", "none", "unused", "int16", "2", "2", "0", "0, no offer",
                            "tag: 7", "12 bytes of the message", "12", "0", "0"}),
             {{8, "extent of axis 0: 2"}, {8, "extent of axis 1: 3"}, {12, "payload: 1, 2, 3, -1, -2, -3"}}));
}

template <class Value>
std::string numbered(int count, const std::function<std::string(Value)>& name) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::string item = fmt::format("{} {}", i, name(static_cast<Value>(i)));
    const std::size_t line = text.size() - (text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
    if (i > 0) text += line + item.size() > 96 ? ",\n" : ", ";
    text += item;
  }
  return text + "\n";
}

std::string codes() {
  using transport::Verb;
  return "verb\n" +
         numbered<Verb>(static_cast<int>(Verb::plan) + 1, [](Verb v) { return std::string(to_string(v)); }) +
         "\ndtype\n" + numbered<DType>(dtype_count, [](DType d) { return std::string(to_string(d)); }) +
         "\nreduction\n" +
         numbered<ReduceOp>(reduce_op_count, [](ReduceOp o) { return std::string(to_string(o)); }) +
         "\nkind of an error\n" +
         numbered<ErrorKind>(static_cast<int>(ErrorKind::aborted) + 1,
                             [](ErrorKind k) { return std::string(to_string(k)); });
}

// ---- control connections

// Everything that a watcher says to the peer at the other end of a pair of sockets.
std::vector<std::byte> words_of_a_watcher() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
    throw std::runtime_error("no pair of sockets");
  net::SocketStream there{base::Fd(fds[1])};
  {
    control::Identity identity;
    identity.rank = 0;
    identity.size = 3;
    control::Watcher watcher(identity, {}, [](const std::string&) {});
    watcher.watch(1, net::SocketStream(base::Fd(fds[0])));
    const std::array<int, 1> ranks = {1};
    watcher.announce(0x1122334455667788, ranks, Failure{ErrorKind::aborted, 2, "out of data"});
    watcher.tell_lost(2, "exit status 3");
    watcher.want_wire(0x1122334455667788, 1);
    watcher.tell_left(0x1122334455667788, 1);
  }  // it says that it leaves
  std::array<std::byte, 4096> bytes;
  const net::Moved moved = there.read(bytes);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(moved.bytes)};
}

std::string control_frames() {
  const auto head_of = [](const std::string& kind, int length) {
    return std::vector<Field>{{1, "kind: " + kind}, {2, fmt::format("length: {}", length)}};
  };
  const std::vector<std::pair<std::size_t, std::vector<Field>>> frames = {
      {27, joined(head_of("1, ended", 24),
                  {{8, "group"}, {1, "kind of the error: aborted"}, {4, "rank: 2"}, {11, "out of data"}})},
      {20, joined(head_of("3, lost", 17), {{4, "rank: 2"}, {13, "exit status 3"}})},
      {11, joined(head_of("4, wire wanted", 8), {{8, "group"}})},
      {11, joined(head_of("5, left", 8), {{8, "group"}})},
      {3, head_of("2, leaving", 0)},
  };
  const std::vector<std::byte> all = words_of_a_watcher();
  std::string text;
  std::size_t at = 0;
  for (const auto& [bytes, fields] : frames) {
    if (at + bytes > all.size()) throw std::logic_error("the watcher said less");
    text += (at > 0 ? "\n" : "") + dump(Bytes(all).subspan(at, bytes), fields);
    at += bytes;
  }
  if (at != all.size()) throw std::logic_error("the watcher said more");
  return text;
}

// ---- rendezvous

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string star() {
  using rendezvous::StarFrame;
  const auto fields = [](const std::string& kind, const std::string& code, const std::string& rank,
                         std::size_t length, const std::string& words) {
    std::vector<Field> all = {{4, "magic \"star\""},
                              {1, "kind: " + kind},
                              {1, "code: " + code},
                              {2, "zero"},
                              {4, "exchange: 1"},
                              {4, "rank: " + rank},
                              {4, fmt::format("length: {}", length)}};
    if (length > 0) all.push_back({length, words});
    return all;
  };
  StarFrame blob;
  blob.exchange = 1;
  blob.rank = 1;
  blob.words = "ten bytes.";
  StarFrame roll;
  roll.exchange = 1;
  roll.kind = StarFrame::Kind::roll;
  roll.words = "2 of 3 joined, missing rank 2";
  const StarFrame failed =
      rendezvous::failed_frame(1, base::Problem(ErrorKind::disconnected, 2, "rank 2 left during set-up"));
  StarFrame leave;
  leave.exchange = 1;
  leave.kind = StarFrame::Kind::leave;
  return dump(bytes_of(encode(blob)), fields("1, blob", "0", "1", blob.words.size(), blob.words)) + "\n" +
         dump(bytes_of(encode(roll)), fields("2, roll", "0", "-1", roll.words.size(), roll.words)) + "\n" +
         dump(bytes_of(encode(failed)),
              fields("3, failed", "3, disconnected", "2", failed.words.size(), failed.words)) +
         "\n" + dump(bytes_of(encode(leave)), fields("4, leave", "0", "-1", 0, ""));
}

std::string file() {
  rendezvous::FileRecord record;
  record.exchange = 1;
  record.rank = 1;
  record.nonce = counted_from(0x10);
  record.seen = {counted_from(0x80), {}};
  record.blob = "ten bytes.";
  const std::string text = encode(record, control::job_of("file:/shared/meet"), "the job's secret");
  return dump(bytes_of(text), {{4, "magic \"file\""},
                               {2, "version"},
                               {2, "flags: 1 once all others have been read"},
                               {4, "exchange: 1"},
                               {4, "rank: 1"},
                               {4, "size: 2"},
                               {4, "bytes of the blob: 10"},
                               {16, "nonce of this process"},
                               {16, "nonce seen of rank 0"},
                               {16, "nonce seen of rank 1: none yet"},
                               {10, "ten bytes."},
                               {32, "HMAC-SHA256"}});
}

// ---- shared memory

// As docs/protocol.md has them.
static_assert(offsetof(transport::RingState, writer_closed) == 8 &&
              offsetof(transport::RingState, read) == 64 &&
              offsetof(transport::RingState, reader_closed) == 72 &&
              offsetof(transport::RingState, writer_waits) == 73);
static_assert(offsetof(transport::Note, stamp) == 8 && offsetof(transport::Stamp, verb) == 8 &&
              offsetof(transport::Stamp, dtype) == 9 && offsetof(transport::Stamp, op) == 10 &&
              offsetof(transport::Stamp, root) == 12 && offsetof(transport::Stamp, count) == 16 &&
              offsetof(transport::Stamp, name_hash) == 24 && sizeof(transport::Stamp) == 32);
static_assert(offsetof(base::Bell, epoch) == 0 && offsetof(base::Bell, sleepers) == 4);

std::string segments() {
  using namespace transport::shm;
  const JobLayout job{2, std::size_t{1} << 30};
  const GroupLayout group{2, std::size_t{1024} * 1024};
  std::string text = "segment of a job of 2 ranks, in a machine of 1 GiB\n";
  const auto row = [&](std::size_t at, const std::string& what) {
    text += fmt::format("{:8}  {}\n", at, what);
  };
  row(0, "token");
  for (std::size_t r = 0; r < 2; ++r) row(job.bell(r), fmt::format("bell of rank {}", r));
  for (std::size_t r = 0; r < 2; ++r) row(job.heap(r), fmt::format("heap of rank {}", r));
  row(job.bytes(), "end");
  text += "\nsegment of a group of 2 ranks with an arena of 1 MiB each\n";
  row(0, "token");
  row(failed_at, "1 once a rank has failed the group");
  for (std::size_t r = 0; r < 2; ++r)
    row(group.published(r), fmt::format("two notes and the step of rank {}", r));
  for (std::size_t r = 0; r < 2; ++r) row(group.door(r), fmt::format("door of rank {}", r));
  const auto each_ring = [&](const std::function<void(std::size_t, std::string)>& print) {
    for (std::size_t from = 0; from < 2; ++from)
      for (std::size_t to = 0; to < 2; ++to)
        for (std::size_t lane = 0; lane < 2; ++lane)
          if (from != to)
            print(group.ring_index(from, to, lane),
                  fmt::format("rank {} to rank {}, {} lane", from, to, lane == 0 ? "collective" : "message"));
  };
  each_ring([&](std::size_t index, const std::string& what) {
    row(group.ring_state(index), "counts of the ring from " + what);
  });
  for (std::size_t r = 0; r < 2; ++r) row(group.slot(r), fmt::format("slot of rank {}", r));
  row(group.reserved(), "end of what is reserved at once");
  each_ring([&](std::size_t index, const std::string& what) { row(group.ring(index), "ring from " + what); });
  row(group.bytes(), "end");
  return text;
}

// ---- tables

std::string settings() {
  std::string text = "| variable | in `Config` | values | default | what |\n|---|---|---|---|---|\n";
  for (const base::SettingInfo& each : base::describe_settings()) {
    const std::string value = !each.default_value           ? "not set"
                              : each.default_value->empty() ? "none"
                                                            : "`" + *each.default_value + "`";
    text += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", each.name, each.field, each.expected, value,
                        each.what);
  }
  return text;
}

std::string selection() { return to_string(collective::default_table()); }

const std::map<std::string, std::string (*)()>& sections() {
  static const std::map<std::string, std::string (*)()> all = {{"handshake", handshake},
                                                               {"refusal", refusal},
                                                               {"collective_frame", collective_frame},
                                                               {"codes", codes},
                                                               {"control_frames", control_frames},
                                                               {"message_frame", message_frame},
                                                               {"star", star},
                                                               {"file", file},
                                                               {"segments", segments},
                                                               {"settings", settings},
                                                               {"selection", selection}};
  return all;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto at = argc == 2 ? sections().find(argv[1]) : sections().end();
  if (at == sections().end()) {
    fmt::print(stderr, "usage: dumps NAME, one of:");
    for (const auto& [name, make] : sections()) fmt::print(stderr, " {}", name);
    fmt::print(stderr, "\n");
    return 2;
  }
  fmt::print("{}", at->second());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "dumps: %s\n", error.what());
  return 1;
}
