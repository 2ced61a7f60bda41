// The server's side of HTTP/1.1 (RFC 9112) over llhttp.
#include <llhttp/llhttp.h>

#include <algorithm>

#include "core/fault/reason_phrases.h"
#include "core/rpc/header_field.h"
#include "core/text/ascii.h"
#include "core/text/number.h"
#include "daemon/stubs/stub_connection.h"

namespace filibuster::stubs {
namespace {

constexpr uint16_t kNoStub = 501;  // Not Implemented: no client library tries again after it
constexpr size_t kMostHead = 256 * 1024;

class Http1Connection final : public StubConnection {
 public:
  explicit Http1Connection(std::string service) : service_(std::move(service)) {
    llhttp_settings_init(&settings_);
    settings_.on_message_begin = [](llhttp_t* p) { return self(p)->on_begin(); };
    settings_.on_url = [](llhttp_t* p, const char* at, size_t size) {
      return self(p)->add(&self(p)->call_.path, at, size);
    };
    settings_.on_header_field = [](llhttp_t* p, const char* at, size_t size) {
      return self(p)->on_field(at, size);
    };
    settings_.on_header_value = [](llhttp_t* p, const char* at, size_t size) {
      return self(p)->add(&self(p)->value_, at, size);
    };
    settings_.on_header_value_complete = [](llhttp_t* p) { return self(p)->on_field_end(); };
    settings_.on_headers_complete = [](llhttp_t* p) { return self(p)->on_head(); };
    settings_.on_body = [](llhttp_t* p, const char* at, size_t size) {
      return self(p)->on_body(at, size);
    };
    settings_.on_message_complete = [](llhttp_t* p) { return self(p)->on_end(); };
    llhttp_init(&parser_, HTTP_REQUEST, &settings_);
    parser_.data = this;
  }

  bool feed(std::string_view bytes) override {
    if (last_) return true;  // nothing is read behind the last request
    const llhttp_errno_t failed = llhttp_execute(&parser_, bytes.data(), bytes.size());
    // A request that asks to become something else gets its answer in HTTP/1.1.
    if (failed == HPE_PAUSED_UPGRADE) {
      const char* at = llhttp_get_error_pos(&parser_);
      llhttp_resume_after_upgrade(&parser_);
      return at == nullptr || at == bytes.data() + bytes.size() ||
             feed(bytes.substr(static_cast<size_t>(at - bytes.data())));
    }
    if (failed == HPE_OK || failed == HPE_PAUSED) return true;
    if (last_) return true;
    last_ = next_;
    in_order_.put(next_++,
                  bytes_of(400, {}, "filibuster: this is no request of HTTP/1.1\n", false, false),
                  &output_);
    return true;
  }

  void reply(uint64_t number, const Reply& reply) override {
    const Request request = requests_[number];
    requests_.erase(number);
    std::string bytes;
    if (reply.problem.empty() && comes_in_parts(reply, request)) {
      begin(number, request, reply);
      return;
    }
    if (reply.problem.empty()) {
      bytes = bytes_of(reply.answer.status, reply.answer.headers, reply.answer.body,
                       request.head_only, request.keep_alive);
    } else {
      bytes =
          bytes_of(kNoStub, {{"Content-Type", "text/plain; charset=utf-8"}},
                   "filibuster: " + reply.problem + "\n", request.head_only, request.keep_alive);
    }
    in_order_.put(number, std::move(bytes), &output_);
  }

  // Only of the reply whose turn it is.
  std::optional<DuePart> take_due() override {
    const auto found = in_parts_.find(in_order_.next());
    if (found == in_parts_.end() || found->second.is_told) return std::nullopt;
    found->second.is_told = true;
    return DuePart{found->first, found->second.reply.parts[found->second.next].gap};
  }
  void send_part(uint64_t number) override {
    const auto found = in_parts_.find(number);
    if (found == in_parts_.end()) return;
    InParts& of = found->second;
    const std::string part = of.reply.answer.body.substr(of.sent, of.reply.parts[of.next].size);
    of.sent += part.size();
    of.is_told = false;
    std::string bytes = of.is_chunked ? chunk_of(part) : part;
    if (++of.next < of.reply.parts.size()) return in_order_.put(number, bytes, &output_, false);
    const End end = of.reply.end;
    if (end == End::kNone && of.is_chunked) bytes += last_chunk(of.reply.trailers);
    in_parts_.erase(found);
    in_order_.put(number, bytes, &output_, end == End::kNone);
    if (end != End::kSilence) ended_ = end;
  }

  End ended() const override { return ended_; }
  bool finished() const override { return last_ && in_order_.next() > *last_; }

 private:
  struct Request {
    bool head_only = false, keep_alive = true;
    uint8_t minor = 1;
  };
  // An answer of which something is left to send.
  struct InParts {
    Reply reply;
    size_t next = 0, sent = 0;  // of its parts, and bytes
    bool is_chunked = true, is_told = false;
  };

  static bool is_bodiless(uint16_t status) {
    return status == 204 || status == 304 || status < 200;
  }
  static bool comes_in_parts(const Reply& reply, const Request& request) {
    return (!reply.parts.empty() || !reply.trailers.empty() || reply.end != End::kNone) &&
           !request.head_only && !is_bodiless(reply.answer.status);
  }
  // HTTP/1.0 has no chunks: the end of the connection is that of the body.
  void begin(uint64_t number, const Request& request, const Reply& reply) {
    InParts of{reply};
    of.is_chunked = request.minor != 0;
    if (of.reply.parts.empty()) of.reply.parts = {{reply.answer.body.size(), {}, {}}};
    std::string head = head_of(reply.answer.status, reply.answer.headers);
    if (of.is_chunked) head += "Transfer-Encoding: chunked\r\n";
    if (!request.keep_alive) head += "Connection: close\r\n";
    in_parts_.emplace(number, std::move(of));
    in_order_.put(number, head + "\r\n", &output_, false);
  }
  static std::string chunk_of(const std::string& part) {
    char digits[20];
    if (part.empty()) return "";
    return std::string(number_text(part.size(), 16, digits)) + "\r\n" + part + "\r\n";
  }
  static std::string last_chunk(const std::vector<std::pair<std::string, std::string>>& trailers) {
    std::string out = "0\r\n";
    for (const auto& [name, value] : trailers) out += name + ": " + value + "\r\n";
    return out + "\r\n";
  }
  static std::string head_of(uint16_t status,
                             const std::vector<std::pair<std::string, std::string>>& fields) {
    std::string out =
        "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason_phrase(status)) + "\r\n";
    for (const auto& [name, value] : fields) out += name + ": " + value + "\r\n";
    return out;
  }

  static Http1Connection* self(llhttp_t* parser) {
    return static_cast<Http1Connection*>(parser->data);
  }

  int add(std::string* to, const char* at, size_t size) {
    head_size_ += size;
    if (head_size_ > kMostHead) return HPE_USER;
    to->append(at, size);
    return HPE_OK;
  }
  int on_begin() {
    call_ = {};
    call_.service = service_;
    head_size_ = 0;
    expects_ = false;
    return HPE_OK;
  }
  int on_field(const char* at, size_t size) { return add(&name_, at, size); }
  int on_field_end() {
    const bool is_ours = equal_ignoring_case(name_, kHeaderName);
    if (is_ours) call_.field = value_;
    if (equal_ignoring_case(name_, "expect") && equal_ignoring_case(value_, "100-continue"))
      expects_ = true;
    if (!is_ours) call_.headers.emplace_back(name_, value_);
    name_.clear();
    value_.clear();
    return HPE_OK;
  }
  int on_head() {
    call_.method = llhttp_method_name(static_cast<llhttp_method_t>(parser_.method));
    // "http://users:8080/7": a client that takes us for a proxy.
    if (const size_t scheme = call_.path.find("://");
        scheme != std::string::npos && !call_.path.starts_with('/')) {
      const size_t slash = call_.path.find('/', scheme + 3);
      call_.path = slash == std::string::npos ? "/" : call_.path.substr(slash);
    }
    if (expects_ && next_ == in_order_.next()) output_ += "HTTP/1.1 100 Continue\r\n\r\n";
    return HPE_OK;
  }
  int on_body(const char* at, size_t size) {
    if (call_.body.size() + size > kMostBody) return HPE_USER;
    call_.body.append(at, size);
    return HPE_OK;
  }
  int on_end() {
    const bool keep_alive =
        llhttp_should_keep_alive(&parser_) != 0 && parser_.method != HTTP_CONNECT;
    requests_[next_] = {parser_.method == HTTP_HEAD, keep_alive, parser_.http_minor};
    call_.number = next_;
    calls_.push_back({next_, std::move(call_)});
    if (!keep_alive) last_ = next_;
    ++next_;
    return keep_alive ? HPE_OK : HPE_PAUSED;
  }

  static std::string bytes_of(uint16_t status,
                              const std::vector<std::pair<std::string, std::string>>& fields,
                              const std::string& body, bool head_only, bool keep_alive) {
    std::string out = head_of(status, fields);
    const bool bodiless = is_bodiless(status);
    const bool has_size = std::any_of(fields.begin(), fields.end(), [](const auto& each) {
      return equal_ignoring_case(each.first, "content-length");
    });
    if (!bodiless && !has_size) out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    if (!keep_alive) out += "Connection: close\r\n";
    out += "\r\n";
    if (!bodiless && !head_only) out += body;
    return out;
  }

  const std::string service_;
  llhttp_settings_t settings_;
  llhttp_t parser_;
  Call call_;
  std::string name_, value_;
  size_t head_size_ = 0;
  bool expects_ = false;
  uint64_t next_ = 0;
  std::optional<uint64_t> last_;  // the connection ends behind its answer
  std::map<uint64_t, Request> requests_;
  InOrder in_order_;
  std::map<uint64_t, InParts> in_parts_;
  End ended_ = End::kNone;
};

// Decides by what came first. A client that sends a part of the preface is waited for.
class HttpConnection final : public StubConnection {
 public:
  explicit HttpConnection(std::string service) : service_(std::move(service)) {}

  bool feed(std::string_view bytes) override {
    constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";  // RFC 9113 §3.4
    if (chosen_ == nullptr) {
      first_ += bytes;
      const size_t compared = std::min(first_.size(), kPreface.size());
      const bool may_be =
          std::string_view(first_).substr(0, compared) == kPreface.substr(0, compared);
      if (may_be && compared < kPreface.size()) return true;
      chosen_ = may_be ? make_http2_connection(service_) : make_http1_connection(service_);
      return feed_chosen(std::exchange(first_, {}));
    }
    return feed_chosen(bytes);
  }
  void reply(uint64_t number, const Reply& reply) override { chosen_->reply(number, reply); }
  std::optional<DuePart> take_due() override {
    return chosen_ == nullptr ? std::nullopt : chosen_->take_due();
  }
  void send_part(uint64_t number) override { chosen_->send_part(number); }
  Call* open_call(uint64_t number) override { return chosen_->open_call(number); }
  End ended() const override { return chosen_ == nullptr ? End::kNone : chosen_->ended(); }
  bool finished() const override { return chosen_ != nullptr && chosen_->finished(); }
  std::string take_output() override { return chosen_ == nullptr ? "" : chosen_->take_output(); }

 private:
  bool feed_chosen(std::string_view bytes) {
    const bool good = chosen_->feed(bytes);
    calls_ = chosen_->take_calls();
    return good;
  }

  const std::string service_;
  std::string first_;
  std::unique_ptr<StubConnection> chosen_;
};

}  // namespace

std::unique_ptr<StubConnection> make_http1_connection(std::string service) {
  return std::make_unique<Http1Connection>(std::move(service));
}

std::unique_ptr<StubConnection> make_http_connection(std::string service) {
  return std::make_unique<HttpConnection>(std::move(service));
}

}  // namespace filibuster::stubs
