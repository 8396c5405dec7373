#pragma once
/// Frames over byte streams, one stream per (peer, lane): what sim, tcp and shared-memory rings have in
/// common. A stream may come late: it is asked for when there is a frame for it.

#include <array>
#include <memory>
#include <vector>

#include "net/stream.hpp"
#include "transport/transport.hpp"

namespace rondo::transport {

/// Leaves to its kinds: where streams come from, how a failure spreads, the arena, sub-groups.
class FramedTransport : public Transport {
 public:
  /// One stream per lane of a peer; the entry of the own rank is empty, as are those of wires that are made
  /// when they are wanted.
  using Streams = std::vector<std::array<std::unique_ptr<net::Stream>, lane_count>>;

  FramedTransport(int rank, Streams streams);
  ~FramedTransport() override;

  int rank() const noexcept final { return rank_; }
  int size() const noexcept final { return static_cast<int>(links_.size()); }
  void attach(Lane lane, Receiver& receiver) final;
  void post(Outgoing& outgoing) final;
  bool cancel(Outgoing& outgoing) final;
  void drain(int peer, Lane lane) final;
  bool poll() override;
  bool poll(int peer, Lane lane) final;
  void append_polled(std::vector<pollfd>& polled) const final;
  bool flushed() const final;
  void cut(int peer) final;

 protected:
  /// A wire has ended without a goodbye, or what came over it makes no sense. Ends the group; kinds may look
  /// for the first cause before.
  virtual void broken(Lane lane, const Failure& cause);
  /// True when the peer has said goodbye: on this lane; on all lanes that have carried anything.
  bool has_departed(int peer, Lane lane) const noexcept;
  bool has_departed(int peer) const noexcept;

  // Wires that are made when they are wanted: kinds that have them override the first two, and call the
  // others.

  /// The first frame for a wire that is not there: made() or not_made() follows, later. Does not wait.
  virtual void want(int peer, Lane lane);
  /// Instead of a goodbye over a wire that neither side has made: the peer gets to know in another way, and
  /// calls left_unmade(). Does not wait.
  virtual void leave_unmade(int peer, Lane lane);
  /// The wire is there. One that nobody needs any more, or that is there already, is closed.
  void made(int peer, Lane lane, std::unique_ptr<net::Stream> stream);
  void not_made(int peer, Lane lane, const std::string& why);
  /// The peer has left, and nothing came and will come over this wire.
  void left_unmade(int peer, Lane lane);
  /// None where there is none yet.
  const net::Stream* stream(int peer, Lane lane) const noexcept;

  /// Closes all streams. Kinds call it in their destructor, before what the streams live in goes.
  void close() noexcept;

 private:
  struct Link;

  Link& link(int peer, Lane lane) noexcept;
  bool ask_for(Link& link, Outgoing& outgoing);
  bool pump_out(Link& link);
  bool pump_in(Link& link);
  bool read_header(Link& link);
  bool read_payload(Link& link);
  bool fill(Link& link, std::span<std::byte> memory, std::size_t& have);
  void begin_frame(Link& link);
  void finish_frame(Link& link);
  void release(Outgoing& outgoing, Outgoing::State state) noexcept;
  void close_out(Link& link) noexcept;
  void lost(Link& link, const std::string& text);

  int rank_;
  std::vector<std::array<std::unique_ptr<Link>, lane_count>> links_;
  std::vector<Link*> open_;  // all links, in order of peer and lane
  std::array<Receiver*, lane_count> receivers_{};
};

}  // namespace rondo::transport
