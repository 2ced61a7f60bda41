// One connection of a client to a dependency without a process: bytes in, calls out, replies in, bytes out. No I/O, no clock.
//
// The server gives what came to feed(), hands each call of take_calls() to who answers, and comes back with reply() when its delay
// is over, in any order. Replies of HTTP/1 and Redis leave in the order of their requests.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
  uint64_t number = 0;  // for reply()
  Call call;
};

class StubConnection {
 public:
  virtual ~StubConnection() = default;
  // False: what came is not the protocol, or too much, or its end. Nothing more is fed, and the connection is closed when all calls
  // have their replies and take_output() is sent.
  virtual bool feed(std::string_view bytes) = 0;
  // Precondition: the reply is an answer, or a problem.
  virtual void reply(uint64_t number, const Reply& reply) = 0;
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
  // Appends to `output` what may leave now.
  void put(uint64_t number, std::string bytes, std::string* output) {
    ready_.emplace(number, std::move(bytes));
    for (auto first = ready_.find(next_); first != ready_.end(); first = ready_.find(++next_)) {
      *output += first->second;
      ready_.erase(first);
    }
  }
  uint64_t next() const { return next_; }  // the first one that has not left

 private:
  uint64_t next_ = 0;
  std::map<uint64_t, std::string> ready_;
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
