#include "daemon/agents/http1_answer.h"

#include <algorithm>

#include "core/text/ascii.h"

namespace filibuster {
namespace {

// A slow body comes in so many pieces, if it has as many bytes.
constexpr size_t kPieces = 20;

// Fields that speak of this connection or of the framing, which is ours.
bool is_of_framing(std::string_view name) {
  for (const std::string_view framing :
       {"content-length", "transfer-encoding", "connection", "keep-alive", "trailer"}) {
    if (equal_ignoring_case(name, framing)) return true;
  }
  return false;
}

// The head without the fields that `drop` names.
template <typename Drop>
std::string without(std::string_view head, Drop drop) {
  std::string out;
  bool first = true, dropped = false;
  while (!head.empty()) {
    const size_t end = head.find('\n');
    const std::string_view line = head.substr(0, end == head.npos ? end : end + 1);
    head.remove_prefix(line.size());
    // RFC 9112 §5.2: a line that begins with a blank goes on with the field before it.
    const bool goes_on = !line.empty() && (line[0] == ' ' || line[0] == '\t');
    if (!first && !goes_on) dropped = drop(line.substr(0, line.find(':')));
    if (first || !dropped) out += line;
    first = false;
  }
  return out;
}

}  // namespace

Http1Answer::Http1Answer(bool head_request) : head_request_(head_request) {
  parser_.expect_response_to(head_request ? "HEAD" : "GET");
}

bool Http1Answer::feed(const char* data, size_t size) {
  if (head_.empty()) {
    before_feed_ = raw_.size();
    raw_.append(data, size);
  }
  const http1::ParseState state = parser_.feed(data, size);
  too_large_ = too_large_ || body_.size() > kMost || (head_.empty() && raw_.size() > kMost);
  return complete_ || too_large_ || state == http1::ParseState::kInvalid ||
         state == http1::ParseState::kUpgraded;
}

void Http1Answer::end_of_stream() {
  parser_.finish();
}

void Http1Answer::on_head(const http1::MessageHead& head, size_t end) {
  status_ = head.status;
  const size_t behind = before_feed_ + end;
  if (behind > raw_.size() || head.head_size > behind) return;
  head_ = raw_.substr(behind - head.head_size, head.head_size);
  // The empty line ends with LF, and mostly begins with CR.
  head_.pop_back();
  if (head_.ends_with('\r')) head_.pop_back();
  raw_.clear();
  raw_.shrink_to_fit();
}

void Http1Answer::on_body(const char* data, size_t size) {
  body_.append(data, size);
}

void Http1Answer::on_complete(size_t, Hash128, uint64_t) {
  complete_ = true;
}

Http1Answer::Rendered Http1Answer::render(const FaultSpec& fault) const {
  Rendered out;
  if (too_large_) {
    out.problem = "the answer has more than 64 MiB";
  } else if (!complete_ || head_.empty()) {
    out.problem = "the server's answer did not come whole";
  }
  const bool bodyless = head_request_ || status_ == 204 || status_ == 304;
  const bool needs_body = fault.kind != FaultKind::kLatency && fault.kind != FaultKind::kNone;
  if (out.problem.empty() && needs_body && (bodyless || body_.empty()))
    out.problem = "the answer has no body";
  if (!out.problem.empty()) return out;

  std::string body = body_;
  auto length = static_cast<int64_t>(body.size());
  out.stalls = stalls(fault);
  // (The caller's agent tells by the same half when nothing more comes: http1.cc.)
  if (fault.kind == FaultKind::kPartialMessage || out.stalls) body.resize(body.size() / 2);
  if (fault.kind == FaultKind::kEmptyMessage) {
    body.clear();
    length = 0;
  }
  if (fault.kind == FaultKind::kCorruptMessage)
    std::transform(body.begin(), body.end(), body.begin(),
                   [](char c) { return static_cast<char>(~c); });
  if (fault.kind == FaultKind::kContentLength) length = std::max<int64_t>(0, length + fault.delta);

  if (bodyless) {  // its Content-Length is that of another answer
    out.bytes = without(head_, [](std::string_view name) {
      return equal_ignoring_case(name, "connection") || equal_ignoring_case(name, "keep-alive");
    });
  } else {
    out.bytes = without(head_, [&](std::string_view name) {
      return is_of_framing(name) || (fault.kind == FaultKind::kEmptyMessage &&
                                     equal_ignoring_case(name, "content-encoding"));
    });
    out.bytes += "Content-Length: " + std::to_string(length) + "\r\n";
  }
  out.bytes += "Connection: close\r\n\r\n";
  const size_t head_size = out.bytes.size();
  out.bytes += body;

  const uint64_t time_ns = fault.latency_ms * uint64_t{1'000'000};
  if (fault.kind != FaultKind::kSlowBody || out.stalls) {
    out.steps.push_back({out.bytes.size(), fault.kind == FaultKind::kLatency ? time_ns : 0});
    return out;
  }
  out.steps.push_back({head_size, 0});
  const size_t pieces = std::min(kPieces, body.size());
  for (size_t i = 1; i <= pieces; ++i)
    out.steps.push_back({head_size + body.size() * i / pieces, time_ns * i / pieces});
  return out;
}

}  // namespace filibuster
