// One connection through the proxy: the client's end, which was accepted, and the one that leads on.
//
//   outbound  a client in the attached process -> here -> where it wanted to go. The agent follows `server`.
//   inbound   a caller -> here -> the attached process itself. The agent follows `client`.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "daemon/base/descriptors.h"
#include "daemon/proxy/address.h"
#include "daemon/proxy/farewell.h"
#include "daemon/proxy/write_log.h"
#include "daemon/relay/byte_queue.h"

namespace filibuster::proxy {

enum class PairKind : uint8_t { kOutbound, kInbound };

// Who makes bytes that wait to be sent, as the agent is told.
struct SentOrigin {
  uint32_t stack = 0;  // StackTexts
  std::string cause;   // empty: not known
  uint64_t call = 0;   // the request that they are of (GoCalls), or FB_NO_REQUEST; 0: not known
};

struct Pair;

struct Side {
  UniqueFd fd;
  Pair* pair = nullptr;
  bool registered = false;  // in the epoll set
  uint32_t interest = 0;    // the events that it is registered for
  bool ended = false;       // its end of stream was read
  bool shut = false;        // our end of stream was sent to it
  // What waits to be sent to it. While there is something, nothing is read from the other side.
  ByteQueue waiting;
  struct Run {
    size_t size;
    SentOrigin origin;
  };
  std::deque<Run> runs;  // of the waiting bytes; only of an outbound server
};

struct Pair {
  PairKind kind = PairKind::kOutbound;
  uint64_t id = 0;
  enum class State : uint8_t {
    kAccepted,  // outbound: the connect waits for the client's first bytes, which say who connects
    kConnecting,  // the connection to `target` is under way
    kOpen,
    kRefused,  // nobody took the connection to `target`: it waits for the client's first bytes, and is reset
    kClosed,  // it is forgotten after the events at hand
  };
  State state = State::kAccepted;
  Side client, server;
  Address peer;             // of the client
  Address target;           // where `server` leads
  uint16_t inner_port = 0;  // inbound: of `server`
  uint32_t received = 0;    // bytes that were read from the client, mod 2^32
  WriteLog log;             // outbound
  Farewell farewell;
  bool dropping =
      false;            // the client is gone: everything closes when `server` has the waiting bytes
  bool ending = false;  // nothing follows the waiting bytes of `client`
  // Its client has given up on a silence that was injected. It may go on to use the connection, which is reset then.
  bool given_up = false;
  uint64_t moved_ns = 0;  // when bytes came last, kept once the proxy leaves

  Side& other(const Side& side) { return &side == &client ? server : client; }
};

}  // namespace filibuster::proxy
