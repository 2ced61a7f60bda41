// One connection of a client to a dependency without a process: bytes in, calls out, replies in, bytes out. No I/O, no clock.
//
// The server gives what came to feed(), hands each call of take_calls() to who answers, and comes back with reply() when its delay
// is over, in any order. Replies of HTTP/1 and Redis leave in the order of their requests.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/stubs/answerer.h"
#include "daemon/stubs/certificate.h"

namespace filibuster::stubs {

inline constexpr size_t kMostBody =
    64u << 20;  // bytes of a request; a client that sends more is closed

struct OpenCall {
  uint64_t number = 0;   // for reply()
  Call call;             // empty, where its request is open
  bool is_open = false;  // more of the request may come: see open_call()
};

// A part of a reply (answerer.h) that leaves when its gap is over.
struct DuePart {
  uint64_t number = 0;
  std::chrono::milliseconds gap{0};
};

class StubConnection {
 public:
  virtual ~StubConnection() = default;
  // False: what came is not the protocol, or too much, or its end. Nothing more is fed, and the connection is closed when all calls
  // have their replies and take_output() is sent.
  virtual bool feed(std::string_view bytes) = 0;
  // Precondition: the reply is an answer, at least the beginning of one, or a problem.
  virtual void reply(uint64_t number, const Reply& reply) = 0;
  // A part that may leave, and has not been told yet; to be asked after feed(), reply() and send_part(). nullopt: there is none.
  virtual std::optional<DuePart> take_due() { return std::nullopt; }
  virtual void send_part(uint64_t /*number*/) {}
  // What is there of a call whose request is open; nullptr: it is over.
  virtual Call* open_call(uint64_t /*number*/) { return nullptr; }
  // How the connection ends when take_output() is sent; kNone: it goes on, or see finished().
  virtual End ended() const { return End::kNone; }
  // True: nothing more is answered, and the connection is closed when take_output() is sent.
  virtual bool finished() const = 0;

  std::vector<OpenCall> take_calls() { return std::exchange(calls_, {}); }
  virtual std::string take_output() { return std::exchange(output_, {}); }

 protected:
  std::vector<OpenCall> calls_;
  std::string output_;
};

// Puts replies into the order of their calls, which are numbered from 0.
class InOrder {
 public:
  // Appends to `output` what may leave now. `whole`: nothing more is put for that number.
  void put(uint64_t number, std::string_view bytes, std::string* output, bool whole = true) {
    Ready& to = ready_[number];
    to.bytes += bytes;
    to.whole = whole;
    for (auto first = ready_.find(next_); first != ready_.end(); first = ready_.find(++next_)) {
      *output += std::exchange(first->second.bytes, {});
      if (!first->second.whole) return;
      ready_.erase(first);
    }
  }
  uint64_t next() const { return next_; }  // the first one that has not left

 private:
  struct Ready {
    std::string bytes;
    bool whole = false;
  };
  uint64_t next_ = 0;
  std::map<uint64_t, Ready> ready_;
};

std::unique_ptr<StubConnection> make_http1_connection(std::string service);
std::unique_ptr<StubConnection> make_http2_connection(std::string service);
std::unique_ptr<StubConnection> make_redis_connection(std::string service);
// HTTP/1 or HTTP/2, by the first bytes.
std::unique_ptr<StubConnection> make_http_connection(std::string service);
// TLS around one of these.
std::unique_ptr<StubConnection> make_tls_connection(std::shared_ptr<const Certificate> certificate,
                                                    std::unique_ptr<StubConnection> inside);

}  // namespace filibuster::stubs
