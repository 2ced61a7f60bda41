// A passive HTTP/1.x parser over llhttp for one direction of one connection (RFC 9112).
//
// Feed it the bytes of the stream in any split; it calls the handler with positions relative to the
// start of the current feed, so that the caller can cut the very bytes it was given. It never
// guesses: what is not HTTP/1.x makes it kInvalid for good. It never allocates: header values of
// interest and the target are kept in buffers of the caller's (truncation is flagged).
//
// What it reports does not depend on the split. Every message gives on_head, any number of on_body,
// on_complete, with three exceptions that save each caller the same special cases:
//   - interim responses (1xx but 101) are parsed and not reported: they answer nothing;
//   - an upgrade (101; 2xx to CONNECT; a CONNECT request) ends its message with its head;
//   - a request's wish to upgrade is an ordinary message: the server may decline it.
// Blank lines before a message are no part of it. A message begins in the feed at end - head_size
// of its on_head (below 0: in an earlier feed); fields in trailers are not looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/hash.h"
#include "core/http1/parser_memory.h"
#include "core/rpc/request_ids.h"
#include "core/rpc/told_fields.h"

extern "C" {
#include <llhttp/llhttp.h>
}

namespace filibuster::http1 {

enum class Direction : uint8_t { kRequests, kResponses };

enum class ParseState : uint8_t {
  kStart,  // between messages (an idle point): no byte of a message was seen
  kHead,   // in the start line or the header fields
  kBody,
  kUpgraded,  // 101 or CONNECT: the rest is another protocol, nothing is parsed any more
  kInvalid,   // not HTTP/1.x: nothing is parsed any more
};

struct MessageHead {
  // requests
  std::string_view method;
  std::string_view target;  // as sent; at most kMaxTarget bytes, target_truncated says more
  bool target_truncated = false;
  std::string_view host;  // without the port, "[::1]" with brackets; at most 255 bytes
  // Value of our field; the last one if there are several; at most 128 bytes.
  std::string_view filibuster;
  size_t filibuster_offset = 0;  // where its value begins, from the start of the *message*
  bool expect_continue = false;
  // The request id (core/rpc/request_ids.h) of the first row of the table that the request carries, and that row's
  // number; kNoRequestId: it carries none, or no table was given.
  std::string_view request_id;
  uint8_t request_id_row = kNoRequestId;
  // The fields that the daemon is told (core/rpc/told_fields.h); "": none, or no table was given.
  std::string_view told;
  // Asks for HTTP/2 (Upgrade: h2c, RFC 7540 §3.2): if 101 answers, both directions go on with
  // core/http2, ConnectionView::begin_upgraded(http2_settings). HTTP/2 begins with the byte after the
  // head of the 101 on the server's side, with the byte after this request on the client's.
  bool upgrade_h2c = false;
  std::string_view http2_settings;  // as sent, with upgrade_h2c
  // responses
  uint16_t status = 0;
  // both
  bool has_content_length = false;
  uint64_t content_length = 0;
  bool chunked = false;
  bool keep_alive = true;
  // First byte after the request or status line, from the start of the message: our field goes
  // here.
  size_t after_start_line = 0;
  size_t head_size = 0;  // start line, fields and the empty line, in bytes
};

class Handler {
 public:
  // `end` = offset in this feed of the first byte after the head.
  virtual void on_head(const MessageHead& head, size_t end) = 0;
  virtual void on_body(const char* data, size_t size) = 0;
  // `end` = offset in this feed of the first byte after the message (0 if it was completed by
  // skip_body or finish). `body` = digest of the body as transferred after removal of chunked
  // coding (hash_bytes of it; bytes that were skipped enter it by their number only); `size` its
  // bytes.
  virtual void on_complete(size_t end, Hash128 body, uint64_t size) = 0;

 protected:
  ~Handler() = default;
};

class MessageParser {
 public:
  // Of requests. What is given outlives the parser.
  MessageParser(RequestTexts* texts, Handler* handler)
      : direction_(Direction::kRequests), handler_(handler), texts_(texts) {}
  // Of responses.
  MessageParser(Outstanding* outstanding, Handler* handler)
      : direction_(Direction::kResponses), handler_(handler), outstanding_(outstanding) {}
  MessageParser(const MessageParser&) = delete;
  MessageParser& operator=(const MessageParser&) = delete;

  // Which request ids heads have, and of which fields the values are told. The tables outlive the parser; nullptr: none.
  void look_for(const SoughtFields* sought) { sought_ = sought; }
  // Requests: the texts may be others, or none, wherever no message is under way. A feed needs some.
  void use(RequestTexts* texts) { texts_ = texts; }
  bool in_message() const { return state_ == ParseState::kHead || state_ == ParseState::kBody; }

  // Consumes all of it unless the state becomes kUpgraded or kInvalid; returns the state after it.
  ParseState feed(const char* data, size_t size);
  // Body bytes that went by unseen (sendfile): at most what is left of a body, or chunk, of known
  // length. Returns the state; kInvalid if there is no body to skip.
  ParseState skip_body(uint64_t size);
  // End of the stream: completes a body that is delimited by it. Returns the state after it: kHead
  // or kBody if a message was cut short.
  ParseState finish();
  // Called in on_head: nobody reads the digest of this message's body. on_complete gets a zero one.
  void ignore_body() { body_ignored_ = true; }
  // Responses: what the request was, to be called in order, before its response begins. A response
  // to HEAD has no body; a 2xx to CONNECT upgrades. Interim 1xx responses (but 101) do not count.
  // More than kMaxOutstanding of them unanswered: kInvalid.
  void expect_response_to(std::string_view method);

  ParseState state() const { return state_; }
  // Bytes of the body so far, chunked coding removed.
  uint64_t body_bytes() const { return body_bytes_; }

 private:
  friend struct Callbacks;  // llhttp's callbacks, in message_parser.cc
  enum class Field : uint8_t {
    kOther,
    kHost,
    kFilibuster,
    kExpect,
    kUpgrade,
    kHttp2Settings,
    kRequestId
  };

  void begin_message();
  bool scan_start_line(const char* data, size_t size);
  void begin_told_field(std::string_view name);
  void take_field_value(const char* data, size_t size);
  bool complete_head(const char* end);
  void complete_message(size_t end);
  void take_body(const char* data, size_t size);

  Direction direction_;
  ParseState state_ = ParseState::kStart;
  Handler* handler_;
  uint64_t message_bytes_ = 0;
  uint64_t body_bytes_ = 0;

  const char* feed_ = nullptr;   // first byte of the current feed
  const char* piece_ = nullptr;  // first byte of the current llhttp_execute
  llhttp_t parser_;

  // The current message.
  bool start_line_done_ = false;
  bool start_line_cr_ = false;  // the last byte of the last piece was a CR
  bool head_done_ = false;
  bool interim_ = false;
  bool until_eof_ = false;
  bool in_chunk_ = false;
  bool body_ignored_ = false;       // no digest is wanted
  bool whole_body_hashed_ = false;  // the body came in one piece: body_hash_ is its digest
  Field field_ = Field::kOther;
  bool field_is_told_ = false;
  size_t after_start_line_ = 0;
  uint64_t filibuster_offset_ = 0;
  uint64_t filibuster_end_ = 0;  // message offset after the last byte of the value so far
  uint64_t skipped_ = 0;         // body bytes of skip_body
  Hash128 body_hash_;
  HashStream body_stream_;
  char start_line_tail_[8];  // its last bytes: must say HTTP/1.x
  size_t start_line_tail_size_ = 0;
  const SoughtFields* sought_ = nullptr;
  RequestTexts* texts_ = nullptr;       // of a parser of requests
  Outstanding* outstanding_ = nullptr;  // of a parser of responses
};

// Quick test for the first bytes of a stream of unknown protocol.
enum class Sniff : uint8_t { kHttp1Request, kHttp2Preface, kTls, kNeedMore, kOther };
Sniff sniff(const char* data, size_t size);

}  // namespace filibuster::http1
