// A passive HTTP/1.x parser over llhttp for one direction of one connection (RFC 9112).
//
// Feed it the bytes of the stream in any split; it calls the handler with positions relative to the
// start of the current feed, so that the caller can cut the very bytes it was given. It never
// guesses: what is not HTTP/1.x makes it kInvalid for good. It never allocates: header values of
// interest and the target are kept in fixed buffers (truncation is flagged).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/hash.h"

extern "C" {
#include <llhttp/llhttp.h>
}

namespace filibuster::http1 {

enum class Direction : uint8_t { kRequests, kResponses };

enum class ParseState : uint8_t {
  kStart,      // between messages (an idle point): no byte of a message was seen
  kHead,       // in the start line or the header fields
  kBody,
  kUpgraded,   // 101 or CONNECT: the rest is another protocol, nothing is parsed any more
  kInvalid,    // not HTTP/1.x: nothing is parsed any more
};

struct MessageHead {
  // requests
  std::string_view method;
  std::string_view target;       // as sent; at most kMaxTarget bytes, target_truncated says more
  bool target_truncated = false;
  std::string_view host;         // without the port; at most 255 bytes
  std::string_view filibuster;   // value of our field; the last one if there are several
  size_t filibuster_offset = 0;  // where its value begins, from the start of the *message*
  bool expect_continue = false;
  // responses
  uint16_t status = 0;
  // both
  bool has_content_length = false;
  uint64_t content_length = 0;
  bool chunked = false;
  bool keep_alive = true;
  // First byte after the request or status line, from the start of the message: our field goes here.
  size_t after_start_line = 0;
  size_t head_size = 0;  // start line, fields and the empty line, in bytes
};

class Handler {
 public:
  // `end` = offset in this feed of the first byte after the head.
  virtual void on_head(const MessageHead& head, size_t end) = 0;
  virtual void on_body(const char* data, size_t size) = 0;
  // `end` = offset in this feed of the first byte after the message. `body` = digest of the body as
  // transferred after removal of chunked coding; `size` its bytes.
  virtual void on_complete(size_t end, Hash128 body, uint64_t size) = 0;

 protected:
  ~Handler() = default;
};

inline constexpr size_t kMaxTarget = 2048;

class MessageParser {
 public:
  // `handler` outlives the parser.
  MessageParser(Direction direction, Handler* handler);
  MessageParser(const MessageParser&) = delete;

  // Consumes all of it unless the state becomes kUpgraded or kInvalid; returns the state after it.
  ParseState feed(const char* data, size_t size);
  // Body bytes that went by unseen (sendfile): at most what is left of a body of known length.
  // Returns the state; kInvalid if there is no body to skip.
  ParseState skip_body(uint64_t size);
  // End of the stream: completes a body that is delimited by it. Returns the state after it.
  ParseState finish();
  // Responses: what the request was, to be called in order, before its response begins. A response
  // to HEAD has no body; a 2xx to CONNECT upgrades. Interim 1xx responses (but 101) do not count.
  void expect_response_to(std::string_view method);

  ParseState state() const { return state_; }
  // Bytes of the current message fed so far (0 in kStart).
  uint64_t message_bytes() const { return message_bytes_; }
  // Bytes of the body so far, chunked coding removed.
  uint64_t body_bytes() const { return body_bytes_; }

 private:
  friend struct Callbacks;
  Direction direction_;
  Handler* handler_;
  ParseState state_ = ParseState::kStart;
  uint64_t message_bytes_ = 0;
  uint64_t body_bytes_ = 0;
  // (the implementer adds what it needs; fixed size, no allocation)
  llhttp_t parser_;
};

// Quick test for the first bytes of a stream of unknown protocol.
enum class Sniff : uint8_t { kHttp1Request, kHttp2Preface, kTls, kNeedMore, kOther };
Sniff sniff(const char* data, size_t size);

}  // namespace filibuster::http1
