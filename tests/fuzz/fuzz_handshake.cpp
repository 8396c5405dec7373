// Bytes of a stranger, and changes to what two honest sides say, fed to handshakes. Whatever they are: no
// crash, bounded answers, and nobody is believed whose bytes have been changed.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/codec.hpp"
#include "control/handshake.hpp"

namespace {

using namespace rondo::control;
using rondo::base::Problem;
using rondo::base::Reader;
using Role = Handshake::Role;
using State = Handshake::State;

constexpr std::size_t most_said =
    Handshake::hello_bytes + Handshake::proof_bytes + Handshake::head_bytes + 2 + Handshake::most_words;

void require(bool condition) {
  if (!condition) std::abort();
}

/// Always the same, so that a seed may hold an answer to it.
Hello hello(int rank) {
  Hello made;
  made.rank = rank;
  made.size = 3;
  made.job.fill(std::byte{'j'});
  made.nonce.fill(static_cast<std::byte>('a' + rank));
  return made;
}

void check(const Handshake& side) {
  require(side.outgoing().size() <= most_said);
  require(side.wanted() <= Handshake::head_bytes + 2 + Handshake::most_words);
  const Refusal& refusal = side.refusal();
  require((side.state() == State::failed) == (refusal.why != Why::none));
  require(side.state() == State::talking || side.wanted() == 0);
  require(refusal.text.size() <= Handshake::most_words);
  require(std::ranges::all_of(refusal.text, [](char c) { return c >= ' ' && c <= '~'; }));
  if (side.state() == State::deciding || side.state() == State::done) require(side.proven());
  if (side.proven()) require(side.peer().has_value());
}

/// One side hears the input, in pieces of a length that its first byte says.
void hear(Role role, std::span<const std::byte> input) {
  if (input.empty()) return;
  const std::size_t piece = 1 + std::to_integer<std::size_t>(input.front());
  input = input.subspan(1);
  Handshake side(role, hello(role == Role::opener ? 2 : 0), "secret");
  while (!input.empty()) {
    const auto now = input.first(std::min(piece, input.size()));
    const std::size_t taken = side.feed(now);
    require(taken <= now.size());
    check(side);
    if (side.state() == State::deciding) side.refuse({Why::unexpected, "not now"});
    if (taken < now.size()) require(side.wanted() == 0);
    input = input.subspan(now.size());
  }
}

/// Two honest sides; the input says how long pieces are and what is changed on the way.
class Conversation {
 public:
  explicit Conversation(std::span<const std::byte> input) : input_(input) {}

  void run() {
    for (bool moved = true; moved;) {
      moved = move(opener_, acceptor_, changed_to_acceptor_);
      moved = move(acceptor_, opener_, changed_to_opener_) || moved;
      if (acceptor_.state() == State::deciding) {
        acceptor_.welcome();
        moved = true;
      }
    }
    if (changed_to_acceptor_) require(acceptor_.state() != State::done);
    if (!changed_to_acceptor_ && !changed_to_opener_) {
      require(opener_.state() == State::done && acceptor_.state() == State::done);
      require(opener_.peer() == acceptor_.mine() && acceptor_.peer() == opener_.mine());
    }
    if (opener_.proven()) require(opener_.peer() == acceptor_.mine());
    if (acceptor_.proven()) require(acceptor_.peer() == opener_.mine());
  }

 private:
  std::uint8_t byte() { return input_.remaining() > 0 ? input_.get<std::uint8_t>() : 0; }

  bool move(Handshake& from, Handshake& to, bool& changed) {
    const auto out = from.outgoing();
    if (out.empty()) return false;
    const std::uint8_t length = byte();
    const auto piece = out.first(length == 0 ? out.size() : std::min<std::size_t>(length, out.size()));
    std::vector<std::byte> bytes(piece.begin(), piece.end());
    from.sent(bytes.size());
    if (const std::uint8_t change = byte(); change != 0) {
      bytes[byte() % bytes.size()] ^= static_cast<std::byte>(change);
      changed = true;
    }
    (void)to.feed(bytes);
    check(from);
    check(to);
    return true;
  }

  Reader input_;
  Handshake opener_{Role::opener, hello(2), "secret"};
  Handshake acceptor_{Role::acceptor, hello(0), "secret"};
  bool changed_to_acceptor_ = false;
  bool changed_to_opener_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  hear(Role::acceptor, input);
  hear(Role::opener, input);
  Conversation(input).run();
  return 0;
}
