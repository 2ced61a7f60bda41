// A fault in a stream. Its connection is converted once: it is handed to a relay in the daemon
// (core/protocol/relay.h), and the application goes on over one end of a pair, with the same view of both
// directions. All functions are called by the owner of the request flow.
#include "core/protocol/relay.h"
#include "preload/inject/inject.h"
#include "preload/os/pool.h"
#include "preload/os/raw_syscall.h"
#include "preload/protocols/http2/http2_connection.h"
#include "preload/stream/wire.h"

namespace filibuster::preload {
namespace {

using http2::Direction;

// Room for the entries of a header table of 64 KiB, each with its two lengths.
constexpr size_t kMaxTable = 96 * 1024;
constexpr size_t kMaxTail = kMaxTable + http2::WholeFrames::kMostKept;
struct TailRoom {
  char bytes[kMaxTail];
};
Pool<TailRoom, 1, 64> g_tail_rooms;

class TailLease {
 public:
  TailLease() : room_(g_tail_rooms.take()) {}
  ~TailLease() {
    if (room_ != nullptr) g_tail_rooms.give(room_);
  }
  TailLease(const TailLease&) = delete;
  explicit operator bool() const { return room_ != nullptr; }
  char* bytes() { return room_->bytes; }

 private:
  TailRoom* room_;
};

// Under the lock. Writes what the relay has to know to go on. Returns nullptr, or why it cannot go on.
const char* describe_state(Http2Connection& h, RelayState* state, char* tail) {
  const http2::ConnectionView& view = h.view;
  const http2::FrameParser& responses = view.parser(Direction::kResponses);
  // Except for DATA, the view was given whole frames, unless a frame was too large for that.
  const http2::FrameHeader* half = responses.unfinished_frame();
  if (responses.hold_from() != responses.position() ||
      (half != nullptr && half->type != http2::FrameType::kData)) {
    return "a frame of the server of more than 16 KiB was half read";
  }
  state->response_bytes_left = responses.bytes_left();
  state->client_window = view.connection_window(Direction::kResponses);
  uint32_t ending = 0;  // the stream whose answer ends with the frame that is half read
  if (half != nullptr) {
    state->client_window -= half->length;
    if (half->has(http2::kFlagEndStream)) ending = half->stream;
  }
  const http2::Settings& client = view.settings_for(Direction::kResponses);
  state->client_max_frame_size = client.max_frame_size;
  state->client_initial_window = client.initial_window_size;
  state->server_max_frame_size = view.settings_for(Direction::kRequests).max_frame_size;
  state->last_request = h.last_released;
  state->server_settings_seen = h.server_settings_seen ? 1 : 0;
  h.view.for_each_stream([&](const http2::Stream& stream) {
    if (stream.id <= h.last_released && stream.id != ending &&
        stream.half(Direction::kResponses) != http2::Half::kEnded) {
      ++state->open_requests;
    }
  });
  http2::Output dump(tail, kMaxTail);
  view.decoder(Direction::kResponses).dump_table(dump);
  dump.append(h.responses.kept());
  if (!dump.ok()) return "the header table of the responses is too large";
  state->half_read_size = static_cast<uint32_t>(h.responses.kept().size());
  state->table_size = static_cast<uint32_t>(dump.size() - state->half_read_size);
  return nullptr;
}

const char* convert_alone(Connection& c, Http2Connection& h, int fd, const StreamCall& x) {
  TailLease tail;
  if (!tail) return "no memory for the header table";
  const bool was_rewriting = h.rewriting;
  if (!was_rewriting && !begin_rewriting(c, h)) return "no memory to write header blocks anew";
  RelayState state;
  if (!h.lock.acquire()) return "the state of the connection could not be had";
  const char* why = h.view.lost() ? "the connection is not followed any more"
                                  : describe_state(h, &state, tail.bytes());
  h.lock.release();
  if (why == nullptr) why = convert_to_relay(fd, c.transport.load(), x.call, state, tail.bytes());
  if (why != nullptr) {
    if (!was_rewriting) abandon_rewriting(c, h);
    return why;
  }
  c.cookie = socket_cookie(fd);
  h.converted = true;
  g_faults_fired.store(true);
  return nullptr;
}

const char* convert(Connection& c, Http2Connection& h, int fd, const StreamCall& x) {
  // A thread that reads during the conversion would read the real connection and bypass the relay.
  const char* why = "another thread was waiting in a read of the connection";
  if (h.receives.close()) {
    why = "another thread was reading the connection";
    if (c.response_flow.acquire()) {
      why = convert_alone(c, h, fd, x);
      c.response_flow.release();
    }
  }
  h.receives.open();
  return why;
}

}  // namespace

void begin_fault(Connection& c, Http2Connection& h, int fd) {
  StreamCall* x = h.front()->call;
  const char* why = convert(c, h, fd, *x);
  if (why == nullptr) return;
  report_fault(x->call, FaultHow::kNotInjected, why);
  x->call.faulted = false;
}

}  // namespace filibuster::preload
