// Relays one HTTP/2 connection on which streams are to fail (core/protocol/relay.h): bytes of both
// ends in, bytes for both ends out. No I/O, no clock.
//
//   relay.from_client(bytes, now);   relay.from_server(bytes, now);   what came
//   relay.client_quiet();            all that the client sent so far was given
//   relay.to_client().take(n); relay.resume();   n bytes were sent
//   relay.reset()                    the client's connection is to be reset
//   relay.finished()                 retired, and nothing is open any more
//
// Streams without an order pass as they are. A stream with one:
//   before effect   nothing of the client reaches the server; the planned outcome is placed as soon
//                   as the request is complete, or the client is quiet (it streams, or waits)
//   after effect    the request passes; the server's whole answer is taken away, then as above
//                   (an attempt's fault in a sequence: an error of the server passes instead)
//   of the answer   the request passes; the server's answer is taken away and its parts are placed
//                   anew, later, changed, or up to a message (changed_answer.h)
//   GOAWAY          nothing of the stream reaches the server, nor of any that is opened later: their
//                   client knows that and may open them again on another connection
// DATA that is taken away is given back to its sender as window increments. (What of it is placed anew is
// given back to the connection's window only, so that it stops no other stream while it waits.) DATA of
// ours uses up the client's window, of which the server does not know: later increments of the client make
// up for it, and until they have, frames of the server that no longer fit wait here.
//
// From the first header block that is placed or taken away on, the server's blocks are written anew
// as literals, the first of them after a table size update to 0: so the client's table holds
// nothing that the server's encoder could refer to, and no change of the table's size that was
// under way at the hand-off matters (RFC 7541 §4.2).
//
// A GOAWAY of the server names the last stream that it has taken. Streams that the server never saw may be
// higher, and their client would send them again elsewhere. So the number is raised beyond them, and every
// stream that was to reach the server and was not taken is refused by itself (RFC 9113 §6.8, §8.7).
//
// 'Reset' resets the whole connection only where no other stream is open, nor comes within 20 ms: a fault
// hits the one RPC that it was meant for (docs/laws.md, law 3). Else it is an RST_STREAM(INTERNAL_ERROR).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/http2/header_block.h"
#include "core/http2/insertion.h"
#include "core/protocol/relay.h"
#include "daemon/model/hang_limit.h"
#include "daemon/relay/byte_queue.h"
#include "daemon/relay/faulted_stream.h"
#include "daemon/relay/frame_path.h"

namespace filibuster {

// What a relay asks and tells.
class RelayHost {
 public:
  // The planned fault; nullptr: its execution does not run, or it is unknown (the host has noted that).
  virtual const FaultSpec* fault_of(const StreamOrder& order) = 0;
  virtual uint64_t hang_limit_ns() const = 0;
  // What is added to the hang limit while the machine is busy.
  virtual uint64_t patience_ns() const { return 0; }
  // Something to say about the fault of one RPC.
  virtual void report(uint32_t execution, uint64_t rpc, const HangLimit& limit) = 0;
  // The fault is an attempt's in a sequence: after effect it never comes upon an answer that is an error already.
  virtual bool spares_errors(const StreamOrder&) const { return false; }
  // The server's answer was an error, and passes in the place of the fault.
  virtual void spared(const StreamOrder&) {}
  // The planned fault did not come about, though the stream was to get it.
  virtual void unmet(const StreamOrder& order, const std::string& why) = 0;
  // Something to say about the connection. `harmed`: RPCs got less than was planned, or more.
  virtual void note(const std::string& text, bool harmed) = 0;

 protected:
  ~RelayHost() = default;
};

// So many bytes may wait for one end. Beyond that, nothing more is made, or read from the other end.
inline constexpr size_t kMostUnsent = 256 * 1024;

class Relay {
 public:
  // `table`, `half_read`: of RelayState. `host` outlives the relay.
  Relay(const RelayState& state, std::string_view table, std::string_view half_read,
        RelayHost* host);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // `table` and `half_read` could be read. False: nothing can be relayed.
  bool ok() const { return ok_; }

  void from_client(std::string_view bytes, uint64_t now_ns);
  void from_server(std::string_view bytes, uint64_t now_ns);
  void client_quiet();
  // No byte of the server comes any more, so all its answers have ended.
  void server_ended();
  void resume() { pump(); }

  // When the next silence ends, or the next of all other things that a fault waits for; 0: none.
  uint64_t next_deadline_ns() const;
  // To be called when all that the client sent so far was given.
  void expire(uint64_t now_ns);
  // What is left of this execution's faults ends by RST_STREAM(CANCEL).
  void end_execution(uint32_t execution);
  // Sends a GOAWAY to the client. Streams that it opens from now on are dropped, as the GOAWAY tells it
  // (RFC 9113 §6.8); the others go on.
  void retire();

  ByteQueue& to_client() { return to_client_; }
  ByteQueue& to_server() { return to_server_; }
  bool reset() const { return reset_; }
  bool finished() const;
  // True: the server has said that it leaves, and the client does not know the last stream that it took.
  // Then retire() comes before the server's end is passed on.
  bool leaving() const { return server_last_ != http2::kLargestWindow && !retiring_; }
  // True: the server's end must not be passed on yet, because answers of ours are to be placed, and can be,
  // or because all streams that are open are silences.
  bool answering() const;

 private:
  using Stream = FaultedStream;
  using Phase = FaultedStream::Phase;

  struct Requests final : FramePath {
    explicit Requests(Relay* r)
        : FramePath(http2::Direction::kRequests, &r->to_server_), relay(r) {}
    void begin_with(const RelayState& state);
    Action begin(const http2::FrameHeader& frame) override;
    void take(const http2::FrameHeader& frame, std::string_view bytes) override;
    void ended() override { relay->pump_to_server(); }
    bool lost(http2::Error error) override { return relay->lost("the client sent ", error); }
    void on_block_end(const http2::HeaderBlock& block) override;
    void on_data_end(uint32_t stream, uint32_t flow_controlled, bool end) override;
    void on_reset(uint32_t stream, uint32_t error_code) override;
    void on_settings(const http2::SettingsFrame& settings) override;
    void on_window_update(uint32_t stream, uint32_t increment) override;

    Relay* const relay;
    uint32_t increment = 0;  // of the WINDOW_UPDATE that is held
  };
  struct Responses final : FramePath, http2::FieldHandler {
    explicit Responses(Relay* r);
    bool begin_with(const RelayState& state, std::string_view table, std::string_view half_read);
    Action begin(const http2::FrameHeader& frame) override;
    void take(const http2::FrameHeader& frame, std::string_view bytes) override;
    void ended() override { relay->pump_to_client(); }
    bool lost(http2::Error error) override { return relay->lost("the server sent ", error); }
    void on_block(const http2::HeaderBlock& block) override;
    void on_block_bytes(const char* data, size_t size) override;
    void on_block_end(const http2::HeaderBlock& block) override;
    void on_data(uint32_t stream, const char* data, size_t size) override;
    void on_data_end(uint32_t stream, uint32_t flow_controlled, bool end) override;
    void on_reset(uint32_t stream, uint32_t error_code) override;
    void on_settings(const http2::SettingsFrame&) override { settings_seen = true; }
    void on_goaway(uint32_t last_stream, uint32_t error_code) override;
    void on_field(const http2::Field& field) override;
    void write_anew();

    Relay* const relay;
    bool settings_seen = false;
    bool rewriting = false;
    struct Free {
      void operator()(char* allocated) const { std::free(allocated); }
    };
    // For the decoder, for the rewriter and for what it writes. Untouched where it is not used.
    std::unique_ptr<char, Free> memory;
    http2::HeaderDecoder decoder;
    http2::BlockRewriter rewriter;
    http2::HeaderBlock block;  // the last one that was read whole
    // Stream of the block that comes, whose answer may be changed; 0: none.
    uint32_t changed_block = 0;
    uint32_t goaway_last = 0, goaway_error = 0;  // of the GOAWAY that is held
  };
  // A frame of the server that waits for the client's window, or behind such a frame of its stream.
  struct Waiting {
    uint32_t stream = 0;
    uint32_t flow_controlled = 0;
    std::string bytes;
  };

  bool lost(const char* who, http2::Error error);
  void fail(const std::string& why);

  void take_order(uint32_t id, const StreamOrder& order);
  // The planned GOAWAY: the streams from the next one on are left to another connection.
  void leave();
  // Passes the GOAWAY of the server on; `last` is the last stream that the server has taken.
  void pass_goaway(uint32_t last, uint32_t error, std::string bytes);
  // Refuses a stream without an order that the server does not take.
  void refuse(uint32_t id);
  // The server does not take a stream whose fault was to follow its effect.
  void not_taken(Stream* stream);
  Stream* find(uint32_t id);
  ChangedAnswer* changed_answer(uint32_t id);  // of a stream in phase kPassing; else nullptr
  bool dead(uint32_t id) const;                // nothing of the stream passes, in either direction
  void advance(Stream* stream, bool quiet);
  void cancel(Stream* stream);
  // Nothing more of the stream goes to the client. Takes it out of faulted_.
  std::map<uint32_t, Stream>::iterator finish(std::map<uint32_t, Stream>::iterator place);

  void pump();
  void pump_to_client();
  void pump_to_server();
  // Place what the stream gets next. False: the stream is done with.
  bool place(uint32_t id, Stream* stream);
  bool place_body(uint32_t id, Stream* stream);
  bool place_changed(uint32_t id, Stream* stream);
  // Places as much of `bytes` as the windows allow. Returns how much that is.
  size_t place_data(uint32_t id, Stream* stream, std::string_view bytes, bool end);
  std::optional<uint32_t> size_update() const;

  bool must_wait(uint32_t id, uint32_t flow_controlled) const;
  bool waits(uint32_t id) const;
  void wait(uint32_t id, uint32_t flow_controlled, std::string_view bytes);
  void to_client_in_turn(uint32_t id, std::string_view bytes);
  void release_waiting();

  RelayHost* const host_;
  bool ok_ = false;
  bool ordered_ = false;  // there was an order
  bool reset_ = false;
  ByteQueue to_client_, to_server_;
  Requests requests_;
  Responses responses_;

  std::map<uint32_t, Stream> faulted_;
  DeadStreams dead_;
  OpenStreams open_;
  uint32_t last_seen_;  // highest stream of the client
  uint64_t now_ns_ = 0;

  // The last stream that the server takes, by a GOAWAY that the client was not told; and the last stream
  // by a GOAWAY that the client was told.
  uint32_t server_last_ = http2::kLargestWindow;
  uint32_t goaway_last_ = http2::kLargestWindow;

  bool retiring_ = false;
  bool goaway_due_ = false;
  uint32_t last_taken_ = 0;  // the last stream that goes on, once retiring_

  // DATA: what the client allows, and by how much that is less than the server believes.
  int64_t client_window_;
  uint64_t unknown_to_server_ = 0;
  int64_t client_initial_window_;
  uint64_t owed_to_client_ = 0;  // increments of the connection's window, not yet written
  uint64_t owed_to_server_ = 0;
  std::deque<Waiting> waiting_;
  size_t waiting_bytes_ = 0;

  std::vector<uint32_t> resets_to_server_, refused_;
  // True: something may have to be placed at the end of the next frame for that side.
  bool client_due_ = false;
  bool server_due_ = false;
};

}  // namespace filibuster
