#include "core/http1/message_parser.h"

#include <cstring>

#include "core/rpc/header_field.h"
#include "core/text/ascii.h"

namespace filibuster::http1 {
namespace {

using Expected = Outstanding::Expected;

bool is_line_end(char c) {
  return c == '\r' || c == '\n';
}

}  // namespace

struct Callbacks {
  static MessageParser* self(llhttp_t* p) { return static_cast<MessageParser*>(p->data); }

  static int on_url(llhttp_t* p, const char* at, size_t size) {
    self(p)->texts_->target.append(at, size);
    return 0;
  }
  // No field of a response is of interest, but for those that llhttp reads itself.
  static int on_header_field(llhttp_t* p, const char* at, size_t size) {
    if (RequestTexts* texts = self(p)->texts_) texts->name.append(at, size);
    return 0;
  }
  static int on_header_field_complete(llhttp_t* p) {
    MessageParser* m = self(p);
    if (m->texts_ == nullptr) return 0;
    RequestTexts& t = *m->texts_;
    m->field_ = MessageParser::Field::kOther;
    m->field_is_told_ = false;
    if (!m->head_done_ && !t.name.truncated) {
      const std::string_view name = t.name.view();
      m->begin_told_field(name);
      if (equal_ignoring_case(name, kHeaderName)) {
        m->field_ = MessageParser::Field::kFilibuster;  // the last one wins
        t.filibuster.clear();
        m->filibuster_offset_ = 0;
      } else if (equal_ignoring_case(name, "host") && t.host.size == 0) {
        m->field_ = MessageParser::Field::kHost;
      } else if (equal_ignoring_case(name, "expect") && t.expect.size == 0) {
        m->field_ = MessageParser::Field::kExpect;
      } else if (equal_ignoring_case(name, "upgrade")) {
        m->field_ = MessageParser::Field::kUpgrade;
        if (t.upgrade.size != 0) t.upgrade.append(",", 1);
      } else if (equal_ignoring_case(name, "http2-settings")) {
        m->field_ = MessageParser::Field::kHttp2Settings;
        // Exactly one is allowed (RFC 7540 §3.2.1).
        if (t.http2_settings.size != 0) t.http2_settings.truncated = true;
      } else if (m->sought_ != nullptr) {
        // Of several, the one that the table has first.
        const uint8_t row = m->sought_->request_ids.find(name);
        if (row < t.request_id_row) {
          m->field_ = MessageParser::Field::kRequestId;
          t.request_id_row = row;
          t.request_id.clear();
        }
      }
    }
    t.name.clear();
    return 0;
  }
  static int on_header_value(llhttp_t* p, const char* at, size_t size) {
    self(p)->take_field_value(at, size);
    return 0;
  }
  static int on_headers_complete(llhttp_t*) { return HPE_PAUSED; }
  static int on_body(llhttp_t* p, const char* at, size_t size) {
    self(p)->take_body(at, size);
    return 0;
  }
  static int on_message_complete(llhttp_t*) { return HPE_PAUSED; }
  static int on_chunk_header(llhttp_t* p) {
    self(p)->in_chunk_ = p->content_length > 0;
    return 0;
  }
  static int on_chunk_complete(llhttp_t* p) {
    self(p)->in_chunk_ = false;
    return 0;
  }
};

namespace {

constexpr llhttp_settings_t make_settings() {
  llhttp_settings_t settings = {};
  settings.on_url = Callbacks::on_url;
  settings.on_header_field = Callbacks::on_header_field;
  settings.on_header_field_complete = Callbacks::on_header_field_complete;
  settings.on_header_value = Callbacks::on_header_value;
  settings.on_headers_complete = Callbacks::on_headers_complete;
  settings.on_body = Callbacks::on_body;
  settings.on_message_complete = Callbacks::on_message_complete;
  settings.on_chunk_header = Callbacks::on_chunk_header;
  settings.on_chunk_complete = Callbacks::on_chunk_complete;
  return settings;
}
constexpr llhttp_settings_t kSettings = make_settings();

}  // namespace

void MessageParser::begin_message() {
  // A fresh start for each message: llhttp's own idea of when a connection ends is not followed
  // (after 'Connection: close' it swallows all that comes).
  llhttp_init(&parser_, direction_ == Direction::kRequests ? HTTP_REQUEST : HTTP_RESPONSE,
              &kSettings);
  parser_.data = this;
  state_ = ParseState::kHead;
  message_bytes_ = 0;
  body_bytes_ = 0;
  start_line_done_ = start_line_cr_ = head_done_ = interim_ = until_eof_ = in_chunk_ = false;
  whole_body_hashed_ = body_ignored_ = false;
  field_ = Field::kOther;
  field_is_told_ = false;
  after_start_line_ = 0;
  filibuster_offset_ = filibuster_end_ = skipped_ = 0;
  start_line_tail_size_ = 0;
  if (texts_ != nullptr) texts_->clear();
}

// Finds the end of the start line, and refuses what llhttp lets pass: a CR that ends it alone, and
// request lines of RTSP and ICE.
bool MessageParser::scan_start_line(const char* data, size_t size) {
  const char* lf = static_cast<const char*>(std::memchr(data, '\n', size));
  const size_t line = lf != nullptr ? static_cast<size_t>(lf - data) : size;
  if (start_line_cr_ && line != 0) return false;
  const char* cr = static_cast<const char*>(std::memchr(data, '\r', line));
  if (cr != nullptr && cr + 1 != data + line) return false;
  start_line_cr_ = cr != nullptr;
  const size_t text = cr != nullptr ? line - 1 : line;

  constexpr size_t kTail = sizeof start_line_tail_;
  if (text >= kTail) {
    std::memcpy(start_line_tail_, data + text - kTail, kTail);
    start_line_tail_size_ = kTail;
  } else {
    const size_t keep = start_line_tail_size_ + text > kTail ? kTail - text : start_line_tail_size_;
    std::memmove(start_line_tail_, start_line_tail_ + start_line_tail_size_ - keep, keep);
    std::memcpy(start_line_tail_ + keep, data, text);
    start_line_tail_size_ = keep + text;
  }
  if (lf == nullptr) return true;

  start_line_done_ = true;
  after_start_line_ = static_cast<size_t>(message_bytes_) + line + 1;
  if (direction_ == Direction::kResponses) return true;
  const std::string_view tail(start_line_tail_, start_line_tail_size_);
  return tail == "HTTP/1.1" || tail == "HTTP/1.0";
}

void MessageParser::begin_told_field(std::string_view name) {
  const uint8_t row = sought_ == nullptr ? kNoField : sought_->told.find(name);
  field_is_told_ = row != kNoField;
  if (field_is_told_) texts_->told.begin(sought_->told.name(row));
}

void MessageParser::take_field_value(const char* data, size_t size) {
  if (size == 0) return;
  if (field_is_told_) texts_->told.append({data, size});
  switch (field_) {
    case Field::kOther:
      return;
    case Field::kHost:
      texts_->host.append(data, size);
      return;
    case Field::kExpect:
      texts_->expect.append(data, size);
      return;
    case Field::kUpgrade:
      texts_->upgrade.append(data, size);
      return;
    case Field::kHttp2Settings:
      texts_->http2_settings.append(data, size);
      return;
    case Field::kRequestId:
      texts_->request_id.append(data, size);
      return;
    case Field::kFilibuster: {
      const uint64_t offset = message_bytes_ + static_cast<uint64_t>(data - piece_);
      if (texts_->filibuster.size == 0) {
        filibuster_offset_ = offset;
      } else if (offset != filibuster_end_) {
        // The value is folded over two lines: it is not one run of bytes, and must not pass for a value.
        texts_->filibuster.append(" ", 1);
      }
      texts_->filibuster.append(data, size);
      filibuster_end_ = offset + size;
      return;
    }
  }
}

// `end` = first byte after the head, in the current feed. False: not HTTP/1.x.
bool MessageParser::complete_head(const char* end) {
  // llhttp takes any byte after the last CR.
  if (end[-1] != '\n' || parser_.http_major != 1) return false;
  head_done_ = true;
  // Upgrades are decided here, not by llhttp.
  parser_.upgrade = 0;

  MessageHead head;
  bool upgrades = false;
  if (direction_ == Direction::kRequests) {
    const RequestTexts& t = *texts_;
    head.method = llhttp_method_name(static_cast<llhttp_method_t>(parser_.method));
    head.target = t.target.view();
    head.target_truncated = t.target.truncated;
    head.host = t.host_name();
    head.filibuster = trim_end(t.filibuster.view());
    head.filibuster_offset = static_cast<size_t>(filibuster_offset_);
    head.expect_continue = equal_ignoring_case(trim_end(t.expect.view()), "100-continue");
    head.request_id = trim_end(t.request_id.view());
    head.request_id_row = head.request_id.empty() ? kNoRequestId : t.request_id_row;
    head.told = t.told.view();
    head.upgrade_h2c = t.ask_for_h2c();
    if (head.upgrade_h2c) head.http2_settings = trim_end(t.http2_settings.view());
    upgrades = parser_.method == HTTP_CONNECT;
  } else {
    const uint16_t status = parser_.status_code;
    head.status = status;
    if (status < 100) return false;
    interim_ = status < 200 && status != 101;
    const Expected expected = interim_ ? Expected::kOrdinary : outstanding_->take();
    upgrades = status == 101 || (expected == Expected::kTunnel && status < 300);
    if (status < 200 || status == 204 || status == 304 || expected == Expected::kNoBody ||
        upgrades) {
      parser_.flags |= F_SKIPBODY;
    }
    until_eof_ = llhttp_message_needs_eof(&parser_) != 0;
  }
  head.has_content_length = (parser_.flags & F_CONTENT_LENGTH) != 0;
  head.content_length = head.has_content_length ? parser_.content_length : 0;
  head.chunked = (parser_.flags & F_CHUNKED) != 0;
  head.keep_alive = llhttp_should_keep_alive(&parser_) != 0;
  head.after_start_line = after_start_line_;
  head.head_size = static_cast<size_t>(message_bytes_);
  const auto offset = static_cast<size_t>(end - feed_);
  state_ = ParseState::kBody;
  if (!interim_) handler_->on_head(head, offset);
  if (upgrades) {
    complete_message(offset);
    state_ = ParseState::kUpgraded;
  }
  return true;
}

void MessageParser::take_body(const char* data, size_t size) {
  if (size == 0) return;
  if (body_ignored_) {
    // The bytes are counted only.
  } else if (body_bytes_ == 0 && !until_eof_ && (parser_.flags & F_CHUNKED) == 0 &&
             parser_.content_length == 0) {
    // A body of known length, and llhttp has counted it down: this piece is all of it.
    body_hash_ = hash_bytes(data, size);
    whole_body_hashed_ = true;
  } else {
    if (body_bytes_ == skipped_) body_stream_.reset();
    body_stream_.update(data, size);
  }
  body_bytes_ += size;
  handler_->on_body(data, size);
}

void MessageParser::complete_message(size_t end) {
  Hash128 digest;
  if (body_ignored_) {
    // The digest stays zero.
  } else if (whole_body_hashed_) {
    digest = body_hash_;
  } else if (body_bytes_ == skipped_) {
    digest = hash_bytes("", 0);
  } else {
    digest = body_stream_.digest();
  }
  if (skipped_ != 0 && !body_ignored_) digest = combine(digest, skipped_);
  state_ = ParseState::kStart;
  if (!interim_) handler_->on_complete(end, digest, body_bytes_);
  message_bytes_ = 0;
}

ParseState MessageParser::feed(const char* data, size_t size) {
  if (size == 0 || state_ == ParseState::kUpgraded || state_ == ParseState::kInvalid) return state_;
  const char* const end = data + size;
  const char* p = data;
  feed_ = data;
  for (;;) {
    if (state_ == ParseState::kUpgraded || state_ == ParseState::kInvalid) return state_;
    if (state_ == ParseState::kStart) {
      while (p != end && is_line_end(*p)) ++p;
      if (p == end) return state_;
      begin_message();
    }
    if (until_eof_) {
      const auto rest = static_cast<size_t>(end - p);
      message_bytes_ += rest;
      take_body(p, rest);
      return state_;
    }
    const auto rest = static_cast<size_t>(end - p);
    if (!start_line_done_ && !scan_start_line(p, rest)) return state_ = ParseState::kInvalid;
    piece_ = p;
    const llhttp_errno_t error = llhttp_execute(&parser_, p, rest);
    if (error == HPE_OK) {
      message_bytes_ += rest;
      return state_;
    }
    if (error != HPE_PAUSED) return state_ = ParseState::kInvalid;
    // Paused at the end of a head or of a message. With nothing left the loop still runs once more:
    // an empty body ends without a further byte.
    const char* position = llhttp_get_error_pos(&parser_);
    message_bytes_ += static_cast<uint64_t>(position - p);
    p = position;
    llhttp_resume(&parser_);
    if (head_done_) {
      complete_message(static_cast<size_t>(p - data));
    } else if (!complete_head(p)) {
      return state_ = ParseState::kInvalid;
    }
  }
}

ParseState MessageParser::skip_body(uint64_t size) {
  if (size == 0 || state_ == ParseState::kUpgraded || state_ == ParseState::kInvalid) return state_;
  if (state_ != ParseState::kBody) return state_ = ParseState::kInvalid;
  const bool chunked = (parser_.flags & F_CHUNKED) != 0;
  if (!until_eof_) {
    // What is left of the body, or of this chunk: llhttp counts it down.
    const uint64_t left = chunked && !in_chunk_ ? 0 : parser_.content_length;
    if (size > left) return state_ = ParseState::kInvalid;
    parser_.content_length = left - size;
  }
  message_bytes_ += size;
  body_bytes_ += size;
  skipped_ += size;
  if (!until_eof_ && !chunked && parser_.content_length == 0) complete_message(0);
  return state_;
}

ParseState MessageParser::finish() {
  if (state_ == ParseState::kBody && until_eof_) complete_message(0);
  return state_;
}

void MessageParser::expect_response_to(std::string_view method) {
  if (state_ == ParseState::kUpgraded || state_ == ParseState::kInvalid) return;
  const Expected expected = method == "HEAD"      ? Expected::kNoBody
                            : method == "CONNECT" ? Expected::kTunnel
                                                  : Expected::kOrdinary;
  if (!outstanding_->add(expected)) state_ = ParseState::kInvalid;
}

}  // namespace filibuster::http1
