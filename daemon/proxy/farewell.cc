#include "daemon/proxy/farewell.h"

#include <algorithm>
#include <set>

#include "core/http1/message_parser.h"
#include "core/http2/frame.h"
#include "core/http2/retirement.h"

namespace filibuster::proxy {
namespace {

constexpr std::string_view kClose = "Connection: close\r\n";

}  // namespace

class Farewell::Http1 {
 public:
  void requests(std::string_view bytes) {
    if (broken()) return;
    from_client_.feed(bytes.data(), bytes.size());
  }

  std::string_view answers(std::string_view bytes, bool leaving, std::string* edited) {
    if (broken()) return bytes;
    leaving_ = leaving;
    insert_at_ = -1;
    fed_ = bytes;
    from_server_.feed(bytes.data(), bytes.size());
    if (insert_at_ < 0) return bytes;
    const auto at = static_cast<size_t>(insert_at_);
    edited->assign(bytes.substr(0, at));
    edited->append(kClose);
    edited->append(bytes.substr(at));
    return *edited;
  }

  bool is_over() const { return over_; }
  bool is_idle() const {
    return !broken() && open_ == 0 && from_client_.state() == http1::ParseState::kStart &&
           from_server_.state() == http1::ParseState::kStart;
  }

 private:
  bool broken() const {
    return from_client_.state() >= http1::ParseState::kUpgraded ||
           from_server_.state() >= http1::ParseState::kUpgraded;
  }

  class Requests final : public http1::Handler {
   public:
    explicit Requests(Http1* owner) : owner_(owner) {}
    void on_head(const http1::MessageHead& head, size_t) override {
      owner_->from_client_.ignore_body();
      owner_->from_server_.expect_response_to(head.method);
      ++owner_->open_;
    }
    void on_body(const char*, size_t) override {}
    void on_complete(size_t, Hash128, uint64_t) override {}

   private:
    Http1* owner_;
  };

  class Answers final : public http1::Handler {
   public:
    explicit Answers(Http1* owner) : owner_(owner) {}
    void on_head(const http1::MessageHead& head, size_t end) override {
      owner_->from_server_.ignore_body();
      owner_->answer_begins(head, end);
    }
    void on_body(const char*, size_t) override {}
    void on_complete(size_t, Hash128, uint64_t) override {
      if (owner_->open_ > 0) --owner_->open_;
      if (owner_->said_) owner_->over_ = true;
    }

   private:
    Http1* owner_;
  };

  void answer_begins(const http1::MessageHead& head, size_t end) {
    // Further requests that were sent already are answered first.
    if (!leaving_ || said_ || open_ > 1 || head.status < 200) return;
    if (!head.keep_alive) {
      said_ = true;  // the server itself says so
      return;
    }
    const int64_t line = static_cast<int64_t>(end) - static_cast<int64_t>(head.head_size) +
                         static_cast<int64_t>(head.after_start_line);
    if (line > 0) {
      insert_at_ = line;
    } else if (end >= 2 && fed_.substr(end - 2, 2) == "\r\n") {
      insert_at_ = static_cast<int64_t>(end) - 2;  // the first line is gone, the last is here
    } else {
      return;  // the next answer says it
    }
    said_ = true;
  }

  Requests on_request_{this};
  Answers on_answer_{this};
  http1::RequestTexts texts_;
  http1::Outstanding outstanding_;
  http1::MessageParser from_client_{&texts_, &on_request_};
  http1::MessageParser from_server_{&outstanding_, &on_answer_};
  std::string_view fed_;
  int64_t insert_at_ = -1;
  uint32_t open_ = 0;  // requests without their whole answer
  bool leaving_ = false;
  bool said_ = false;
  bool over_ = false;
};

// Frames are followed by their headers alone.
class Farewell::Http2 {
 public:
  void requests(std::string_view bytes) {
    if (preface_ < http2::kClientPreface.size()) {
      const size_t size = std::min(bytes.size(), http2::kClientPreface.size() - preface_);
      preface_ += size;
      bytes.remove_prefix(size);
      if (preface_ < http2::kClientPreface.size()) return;
    }
    constexpr size_t kSettings = 256;  // bytes in which a client's first SETTINGS stand
    if (settings_.size() < kSettings)
      settings_.append(bytes.substr(0, kSettings - settings_.size()));
    client_.feed(bytes, [this](const http2::FrameHeader& frame) {
      if (frame.type == http2::FrameType::kHeaders && frame.stream > highest_) {
        highest_ = frame.stream;
        open_.insert(frame.stream);
      }
      if (frame.type == http2::FrameType::kRstStream) open_.erase(frame.stream);
      return true;
    });
  }

  std::string_view answers(std::string_view bytes, bool leaving, std::string* edited) {
    size_t place = std::string_view::npos;
    if (leaving && !said_ && may_say()) place = 0;
    server_.feed(bytes, [this](const http2::FrameHeader& frame) {
      if (frame.type == http2::FrameType::kGoaway) said_ = true;
      if (frame.type == http2::FrameType::kRstStream) open_.erase(frame.stream);
      if (frame.has(http2::kFlagEndStream) &&
          (frame.type == http2::FrameType::kData || frame.type == http2::FrameType::kHeaders))
        open_.erase(frame.stream);
      return true;
    });
    if (said_ && place == std::string_view::npos) return bytes;
    if (place == std::string_view::npos) {
      if (!leaving || said_ || !may_say()) return bytes;
      edited->assign(bytes);
      edited->append(goaway());
      return *edited;
    }
    edited->assign(goaway());
    edited->append(bytes);
    return *edited;
  }

  std::string_view begin() { return may_say() && !said_ ? goaway() : std::string_view(); }

  bool is_over() const { return said_ && open_.empty() && server_.at_boundary(); }
  bool is_idle() const { return open_.empty() && server_.at_boundary() && client_.at_boundary(); }

 private:
  class Walk {
   public:
    template <typename Visit>
    void feed(std::string_view bytes, const Visit& visit) {
      while (!bytes.empty()) {
        if (left_ > 0) {
          const size_t size = std::min<uint64_t>(left_, bytes.size());
          left_ -= size;
          bytes.remove_prefix(size);
          continue;
        }
        header_[have_++] = bytes.front();
        bytes.remove_prefix(1);
        if (have_ < http2::kFrameHeaderSize) continue;
        have_ = 0;
        const http2::FrameHeader frame = http2::read_frame_header(header_);
        left_ = frame.length;
        ++frames_;
        const bool block = frame.type == http2::FrameType::kHeaders ||
                           frame.type == http2::FrameType::kPushPromise ||
                           frame.type == http2::FrameType::kContinuation;
        if (block) in_block_ = !frame.has(http2::kFlagEndHeaders);
        visit(frame);
      }
    }
    bool at_boundary() const { return left_ == 0 && have_ == 0 && !in_block_; }
    uint64_t frames() const { return frames_; }

   private:
    char header_[http2::kFrameHeaderSize] = {};
    size_t have_ = 0;
    uint64_t left_ = 0;
    uint64_t frames_ = 0;
    bool in_block_ = false;
  };

  // The first frame of a server is SETTINGS (§3.4). A client that fails on a GOAWAY goes by itself.
  bool may_say() const {
    return server_.frames() > 0 && server_.at_boundary() && !http2::fails_on_goaway(settings_);
  }

  std::string_view goaway() {
    said_ = true;
    http2::write_frame_header({8, http2::FrameType::kGoaway, 0, 0}, goaway_);
    http2::write_u32(goaway_ + http2::kFrameHeaderSize, 0x7fffffff);  // no stream is excluded
    http2::write_u32(goaway_ + http2::kFrameHeaderSize + 4, 0);       // NO_ERROR
    return {goaway_, sizeof goaway_};
  }

  Walk client_, server_;
  size_t preface_ = 0;
  std::string settings_;
  std::set<uint32_t> open_;  // streams without their whole answer
  uint32_t highest_ = 0;
  bool said_ = false;
  char goaway_[http2::kFrameHeaderSize + 8] = {};
};

Farewell::Farewell() = default;
Farewell::~Farewell() = default;

void Farewell::recognise(std::string_view bytes) {
  first_.append(bytes.substr(0, 256));
  switch (http1::sniff(first_.data(), first_.size())) {
    case http1::Sniff::kNeedMore:
      return;
    case http1::Sniff::kHttp1Request:
      protocol_ = Protocol::kHttp1;
      http1_ = std::make_unique<Http1>();
      break;
    case http1::Sniff::kHttp2Preface:
      protocol_ = Protocol::kHttp2;
      http2_ = std::make_unique<Http2>();
      break;
    case http1::Sniff::kTls:
    case http1::Sniff::kOther:
      protocol_ = Protocol::kOther;
      break;
  }
}

void Farewell::requests(std::string_view bytes) {
  if (protocol_ == Protocol::kUnknown) {
    const std::string before = first_;
    recognise(bytes);
    if (http1_ != nullptr) http1_->requests(before);
    if (http2_ != nullptr) http2_->requests(before);
    if (protocol_ != Protocol::kUnknown) first_ = {};
  }
  if (http1_ != nullptr) http1_->requests(bytes);
  if (http2_ != nullptr) http2_->requests(bytes);
}

std::string_view Farewell::answers(std::string_view bytes, std::string* edited) {
  // A server that speaks first speaks neither.
  if (protocol_ == Protocol::kUnknown) protocol_ = Protocol::kOther;
  if (http1_ != nullptr) return http1_->answers(bytes, leaving_ || ending_http1_, edited);
  if (http2_ != nullptr) return http2_->answers(bytes, leaving_, edited);
  return bytes;
}

std::string_view Farewell::begin() {
  leaving_ = true;
  return http2_ != nullptr ? http2_->begin() : std::string_view();
}

bool Farewell::is_over() const {
  return (http1_ != nullptr && http1_->is_over()) || (http2_ != nullptr && http2_->is_over());
}

bool Farewell::is_idle() const {
  if (protocol_ == Protocol::kUnknown) return first_.empty();
  return (http1_ != nullptr && http1_->is_idle()) || (http2_ != nullptr && http2_->is_idle());
}

}  // namespace filibuster::proxy
