// How a kept connection through the proxy ends without a request that fails: when its process is detached, or
// behind its first answer, so that no execution depends on a connection that another one has left. Pure.
//
// HTTP/1: `Connection: close` is inserted in the next answer (RFC 9112 §9.6), and the connection ends behind it.
// HTTP/2: a GOAWAY that excludes no stream is placed between two frames of the server (RFC 9113 §6.8), and the
// client opens another connection for its next requests. To know where answers and frames begin, both directions
// are followed from their first byte on. What is something else passes to its own end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace filibuster::proxy {

class Farewell {
 public:
  Farewell();
  ~Farewell();

  // The next bytes of the client, which pass unchanged.
  void requests(std::string_view bytes);
  // The next bytes of the server. Returns what the client gets: `bytes`, or `*edited` with an insertion.
  std::string_view answers(std::string_view bytes, std::string* edited);
  // From now on the connection is to end. Returns what the client gets at once: a GOAWAY, or nothing.
  std::string_view begin();
  // HTTP/1 ends behind its next answer, and all else goes on.
  void end_http1() { ending_http1_ = true; }

  // Nothing follows: the answer that said so is complete (HTTP/1), or no stream is open behind the GOAWAY
  // (HTTP/2: one may be on its way).
  bool is_over() const;
  bool ends_at_once() const { return http1_ != nullptr && is_over(); }
  // Nothing is under way: no request waits for its answer, and none was begun.
  bool is_idle() const;

 private:
  class Http1;
  class Http2;
  enum class Protocol : uint8_t { kUnknown, kHttp1, kHttp2, kOther };
  void recognise(std::string_view bytes);

  Protocol protocol_ = Protocol::kUnknown;
  bool leaving_ = false;
  bool ending_http1_ = false;
  std::string first_;  // bytes of the client, until the protocol is known
  std::unique_ptr<Http1> http1_;
  std::unique_ptr<Http2> http2_;
};

}  // namespace filibuster::proxy
