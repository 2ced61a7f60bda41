#include "daemon/wire/http1_message.h"

#include <algorithm>

#include "core/fault/reason_phrases.h"
#include "core/text/ascii.h"
#include "core/text/number.h"

namespace filibuster::wire {

using http1::ParseState;

// Of the parser that reads fields.
struct FieldCallbacks {
  static Http1Reader* self(llhttp_t* parser) { return static_cast<Http1Reader*>(parser->data); }
  static int add(std::string* to, const char* at, size_t size) {
    to->append(at, size);
    return HPE_OK;
  }

  static const llhttp_settings_t* settings() {
    static const llhttp_settings_t kSettings = make();
    return &kSettings;
  }

 private:
  static llhttp_settings_t make() {
    llhttp_settings_t out;
    llhttp_settings_init(&out);
    out.on_url = [](llhttp_t* p, const char* at, size_t size) {
      return add(&self(p)->message_.target, at, size);
    };
    out.on_status = [](llhttp_t* p, const char* at, size_t size) {
      return add(&self(p)->message_.reason, at, size);
    };
    out.on_header_field = [](llhttp_t* p, const char* at, size_t size) {
      return add(&self(p)->name_, at, size);
    };
    out.on_header_value = [](llhttp_t* p, const char* at, size_t size) {
      return add(&self(p)->value_, at, size);
    };
    out.on_header_value_complete = [](llhttp_t* p) {
      Http1Reader* reader = self(p);
      Headers& to = reader->in_body_ ? reader->message_.trailers : reader->message_.headers;
      to.emplace_back(std::move(reader->name_),
                      std::string(http1::trim_end(std::exchange(reader->value_, {}))));
      reader->name_.clear();
      return int{HPE_OK};
    };
    return out;
  }
};

Http1Reader::Http1Reader(http1::Direction direction)
    : direction_(direction),
      parser_(direction == http1::Direction::kRequests
                  ? http1::MessageParser(&texts_, this)
                  : http1::MessageParser(&outstanding_, this)) {}

void Http1Reader::expect_answer_to(std::string_view method) {
  parser_.expect_response_to(method);
}

Http1Reader::State Http1Reader::state() const {
  if (failed_) return State::kInvalid;
  switch (parser_.state()) {
    case ParseState::kStart:
      return State::kBetween;
    case ParseState::kHead:
    case ParseState::kBody:
      return State::kInMessage;
    case ParseState::kUpgraded:
      return State::kUpgraded;
    case ParseState::kInvalid:
      break;
  }
  return State::kInvalid;
}

std::vector<HttpMessage> Http1Reader::feed(std::string_view bytes, uint64_t time_ns) {
  if (failed_ || bytes.empty()) return {};
  fed_ = bytes;
  time_ns_ = time_ns;
  head_begin_ = trailers_at_ = 0;
  if (!in_body_ && head_.empty()) begun_ns_ = time_ns;
  const ParseState state = parser_.feed(bytes.data(), bytes.size());
  if (in_body_) {
    if (follows_trailers_) read_trailers(bytes.size());
  } else if (state == ParseState::kHead) {
    head_ += bytes.substr(head_begin_);
    if (head_.size() > kMostMessageHead) failed_ = true;
  } else {
    head_.clear();
  }
  if (state == ParseState::kUpgraded && !whole_.empty()) whole_.back().upgraded = true;
  fed_ = {};
  return std::exchange(whole_, {});
}

std::vector<HttpMessage> Http1Reader::finish(uint64_t time_ns) {
  time_ns_ = time_ns;
  finishing_ = true;
  if (!failed_) parser_.finish();
  return std::exchange(whole_, {});
}

std::vector<HttpMessage> Http1Reader::skip(uint64_t size, uint64_t time_ns) {
  time_ns_ = time_ns;
  if (failed_) return {};
  follows_trailers_ = false;  // where they begin is not known any more
  message_.unseen += size;
  parser_.skip_body(size);
  return std::exchange(whole_, {});
}

void Http1Reader::on_head(const http1::MessageHead& head, size_t end) {
  parser_.ignore_body();  // only its digest is
  message_ = {};
  message_.number = ++number_;
  message_.method = head.method;
  message_.status = head.status;
  message_.chunked = head.chunked;
  message_.keep_alive = head.keep_alive;
  message_.begun_ns = begun_ns_;
  message_.head_ns = time_ns_;

  head_ += fed_.substr(head_begin_, end - head_begin_);
  // Interim answers and blank lines may stand before it.
  std::string_view bytes = head_;
  bytes.remove_prefix(bytes.size() - std::min(head.head_size, bytes.size()));
  llhttp_init(&fields_, direction_ == http1::Direction::kRequests ? HTTP_REQUEST : HTTP_RESPONSE,
              FieldCallbacks::settings());
  fields_.data = this;
  name_.clear();
  value_.clear();
  llhttp_execute(&fields_, bytes.data(), bytes.size());
  message_.minor = fields_.http_minor;
  head_.clear();
  in_body_ = true;
  follows_trailers_ = head.chunked;
  trailers_at_ = end;
}

void Http1Reader::on_body(const char* data, size_t size) {
  add_to_body(&message_, data, size, time_ns_);
}

void Http1Reader::on_complete(size_t end, Hash128, uint64_t) {
  if (follows_trailers_) read_trailers(end);
  message_.ended_ns = time_ns_;
  message_.until_close = finishing_;
  whole_.push_back(std::exchange(message_, {}));
  in_body_ = follows_trailers_ = false;
  head_begin_ = end;
  begun_ns_ = time_ns_;
}

// What llhttp says is of no interest: core/http1 has read the same bytes, and has found them good.
void Http1Reader::read_trailers(size_t end) {
  const std::string_view part = fed_.substr(trailers_at_, end - trailers_at_);
  trailers_at_ = end;
  if (!part.empty()) llhttp_execute(&fields_, part.data(), part.size());
}

namespace {

bool has_field(const Headers& headers, std::string_view lower) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& each) { return equal_ignoring_case(each.first, lower); });
}

void put_fields(std::string* out, const Headers& fields) {
  for (const auto& [name, value] : fields) out->append(name + ": " + value + "\r\n");
}

void put_body(std::string* out, const HttpMessage& message) {
  if (!message.chunked) {
    *out += message.body;
    return;
  }
  if (!message.body.empty()) {
    char digits[20];
    out->append(number_text(message.body.size(), 16, digits)).append("\r\n");
    out->append(message.body).append("\r\n");
  }
  *out += "0\r\n";
  put_fields(out, message.trailers);
  *out += "\r\n";
}

// The fields that say how long the body is, unless they are there.
void put_length(std::string* out, const HttpMessage& message, bool needed) {
  if (message.chunked) {
    if (!has_field(message.headers, "transfer-encoding")) *out += "Transfer-Encoding: chunked\r\n";
  } else if (needed && !message.until_close && !has_field(message.headers, "content-length")) {
    out->append("Content-Length: " + std::to_string(message.body.size()) + "\r\n");
  }
}

}  // namespace

std::string http1_request_bytes(const HttpMessage& message) {
  std::string out = message.method + " " + message.target + " HTTP/1.1\r\n";
  put_fields(&out, message.headers);
  // RFC 9110 §8.6: methods that anticipate content say that there is none.
  const bool anticipates =
      message.method == "POST" || message.method == "PUT" || message.method == "PATCH";
  put_length(&out, message, anticipates || !message.body.empty());
  out += "\r\n";
  put_body(&out, message);
  return out;
}

std::string http1_answer_bytes(const HttpMessage& message, std::string_view method) {
  const std::string reason(message.reason.empty() ? reason_phrase(message.status)
                                                  : std::string_view(message.reason));
  std::string out = "HTTP/1.1 " + std::to_string(message.status) + " " + reason + "\r\n";
  put_fields(&out, message.headers);
  const bool bodiless = message.status < 200 || message.status == 204 || message.status == 304;
  const bool tunnel = method == "CONNECT" && message.status < 300;
  if (!bodiless && !tunnel) put_length(&out, message, method != "HEAD");
  out += "\r\n";
  if (!bodiless && !tunnel && method != "HEAD") put_body(&out, message);
  return out;
}

}  // namespace filibuster::wire
