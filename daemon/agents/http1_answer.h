// An answer of HTTP/1.x, read whole and rendered anew with a fault in it (core/fault/fault.h: kinds
// that change answers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/fault/fault.h"
#include "core/http1/message_parser.h"

namespace filibuster {

class Http1Answer final : http1::Handler {
 public:
  // Answers that are larger are not kept.
  static constexpr size_t kMost = 64u << 20;  // bytes

  explicit Http1Answer(bool head_request);

  // The bytes of the server. True: the answer has ended, or is none, or is too large.
  bool feed(const char* data, size_t size);
  // An error came, whole: 400 or above.
  bool is_error() const { return complete_ && status_ >= 400; }
  uint16_t status() const { return status_; }
  const std::string& body() const { return body_; }
  // The server has closed the connection, which ends some answers.
  void end_of_stream();

  struct Step {
    size_t end;        // of the rendered bytes that may be sent
    uint64_t wait_ns;  // from now
  };
  struct Rendered {
    std::string bytes;
    std::vector<Step> steps;  // in order; the last one ends with the bytes
    bool stalls = false;      // nothing follows, and the connection does not end either
    std::string problem;      // why the fault cannot be in this answer; then there are no bytes
  };
  // kNone: the answer passes as it is. The answer says `Connection: close`, since the connection ends behind it.
  Rendered render(const FaultSpec& fault) const;

 private:
  void on_head(const http1::MessageHead& head, size_t end) override;
  void on_body(const char* data, size_t size) override;
  void on_complete(size_t end, Hash128 body, uint64_t size) override;

  const bool head_request_;
  std::string raw_;  // until the head is whole
  size_t before_feed_ = 0;
  std::string head_;  // status line and fields, each with its line end; without the empty line
  uint16_t status_ = 0;
  std::string body_;  // without chunked coding
  bool complete_ = false, too_large_ = false;
  http1::Outstanding outstanding_;
  http1::MessageParser parser_{&outstanding_, this};
};

}  // namespace filibuster
