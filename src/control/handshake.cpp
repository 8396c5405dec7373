#include "control/handshake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/codec.hpp"

namespace rondo::control {

using base::Reader;
using base::Writer;
using Bytes = std::span<const std::byte>;

namespace {

constexpr std::uint32_t magic = 0x6f646e72;  // "rndo"
constexpr std::uint8_t purposes = 5;

std::string hex(Bytes bytes) {
  std::string text;
  for (const std::byte each : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return text;
}

std::string printable(Bytes bytes) {
  std::string text;
  for (const std::byte each : bytes) {
    const auto c = std::to_integer<char>(each);
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

std::vector<std::byte> body_of(const Hello& hello) {
  std::vector<std::byte> body(Handshake::hello_bytes - Handshake::head_bytes);
  Writer writer(body);
  writer.put(static_cast<std::uint8_t>(hello.purpose));
  writer.put(std::uint8_t{0});
  writer.put(hello.index);
  writer.put(std::uint32_t{0});
  writer.put(std::int32_t{hello.rank});
  writer.put(std::int32_t{hello.size});
  writer.put(std::int32_t{hello.to});
  writer.put(hello.group);
  writer.put(hello.job);
  writer.put(hello.nonce);
  return body;
}

/// None when the bytes are no hello.
std::optional<Hello> parse_hello(std::uint16_t version, Bytes body) {
  Reader reader(body);
  Hello hello;
  hello.version = version;
  const auto purpose = reader.get<std::uint8_t>();
  const auto zero = reader.get<std::uint8_t>();
  hello.index = reader.get<std::uint16_t>();
  const auto zeros = reader.get<std::uint32_t>();
  hello.rank = reader.get<std::int32_t>();
  hello.size = reader.get<std::int32_t>();
  hello.to = reader.get<std::int32_t>();
  hello.group = reader.get<std::uint64_t>();
  std::ranges::copy(reader.bytes(hello.job.size()), hello.job.begin());
  std::ranges::copy(reader.bytes(hello.nonce.size()), hello.nonce.begin());
  if (purpose >= purposes || zero != 0 || zeros != 0) return std::nullopt;
  hello.purpose = static_cast<Purpose>(purpose);
  return hello;
}

/// What an acceptor says to an opener that has proved itself; Why::none when they fit.
Refusal judge(const Hello& acceptor, const Hello& opener) {
  const std::string here = name_of(acceptor.rank);
  if (acceptor.size != opener.size)
    return {Why::size, fmt::format("{} was started with size {}, {} with size {}", here, acceptor.size,
                                   name_of(opener.rank), opener.size)};
  if (opener.rank < 0 || opener.rank >= opener.size)
    return {Why::rank, fmt::format("rank {} says that it belongs to the job, but {} knows ranks 0 to {}",
                                   opener.rank, here, acceptor.size - 1)};
  if (opener.rank == acceptor.rank)
    return {Why::duplicate, fmt::format("two processes say that they are rank {}", acceptor.rank)};
  if (opener.to != no_rank && opener.to != acceptor.rank)
    return {Why::rank,
            fmt::format("rank {} looked for {} and found {}", opener.rank, name_of(opener.to), here)};
  return {};
}

}  // namespace

std::string_view to_string(Purpose purpose) noexcept {
  switch (purpose) {
    case Purpose::rendezvous:
      return "rendezvous";
    case Purpose::control:
      return "control";
    case Purpose::collective_lane:
      return "collective lane";
    case Purpose::segment:
      return "shared-memory";
    case Purpose::message_lane:
      return "message lane";
  }
  return "unknown";
}

std::string name_of(int rank) { return rank == no_rank ? "the launcher" : fmt::format("rank {}", rank); }

Hello hello_of(const Identity& identity, Purpose purpose) {
  Hello hello;
  hello.purpose = purpose;
  hello.rank = identity.rank;
  hello.size = identity.size;
  hello.job = identity.job;
  hello.nonce = random_nonce();
  return hello;
}

Handshake::Handshake(Role role, const Hello& mine, std::string secret)
    : role_(role), mine_(mine), secret_(std::move(secret)) {
  put_frame(Kind::hello, body_of(mine_));
  my_frame_ = out_;
  if (role_ == Role::acceptor) out_.clear();  // speaks when spoken to
}

std::size_t Handshake::wanted() const noexcept {
  if (state_ != State::talking) return 0;
  return (head_ ? head_bytes + head_->length : head_bytes) - in_.size();
}

std::size_t Handshake::feed(Bytes bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && wanted() > 0) {
    const Bytes piece = bytes.subspan(taken, std::min(wanted(), bytes.size() - taken));
    in_.insert(in_.end(), piece.begin(), piece.end());
    taken += piece.size();
    if (!head_ && in_.size() == head_bytes) take_head();
    if (head_ && state_ == State::talking && in_.size() == head_bytes + head_->length) take_body();
  }
  return taken;
}

void Handshake::take_head() {
  Reader reader(in_);
  const bool ours = reader.get<std::uint32_t>() == magic;
  Head head{};
  head.version = reader.get<std::uint16_t>();
  const auto kind = reader.get<std::uint8_t>();
  const auto zero = reader.get<std::uint8_t>();
  head.length = reader.get<std::uint16_t>();
  const auto zeros = reader.get<std::uint16_t>();
  if (!ours || zero != 0 || zeros != 0) return drop("it does not speak rondo's protocol");
  head.kind = static_cast<Kind>(kind);
  const bool verdict = kind == static_cast<std::uint8_t>(Kind::verdict);
  if (!verdict && kind != static_cast<std::uint8_t>(expected_)) return drop("it spoke out of turn");
  if (!verdict && head.version != mine_.version)
    return fail(Why::version, fmt::format("{} speaks version {} of the protocol, the other side version {}",
                                          name_of(mine_.rank), mine_.version, head.version));
  const std::size_t most = most_words + sizeof(std::uint16_t);
  const bool fits = verdict                    ? head.length >= sizeof(std::uint16_t) && head.length <= most
                    : head.kind == Kind::hello ? head.length == hello_bytes - head_bytes
                                               : head.length == proof_bytes - head_bytes;
  if (!fits) return drop("it sent a frame of a wrong length");
  head_ = head;
}

void Handshake::take_body() {
  const std::vector<std::byte> frame = std::exchange(in_, {});
  const Head head = *std::exchange(head_, std::nullopt);
  const Bytes body = Bytes(frame).subspan(head_bytes);
  switch (head.kind) {
    case Kind::hello:
      return take_hello(frame);
    case Kind::proof:
      return take_proof(body);
    case Kind::verdict:
      return take_verdict(body);
  }
}

void Handshake::take_hello(Bytes frame) {
  peer_ = parse_hello(mine_.version, frame.subspan(head_bytes));
  if (!peer_) return drop("it sent a hello that makes no sense");
  peer_frame_.assign(frame.begin(), frame.end());
  if (peer_->nonce == mine_.nonce) return drop("it sent back what it heard");
  if (peer_->job != mine_.job)
    return fail(Why::job, fmt::format("{} belongs to job {}, {} to job {}", name_of(mine_.rank),
                                      hex(mine_.job), name_of(peer_->rank), hex(peer_->job)));
  if (role_ == Role::acceptor) {
    out_.insert(out_.end(), my_frame_.begin(), my_frame_.end());
    put_proof();
  }
  expected_ = Kind::proof;
}

void Handshake::take_proof(Bytes body) {
  Proof proof;
  std::ranges::copy(body, proof.begin());
  const Role other = role_ == Role::opener ? Role::acceptor : Role::opener;
  if (!same(proof, proof_of(other)))
    return fail(Why::secret, fmt::format("{} and {} hold different secrets of the job", name_of(mine_.rank),
                                         name_of(peer_->rank)));
  proven_ = true;
  if (role_ == Role::opener) {
    put_proof();
    expected_ = Kind::verdict;
    return;
  }
  const Refusal refusal = judge(mine_, *peer_);
  if (refusal.why != Why::none) return fail(refusal.why, refusal.text);
  state_ = State::deciding;
}

void Handshake::take_verdict(Bytes body) {
  Reader reader(body);
  const auto code = reader.get<std::uint16_t>();
  if (code == 0) {
    if (expected_ != Kind::verdict || reader.remaining() > 0) return drop("it spoke out of turn");
    state_ = State::done;
    return;
  }
  const bool known = code <= static_cast<std::uint16_t>(Why::unexpected);
  refusal_ = {known ? static_cast<Why>(code) : Why::unexpected, printable(reader.bytes(reader.remaining()))};
  refused_by_peer_ = true;
  out_.resize(sent_);  // nobody listens any more
  state_ = State::failed;
}

void Handshake::put_frame(Kind kind, Bytes body) {
  const std::size_t before = out_.size();
  out_.resize(before + head_bytes + body.size());
  Writer writer{std::span(out_).subspan(before)};
  writer.put(magic);
  writer.put(mine_.version);
  writer.put(static_cast<std::uint8_t>(kind));
  writer.put(std::uint8_t{0});
  writer.put(static_cast<std::uint16_t>(body.size()));
  writer.put(std::uint16_t{0});
  writer.put(body);
}

void Handshake::put_proof() { put_frame(Kind::proof, proof_of(role_)); }

void Handshake::put_verdict(const Refusal& refusal) {
  std::vector<std::byte> body(sizeof(std::uint16_t) + refusal.text.size());
  Writer writer(body);
  writer.put(static_cast<std::uint16_t>(refusal.why));
  writer.put(std::as_bytes(std::span(refusal.text)));
  put_frame(Kind::verdict, body);
}

Proof Handshake::proof_of(Role role) const {
  const bool opens = role_ == Role::opener;
  const std::byte spoken_by{static_cast<unsigned char>(role)};
  return prove(secret_,
               {std::span(&spoken_by, 1), opens ? my_frame_ : peer_frame_, opens ? peer_frame_ : my_frame_});
}

void Handshake::welcome() {
  RONDO_INVARIANT(state_ == State::deciding);
  put_verdict({});
  state_ = State::done;
}

void Handshake::refuse(const Refusal& refusal) {
  RONDO_INVARIANT(state_ == State::deciding && refusal.why != Why::none);
  fail(refusal.why, refusal.text);
}

void Handshake::fail(Why why, const std::string& text) {
  refusal_ = {why, printable(std::as_bytes(std::span(text)).first(std::min(text.size(), most_words)))};
  put_verdict(refusal_);
  state_ = State::failed;
}

void Handshake::drop(const std::string& text) {
  refusal_ = {Why::stranger, text};
  out_.resize(sent_);
  state_ = State::failed;
}

Turn drive(Handshake& handshake, net::Stream& stream) {
  for (;;) {
    while (!handshake.outgoing().empty()) {
      const net::Moved moved = stream.writev(handshake.outgoing(), {});
      if (moved.state == net::Moved::State::closed) break;  // what it said before is still to be read
      if (moved.state == net::Moved::State::blocked) return Turn::blocked;
      handshake.sent(moved.bytes);
    }
    if (handshake.state() == Handshake::State::deciding) return Turn::waits;
    if (handshake.wanted() == 0) return handshake.outgoing().empty() ? Turn::over : Turn::closed;
    std::array<std::byte, Handshake::head_bytes + Handshake::most_words + 2> piece;
    const net::Moved moved = stream.read(std::span(piece).first(std::min(piece.size(), handshake.wanted())));
    if (moved.state == net::Moved::State::closed) return Turn::closed;
    if (moved.state == net::Moved::State::blocked) return Turn::blocked;
    handshake.feed(std::span(piece).first(moved.bytes));
  }
}

}  // namespace rondo::control
