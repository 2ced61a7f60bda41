// What a connection has besides once it speaks HTTP/2: the view of both directions, the streams'
// calls, and for a client what is between the application and the wire.
//
// Order of ownership: a flow (connection.h), then `lock`. The lock is taken by whoever parses or
// looks at streams; blocks, edits and what concerns the wire belong to the owner of the request
// flow.
//
// From a pool of pages of our own, about a megabyte of address space each, of which only what is
// used is touched; type-stable like its Connection, with which it is given back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/http2/connection_view.h"
#include "core/http2/insertion.h"
#include "core/http2/whole_frames.h"
#include "core/pieces.h"
#include "preload/protocols/http2/bounded_lock.h"
#include "preload/protocols/http2/preface.h"
#include "preload/protocols/http2/stream_call.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

// A header block of the requests that is parsed and has not left, in the order of the wire. Its
// fields are kept as literals: it may have to be written anew (BlockRewriter).
struct KeptBlock {
  http2::HeaderBlock block;    // positions are the application's
  StreamCall* call = nullptr;  // of a request that is followed
  uint32_t literals = 0;       // where they begin in Http2Connection::literals
  uint32_t literals_size = 0;
  bool whole = true;  // all of them are there
};

inline constexpr size_t kMaxKeptBlocks = 4096;
inline constexpr size_t kLiteralsSize = 128 * 1024;
inline constexpr size_t kMaxWireEdits = 256;
inline constexpr size_t kWireEditBytes = 32 * 1024;

// What writing blocks anew needs besides. Taken by the first one.
struct RewriteRoom {
  static constexpr size_t kBlock = kLiteralsSize + 1024;
  static constexpr size_t kFrames = kBlock + 4096;
  static constexpr size_t kEdits = 4 * kFrames;
  char block[kBlock];
  char frames[kFrames];
  char edits[kEdits];
};

struct Http2Connection final : http2::ConnectionListener, Followed {
  Http2Connection(Connection* owner_, http2::Side side) : owner(owner_), view(side, this) {}

  bool client() const { return view.side() == http2::Side::kClient; }

  // Followed. sender.cc
  void offered(Connection& c, const Offer& offer, uint64_t from) override;
  Released release(Connection& c, int fd, const Offer& offer, Sending sending) override;
  bool may_hold(Connection&) override { return true; }
  bool waits_for_a_thread(Connection&) override;
  bool press(Connection& c, int times) override;
  void decide_held(Connection& c) override;
  // The peer makes nothing of a part of a frame: it stays with us as long as the rest may come.
  uint64_t flush_limit(Connection& c, uint64_t released, bool closing) override;
  void sent(Connection&, int) override {}
  void forget_ahead(Connection& c) override;
  bool skipped(Connection& c, uint64_t size) override;
  // A program that writes frames writes them one after the other.
  bool sends_in_turn() const override { return true; }
  // observation.cc
  void observed(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) override;
  bool unseen(Connection& c, Traffic traffic, size_t size) override;
  // (A frame of less than 64 KiB begins with a zero; a preface or a text does not.)
  bool may_begin_with(Pieces pieces) const override {
    return pieces.count == 0 || pieces[0].iov_len == 0 ||
           *static_cast<const char*>(pieces[0].iov_base) != '\0';
  }
  // streams.cc, recognition.cc
  void end_unanswered(Connection& c) override;
  void settle(Connection& c) override;
  void adopt_in_child(Connection& c) override;
  void free(Connection& c) override;
  bool owes() const override { return rewriting; }
  bool cannot_be_left() const override { return rewriting; }
  // conversion.cc
  bool begin_receive(Connection& c) override;
  void end_receive(Connection& c) override;

  // ConnectionListener: streams.cc; in the lock.
  void on_request(http2::Stream&, const http2::MessageHead&, const http2::HeaderBlock&) override;
  void on_response(http2::Stream&, const http2::MessageHead&, const http2::HeaderBlock&) override;
  void on_data(http2::Stream&, http2::Direction, const char*, size_t) override;
  void on_trailers(http2::Stream&, http2::Direction, const http2::MessageHead&,
                   const http2::HeaderBlock&) override;
  void on_end(http2::Stream&, http2::Direction) override;
  void on_reset(http2::Stream&, http2::Direction, uint32_t) override;
  void on_closed(http2::Stream&) override;
  void on_untracked(uint32_t) override;
  void on_settings(http2::Direction, const http2::Settings&) override;
  void on_goaway(http2::Direction, uint32_t last_stream, uint32_t error_code) override;
  void on_block(http2::Direction, const http2::HeaderBlock&) override;
  void on_field(http2::Direction, const http2::Field&) override;
  void on_block_end(http2::Direction, const http2::HeaderBlock&) override;

  // Blocks, by their number since the beginning.
  KeptBlock& block(uint64_t number) {
    return reinterpret_cast<KeptBlock*>(block_memory)[number % kMaxKeptBlocks];
  }
  KeptBlock* front() { return first_block == end_block ? nullptr : &block(first_block); }
  void drop_front();
  void drop_blocks();

  Connection* const owner;
  http2::ConnectionView view;
  BoundedLock lock;

  // Faults (conversion.cc).
  http2::WholeFrames responses;         // a client's: what the view is given of them; in the lock
  std::atomic<uint32_t> receivers{0};   // threads inside a receive
  std::atomic<bool> converting{false};  // they wait before they begin
  bool converted = false;               // the descriptor is an end of a pair; a relay has the other
  bool server_settings_seen = false;

  // A client's wire.
  uint64_t origin = 0;  // where HTTP/2 begins among the application's bytes; not 0 after an upgrade
  bool wire_ready = false;
  bool too_many_blocks = false;
  bool rewriting = false;      // every header block of the requests is written anew
  uint32_t last_released = 0;  // highest stream whose HEADERS have left
  uint64_t first_block = 0;
  uint64_t end_block = 0;
  size_t literals_used = 0;
  size_t block_literals = 0;  // where those of the block in progress begin
  bool block_whole = true;
  bool block_expects = false;  // it asks for 100 (Continue) before its body
  RewriteRoom* rewrite = nullptr;
  http2::BlockRewriter rewriter{nullptr, 0};
  alignas(KeptBlock) char block_memory[sizeof(KeptBlock) * kMaxKeptBlocks];
  // Both of the connection's wire.
  EditedStream::Edit edits[kMaxWireEdits];
  char edit_bytes[kWireEditBytes];
  char literals[kLiteralsSize];
};

// --- for the rest of this folder
// ------------------------------------------------------------------

// In the lock: a stream has ended, as `finished` says. Reported once it is decided, freed as soon
// as nothing needs it.
void end_stream_call(Http2Connection& h, StreamCall* x);
// In the lock: outgoing_begin was called for it.
void after_decision(StreamCall* x);
// What is kept of its body for events: of gRPC the first message, of which its arguments are read.
std::string_view request_sample(const StreamCall& x);
// In the lock: bytes of a request went by unseen, on a stream that is not known here.
void end_request_samples(Http2Connection& h);
// In the lock: the whole request of a decided one is known.
void finish_request(StreamCall* x);

// As the connection's protocol from now on, or nullptr: another one was first, or there is no memory (then
// the connection is given up). `kind`: of a client, how it takes a GOAWAY.
Http2Connection* make_http2(Connection& c, Http2Client kind);
// In the lock: the request of an HTTP/1.1 that was upgraded, complete, is that of `stream`. The
// exchange is left without one.
void adopt_exchange(Http2Connection& h, http2::Stream& stream, Exchange* exchange);

// Owner of the request flow, given up: what is kept of blocks.
void drop_http2_blocks(Http2Connection& h);
// Owner of the flow: `size` bytes from byte `offset` of the pieces. False: nothing is parsed any
// more, and the connection is given up.
bool feed_http2(Connection& c, Http2Connection& h, http2::Direction direction, Pieces pieces,
                size_t offset, size_t size);
void give_up_http2(Connection& c, http2::Error error);

// A block of a stream whose fault is to be placed, and the wire is at its start: the connection is
// converted if it is not, or the fault is refused and reported. conversion.cc
void begin_fault(Connection& c, Http2Connection& h, int fd);
// From the next block that leaves on. False: no memory for it.
bool begin_rewriting(Connection& c, Http2Connection& h);
// Before any was.
void abandon_rewriting(Connection& c, Http2Connection& h);

}  // namespace filibuster::preload
