// Whole messages of HTTP/1.1 (RFC 9112): from the bytes of one direction of a connection, in any
// split, and back to bytes. Frames are found by core/http1, so that the preload and this reader
// agree on where a message ends.
#pragma once

#include <llhttp/llhttp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/http1/message_parser.h"
#include "daemon/wire/http_message.h"

namespace filibuster::wire {

class Http1Reader final : http1::Handler {
 public:
  enum class State : uint8_t { kBetween, kInMessage, kUpgraded, kInvalid };

  explicit Http1Reader(http1::Direction direction);

  // Answers: what the requests were, in order, before their answers begin.
  void expect_answer_to(std::string_view method);
  // Times do not go back. Both return the messages that are whole now. Interim answers (1xx) are
  // none.
  std::vector<HttpMessage> feed(std::string_view bytes, uint64_t time_ns);
  // The direction has ended.
  std::vector<HttpMessage> finish(uint64_t time_ns);
  // Bytes of a body went by unseen (sendfile).
  std::vector<HttpMessage> skip(uint64_t size, uint64_t time_ns);

  State state() const;
  // In kInMessage behind its head: what is there so far, for a message that is never whole.
  const HttpMessage& open_message() const { return message_; }

 private:
  void on_head(const http1::MessageHead& head, size_t end) override;
  void on_body(const char* data, size_t size) override;
  void on_complete(size_t end, Hash128 body, uint64_t size) override;
  void read_trailers(size_t end);

  http1::Direction direction_;
  http1::RequestTexts texts_;
  http1::Outstanding outstanding_;
  http1::MessageParser parser_;
  llhttp_t fields_;  // reads the names and values that core/http1 does not keep
  HttpMessage message_;
  std::vector<HttpMessage> whole_;
  std::string head_;  // what came of a head in earlier feeds
  std::string name_, value_;
  std::string_view fed_;    // the current feed
  size_t head_begin_ = 0;   // in `fed_`: what follows belongs to a head
  size_t trailers_at_ = 0;  // in `fed_`: what follows was not given to `fields_`
  bool in_body_ = false, follows_trailers_ = false, finishing_ = false, failed_ = false;
  uint64_t time_ns_ = 0, begun_ns_ = 0, number_ = 0;

  friend struct FieldCallbacks;
};

// A request with the fields that it has, and Content-Length (or chunks, where it is `chunked`).
std::string http1_request_bytes(const HttpMessage& message);
// An answer, to a request whose method is `method`. Nothing follows the head of an answer that has
// no body.
std::string http1_answer_bytes(const HttpMessage& message, std::string_view method);

}  // namespace filibuster::wire
