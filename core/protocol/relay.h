// A faulted HTTP/2 connection. One stream of it is to fail while the others go on, so the agent
// puts one end of a pair in the place of the application's socket and hands the other end, with the
// real connection, to the daemon, which relays frames from then on (daemon/relay):
//
//   application, agent  --requests, orders-->  relay  --requests-->  server
//                       <------responses-----         <--responses--
//
// The agent goes on as before: it follows both directions, forms every RPC, inserts its field. From
// the hand-off on it writes every header block of the requests anew, as literals (the first one
// begins with a table size update to 0, RFC 7541 §6.3), so that the relay may keep any of them from
// the server without knowing the client's table. What comes back, synthetic or not, passes the
// agent again, which reports it (RpcFinished with injected = 1 where it had placed an order).
//
// The hand-off is a HandOff of kind kRelay with [held end of the pair, real connection], and one
// RelayState with `table_size` and `half_read_size` bytes behind it in the same datagram. It says
// nothing of a fault: each fault is an order in the stream of requests, so that it does not matter in
// which order messages arrive on the two channels.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/http2/frame.h"

namespace filibuster {

struct RelayState {
  // Bytes that are left of a frame of DATA of which the application has read a part.
  uint64_t response_bytes_left = 0;
  // What the client asked of the server, and the server of the client (http2::Settings).
  uint32_t client_max_frame_size = 0;
  uint32_t client_initial_window = 0;
  uint32_t server_max_frame_size = 0;
  uint32_t last_request = 0;  // highest stream whose HEADERS the server was sent; 0: none
  // The window of the connection: how many bytes of DATA the server may send now. The whole frame that
  // response_bytes_left belongs to is already subtracted.
  int64_t client_window = 0;
  // Number of streams up to last_request that are open: the stream was not reset, and its answer has not
  // ended, nor ends with the frame that response_bytes_left belongs to. When none of them and of the
  // later streams is open, a reset may take the whole connection.
  uint32_t open_requests = 0;
  uint8_t server_settings_seen = 0;
  uint8_t reserved[3] = {};
  // Size of the header block that brings the empty table of a decoder of the responses to the state of
  // the client's (http2::HeaderDecoder::dump_table).
  uint32_t table_size = 0;
  // Size of what the application has read of an unfinished frame of another type, or of an unfinished
  // header block with all its frames. The relay passes the rest as it comes.
  uint32_t half_read_size = 0;
};

// An order is a frame that the agent places right before the HEADERS of a stream, on that stream, and
// that the relay takes away. HTTP/2 does not know its type (RFC 9113 §5.5).
inline constexpr auto kOrderFrame = static_cast<http2::FrameType>(0xf1);
inline constexpr uint32_t kOrderMagic = 0x52445246;  // "FRDR"

enum OrderFlags : uint32_t {
  kOrderGrpc = 1u << 0,  // the request is a gRPC call (content-type)
  kOrderHead = 1u << 1,  // the request's method is HEAD
};

// The fault is entry `plan_entry` of the plan of `execution`. Host byte order: same machine.
struct StreamOrder {
  uint32_t magic = kOrderMagic;
  uint32_t flags = 0;
  uint64_t rpc = 0;
  uint32_t execution = 0;
  uint32_t plan_entry = 0;
};
inline constexpr size_t kOrderFrameSize = http2::kFrameHeaderSize + sizeof(StreamOrder);

// Writes kOrderFrameSize bytes.
inline void write_order(uint32_t stream, const StreamOrder& order, char* out) {
  http2::write_frame_header({sizeof order, kOrderFrame, 0, stream}, out);
  std::memcpy(out + http2::kFrameHeaderSize, &order, sizeof order);
}
// False: not an order.
inline bool read_order(const char* payload, size_t size, StreamOrder* order) {
  if (size != sizeof *order) return false;
  std::memcpy(order, payload, sizeof *order);
  return order->magic == kOrderMagic;
}

}  // namespace filibuster
