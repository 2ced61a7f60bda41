// Whole messages of HTTP/1.1 (RFC 9112): from the bytes of one direction of a connection, in any
// split, and back to bytes. Frames are found by core/http1, so that the preload and this reader
// agree on where a message ends.
#pragma once

#include <llhttp/llhttp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/http1/message_parser.h"

namespace filibuster::wire {

// In order, as they were sent; values without the blanks around them.
using Headers = std::vector<std::pair<std::string, std::string>>;

// What is beyond is not kept, and the message says so.
inline constexpr size_t kMostMessageBody = 4 * 1024 * 1024;
inline constexpr size_t kMostMessageHead = 256 * 1024;

struct Http1Piece {
  size_t size = 0;  // bytes of the body
  uint64_t time_ns = 0;

  bool operator==(const Http1Piece&) const = default;
};

struct Http1Message {
  // The n-th request of its connection, from 1, or the answer to the n-th one.
  uint64_t number = 0;
  std::string method, target;  // requests
  uint16_t status = 0;         // answers
  std::string reason;
  uint8_t minor = 1;  // of the version: HTTP/1.`minor`
  Headers headers, trailers;
  std::string body;  // chunked coding removed
  // The body as it came; bytes that were read at one time are one piece.
  std::vector<Http1Piece> pieces;
  bool chunked = false;
  bool until_close = false;  // the end of the connection ends the body
  bool keep_alive = true;
  bool upgraded = false;   // CONNECT, or 101: what follows is another protocol
  bool too_large = false;  // the body is only the beginning
  uint64_t unseen = 0;     // bytes of the body that went by unseen
  // When the first byte, the last one of the head and the last one were there.
  uint64_t begun_ns = 0, head_ns = 0, ended_ns = 0;
};

class Http1Reader final : http1::Handler {
 public:
  enum class State : uint8_t { kBetween, kInMessage, kUpgraded, kInvalid };

  explicit Http1Reader(http1::Direction direction);

  // Answers: what the requests were, in order, before their answers begin.
  void expect_answer_to(std::string_view method);
  // Times do not go back. Both return the messages that are whole now. Interim answers (1xx) are
  // none.
  std::vector<Http1Message> feed(std::string_view bytes, uint64_t time_ns);
  // The direction has ended.
  std::vector<Http1Message> finish(uint64_t time_ns);
  // Bytes of a body went by unseen (sendfile).
  std::vector<Http1Message> skip(uint64_t size, uint64_t time_ns);

  State state() const;
  // In kInMessage behind its head: what is there so far, for a message that is never whole.
  const Http1Message& open_message() const { return message_; }

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
  Http1Message message_;
  std::vector<Http1Message> whole_;
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
std::string http1_request_bytes(const Http1Message& message);
// An answer, to a request whose method is `method`. Nothing follows the head of an answer that has
// no body.
std::string http1_answer_bytes(const Http1Message& message, std::string_view method);

}  // namespace filibuster::wire
