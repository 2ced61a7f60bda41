// The state of a connection that speaks HTTP/2: the view of both directions, the calls of the streams,
// and, for a client, what stands between the application and the wire.
//
// Order of ownership: a flow (connection.h), then `lock`. The lock is taken by whoever parses or
// looks at streams; blocks, edits and what concerns the wire belong to the owner of the request
// flow.
//
// The object comes from a pool of pages of our own. Each takes about a megabyte of address space, of which
// only what is used is touched. It is type-stable like its Connection, and given back with it.
#pragma once

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
#include "preload/stream/receive_gate.h"

namespace filibuster::preload {

// A header block of the requests that is parsed and has not left, in the order of the wire. Its
// fields are kept as literals: it may have to be written anew (BlockRewriter).
struct KeptBlock {
  http2::HeaderBlock block;    // positions are the application's
  StreamCall* call = nullptr;  // nullptr: the block is of no request that is followed
  uint32_t literals = 0;       // place of its first field in Http2Connection::literals
  uint32_t literals_size = 0;
  bool whole = true;  // the literals hold all of its fields
};

inline constexpr size_t kMaxKeptBlocks = 4096;
inline constexpr size_t kLiteralsSize = 128 * 1024;
inline constexpr size_t kMaxWireEdits = 256;
inline constexpr size_t kWireEditBytes = 32 * 1024;

// Memory for writing header blocks anew. A connection takes it for the first such block.
struct RewriteRoom {
  static constexpr size_t kBlock = kLiteralsSize + 1024;
  static constexpr size_t kFrames = kBlock + 4096;
  static constexpr size_t kEdits = 4 * kFrames;
  char block[kBlock];
  char frames[kFrames];
  char edits[kEdits];
};

struct Http2Connection final : http2::ConnectionListener, Followed {
  Http2Connection(Connection* owner_, http2::Side side) : owner(owner_), view(side, this) {
    view.look_for(&g_sought_fields);
  }

  bool client() const { return view.side() == http2::Side::kClient; }

  // Followed. sender.cc
  void offered(Connection& c, const Offer& offer, uint64_t from) override;
  Released release(Connection& c, int fd, const Offer& offer, Sending sending) override;
  bool may_hold(Connection&) override { return true; }
  int patience_ms(Connection&) override;
  bool press(Connection& c, int times) override;
  void decide_held(Connection& c) override;
  // A peer can do nothing with a part of a frame, so the part is held as long as the rest may come.
  uint64_t flush_limit(Connection& c, uint64_t released, bool closing) override;
  void sent(Connection&, int) override {}
  void forget_ahead(Connection& c) override;
  bool skipped(Connection& c, uint64_t size) override;
  // A program that writes frames writes them one after the other.
  bool sends_in_turn() const override { return true; }
  // observation.cc
  void observed(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) override;
  bool unseen(Connection& c, Traffic traffic, size_t size) override;
  // A frame of less than 64 KiB begins with a zero byte, and a preface or a text does not.
  bool may_begin_with(Pieces pieces) const override {
    return pieces.count == 0 || pieces[0].iov_len == 0 ||
           *static_cast<const char*>(pieces[0].iov_base) != '\0';
  }
  // streams.cc, recognition.cc
  void end_unanswered(Connection& c) override;
  void settle(Connection& c) override;
  void adopt_in_child(Connection& c) override;
  void free(Connection& c) override;
  uint32_t open_incoming(const Incoming** one) override;
  const Incoming* incoming_of_stream(uint32_t stream) override;
  Spoken spoken(const Connection&) const override { return {StreamProtocol::kHttp2, 0}; }
  bool owes() const override { return rewriting; }
  bool cannot_be_left() const override { return rewriting; }
  // conversion.cc
  Receive begin_receive(Connection&) override {
    receives.enter();
    return Receive::kKeptOut;
  }
  void end_receive(Connection&) override { receives.leave(); }

  // ConnectionListener, in streams.cc. Called with `lock` held.
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

  // The kept block of this number. Blocks are numbered since the connection's beginning.
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
  // Of a client: cuts what is read into what the view is given; under `lock`.
  http2::WholeFrames responses;
  ReceiveGate receives;
  bool converted = false;  // the descriptor is an end of a pair; a relay has the other
  bool server_settings_seen = false;

  // A client's wire.
  uint64_t origin = 0;  // where HTTP/2 begins among the application's bytes; not 0 after an upgrade
  bool wire_ready = false;
  bool rewriting = false;      // every header block of the requests is written anew
  uint32_t last_released = 0;  // highest stream whose HEADERS have left
  uint64_t first_block = 0;
  uint64_t end_block = 0;
  size_t literals_used = 0;
  size_t block_literals = 0;  // place of the first literal of the block in progress
  bool block_whole = true;
  bool block_expects = false;  // the block in progress asks for 100 (Continue)
  RewriteRoom* rewrite = nullptr;
  http2::BlockRewriter rewriter{nullptr, 0};
  alignas(KeptBlock) char block_memory[sizeof(KeptBlock) * kMaxKeptBlocks];
  // Memory of Wire::edits (EditedStream::use).
  EditedStream::Edit edits[kMaxWireEdits];
  char edit_bytes[kWireEditBytes];
  char literals[kLiteralsSize];
};

// --- for the rest of this folder -----------------------------------------------------------------

// Under the lock. A stream has ended as `finished` says. The call is reported once it is decided, and freed
// as soon as nothing needs it.
void end_stream_call(Http2Connection& h, StreamCall* x);
// Under the lock. Called after outgoing_begin.
void after_decision(StreamCall* x);
// The part of the request's body that travels in events. Of a gRPC call that is the first message, from
// which its arguments are read.
std::string_view request_sample(const StreamCall& x);
// Under the lock. Bytes of a request went by unseen, on a stream that the view does not know.
void end_request_samples(Http2Connection& h);
// Under the lock. A decided call's whole request is known now.
void finish_request(StreamCall* x);

// Makes HTTP/2 the protocol of the connection. nullptr: another thread has set a protocol first, or there
// is no memory, and then the connection is given up. `kind`: how the client takes a GOAWAY.
Http2Connection* make_http2(Connection& c, Http2Client kind);
// Under the lock. `stream` takes over the complete request of an HTTP/1.1 exchange that was upgraded, and
// the exchange is left without a call.
void adopt_exchange(Http2Connection& h, http2::Stream& stream, Exchange* exchange);

// Called by the owner of the request flow when the connection was given up. Frees the kept blocks.
void drop_http2_blocks(Http2Connection& h);
// Called by the owner of the flow. Parses `size` bytes from byte `offset` of the pieces. False: nothing can
// be parsed any more, and the connection was given up.
bool feed_http2(Connection& c, Http2Connection& h, http2::Direction direction, Pieces pieces,
                size_t offset, size_t size);
void give_up_http2(Connection& c, http2::Error error);

// conversion.cc. The next block belongs to a stream with a planned fault, and the wire stands at its
// start. Converts the connection if that was not done before. If it cannot be, the fault is reported as
// not injected.
void begin_fault(Connection& c, Http2Connection& h, int fd);
// Blocks are written anew from the next one that leaves. False: there is no memory for that.
bool begin_rewriting(Connection& c, Http2Connection& h);
// Precondition: no block was written anew yet.
void abandon_rewriting(Connection& c, Http2Connection& h);

}  // namespace filibuster::preload
