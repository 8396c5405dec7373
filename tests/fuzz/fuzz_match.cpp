// Frames of a peer that says anything at any time, fed to Match. Whatever they are: no crash, no hang, no
// more memory than the credit allows, and nothing worse than an end of the group that names the peer.
// Transfers of our own are started, finished and taken back in between, and their memory is freed at once.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/codec.hpp"
#include "base/sim_scheduler.hpp"
#include "transport/match.hpp"
#include "transport/transport_fake.hpp"

namespace {

using namespace rondo::transport;
using rondo::DType;
using rondo::base::Deadline;
using rondo::base::Problem;
using rondo::base::Reader;
using Bytes = std::vector<std::byte>;

constexpr int ranks = 3;
constexpr std::size_t most_bytes = 31 * 31 * 8;  // of a message that this file makes
constexpr Match::Options options{.eager_bytes = 64, .credit_bytes = 1024, .check_payload = false};

void require(bool condition) {
  if (!condition) std::abort();
}

/// A transfer with memory of its own, so that touching it too late is seen by the address sanitizer.
template <class Kind>
struct Transfer {
  explicit Transfer(std::size_t bytes) : memory(bytes, std::byte{0x5a}) {}
  Bytes memory;
  Kind kind;
};

class Session {
 public:
  explicit Session(std::span<const std::byte> input) : input_(input) { progress_.add(wires_); }

  ~Session() {
    for (auto& each : sendings_) match_.cancel(each->kind);
    for (auto& each : receivings_) match_.cancel(each->kind);
  }

  void run() {
    while (input_.remaining() > 0 && !wires_.failed()) {
      try {
        step(input_.get<std::uint8_t>());
      } catch (const Problem& problem) {
        // Input used up, or what a call may say.
        require(problem.kind() == rondo::ErrorKind::disconnected ||
                problem.kind() == rondo::ErrorKind::mismatch ||
                problem.kind() == rondo::ErrorKind::timed_out);
      }
      check_replies();
    }
    if (wires_.failed()) {
      const rondo::Failure failure = *wires_.failure();
      require(failure.kind == rondo::ErrorKind::disconnected);
      require(failure.rank > 0 && failure.rank < ranks && !failure.text.empty());
    }
  }

 private:
  std::uint8_t byte() { return input_.get<std::uint8_t>(); }
  int peer() { return 1 + byte() % (ranks - 1); }
  int tag() { return byte() % 4 - 1; }

  Envelope envelope() {
    Envelope made;
    made.dtype = static_cast<DType>(byte() % 4);
    made.dims.size = byte() % 3;
    std::size_t count = 1;
    for (int i = 0; i < made.dims.size; ++i) {
      const std::uint8_t extent = byte() % 32;
      made.dims.value[static_cast<std::size_t>(i)] = extent;
      count *= extent;
    }
    made.bytes = count * size_of(made.dtype);
    return made;
  }

  void step(std::uint8_t what) {
    switch (what % 16) {
      case 0:
        start_receive();
        return;
      case 1:
        start_send();
        return;
      case 2:
        end(receivings_, byte());
        return;
      case 3:
        end(sendings_, byte());
        return;
      case 4:
        wires_.hold();
        return;
      case 5:
        wires_.let_go();
        return;
      case 6:
        wires_.begin();
        return;
      case 7:
        look();
        return;
      case 8:
        hear_goodbye();
        return;
      case 9:
        finish_frame(peer());
        return;
      default:
        hear(what / 16);
    }
  }

  void start_receive() {
    const int from = byte() % 4 == 0 ? rondo::any_source : peer();
    Envelope expected = envelope();
    expected.tag = tag();
    auto made = std::make_unique<Transfer<Receiving>>(expected.bytes);
    receivings_started_ = true;
    match_.start(made->kind, from, expected, made->memory);
    receivings_.push_back(std::move(made));
  }

  void start_send() {
    const int to = peer();
    Envelope of = envelope();
    of.tag = byte() % 3;
    auto made = std::make_unique<Transfer<Sending>>(of.bytes);
    match_.start(made->kind, to, of, made->memory);
    sendings_.push_back(std::move(made));
  }

  template <class List>
  void end(List& list, std::uint8_t choice) {
    if (list.empty()) return;
    const auto at = list.begin() + static_cast<std::ptrdiff_t>(choice / 2 % list.size());
    const auto ended = std::move(*at);
    list.erase(at);
    if (choice % 2 == 0) {
      match_.cancel(ended->kind);
    } else {
      Deadline deadline(clock_, std::chrono::milliseconds(1));
      match_.wait(ended->kind, deadline);
    }
  }

  void look() {
    const int from = byte() % 2 == 0 ? rondo::any_source : peer();
    const auto found = match_.look(from, tag());
    require(!found || (found->source > 0 && found->source < ranks));
  }

  void hear_goodbye() {
    const int from = peer();
    if (under_way_[from]) return;
    match_.departed(from);
    gone_[from] = true;
  }

  /// The header of a frame, as likely to be right as not, and perhaps its payload.
  void hear(int how) {
    constexpr FrameKind kinds[] = {
        FrameKind::eager, FrameKind::offer, FrameKind::accept, FrameKind::refuse, FrameKind::withdraw,
        FrameKind::gone,  FrameKind::data,  FrameKind::credit, FrameKind::part,   FrameKind::presence};
    const int from = peer();
    if (under_way_[from] || gone_[from]) return;  // the wire does not let such frames through
    Header header;
    header.lane = Lane::message;
    header.kind = kinds[byte() % std::size(kinds)];
    const Envelope of = envelope();
    header.dtype = of.dtype;
    header.dims = of.dims;
    header.root_or_tag = byte() % 3;
    header.number = byte() % 8;
    header.count = of.bytes;
    if (header.kind == FrameKind::eager || header.kind == FrameKind::data) header.bytes = of.bytes;
    if (header.kind == FrameKind::refuse) header.bytes = byte();
    if (how % 8 == 1) header.bytes = input_.get<std::uint64_t>();
    if (how % 8 == 2) header.count = input_.get<std::uint64_t>();
    if (how % 8 == 3) header.dims.value[0] = static_cast<std::int64_t>(input_.get<std::uint64_t>() >> 1U);
    if (how % 8 == 4) header.payload_hash = byte();
    arrive(from, header, how >= 8);
  }

  void arrive(int from, const Header& header, bool in_pieces) {
    const Landing landing = match_.arriving(from, header);
    if (landing.verdict == Landing::Verdict::take) {
      require(landing.memory.size() == header.bytes);  // the transport's contract
      if (header.kind == FrameKind::eager) kept_[from] += charge_of(header.bytes);
    } else {
      require(landing.verdict == Landing::Verdict::drain);
    }
    // Until the first receive all of it is kept; afterwards who keeps what is Match's secret.
    require(receivings_started_ || kept_[from] <= options.credit_bytes);
    require(header.bytes <= most_bytes || landing.verdict == Landing::Verdict::drain);
    (void)wires_.drained(from);
    under_way_[from] = std::make_unique<UnderWay>(UnderWay{header, landing.memory});
    if (!in_pieces) finish_frame(from);
  }

  void finish_frame(int from) {
    if (!under_way_[from]) return;
    const auto frame = std::move(under_way_[from]);
    // Memory that has been taken back is not written, as on real wires.
    if (!wires_.drained(from) && !frame->memory.empty()) {
      std::memset(frame->memory.data(), from, frame->memory.size());
    }
    match_.arrived(from, frame->header);
  }

  void check_replies() {
    for (const FakeTransport::Posted& each : wires_.take()) {
      require(each.to > 0 && each.to < ranks);
      require(each.header.lane == Lane::message && each.header.bytes == each.payload.size());
      if (each.header.kind == FrameKind::refuse) require(each.payload.size() <= most_words);
      require(each.header.sequence >= sequence_[each.to]);  // skips stand for those in between
      sequence_[each.to] = each.header.sequence + 1;
    }
  }

  struct UnderWay {
    Header header;
    std::span<std::byte> memory;
  };

  Reader input_;
  rondo::base::SimScheduler clock_{1};
  rondo::base::Event bell_{clock_};
  Progress progress_{bell_, 1};
  FakeTransport wires_{0, ranks};
  Match match_{progress_, wires_, options};
  std::vector<std::unique_ptr<Transfer<Sending>>> sendings_;
  std::vector<std::unique_ptr<Transfer<Receiving>>> receivings_;
  std::unique_ptr<UnderWay> under_way_[ranks];
  bool gone_[ranks] = {};
  bool receivings_started_ = false;
  std::size_t kept_[ranks] = {};
  std::uint32_t sequence_[ranks] = {};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Session(std::as_bytes(std::span(data, size))).run();
  return 0;
}
