#include "daemon/relay/changed_answer.h"

#include <algorithm>

#include "daemon/base/fault_texts.h"

namespace filibuster {

using http2::ErrorCode;
using PartKind = AnswerPart::Kind;

namespace {

bool is_message_fault(FaultKind kind) {
  return kind == FaultKind::kPartialMessage || kind == FaultKind::kEmptyMessage ||
         kind == FaultKind::kCorruptMessage;
}

bool is_status_field(std::string_view name) {
  return name == "grpc-status" || name == "grpc-message" || name == "grpc-status-details-bin";
}

}  // namespace

ChangedAnswer::ChangedAnswer(const FaultSpec& fault)
    : fault_(fault), reads_messages_(fault.at_message > 0 || is_message_fault(fault.kind)) {}

// When a part that comes now may leave.
uint64_t ChangedAnswer::due() {
  if (fault_.kind != FaultKind::kLatency || messages_ < fault_.at_message) return 0;
  if (release_ns_ == 0) release_ns_ = now_ns_ + fault_.latency_ms * uint64_t{1'000'000};
  applied_ = true;
  return release_ns_;
}

AnswerPart& ChangedAnswer::add(PartKind kind) {
  AnswerPart& part = parts_.emplace_back();
  part.kind = kind;
  part.due_ns = due();
  return part;
}

void ChangedAnswer::add_data(std::string_view bytes) {
  kept_ += bytes.size();
  if (fault_.kind == FaultKind::kNone && kept_ > kMostHeld) return parts_.clear();
  const uint64_t due_ns = due();
  if (parts_.empty() || parts_.back().kind != PartKind::kData || parts_.back().due_ns != due_ns) {
    add(PartKind::kData);
  }
  parts_.back().bytes.append(bytes);
}

void ChangedAnswer::cut(PartKind kind, ErrorCode error) {
  add(kind).error = error;
  applied_ = ended_ = true;
}

void ChangedAnswer::field(const http2::Field& field) {
  if (ended_) return;
  if (field.name == ":status") {
    interim_ = field.value.starts_with('1');
    error_ = error_ || field.value >= "400";
  }
  error_ = error_ || (field.name == "grpc-status" && field.value != "0");
  // What is changed may be shorter than the server said.
  if (field.name == "content-length") return;
  if (fault_.kind == FaultKind::kNoTrailers && is_status_field(field.name)) return;
  const size_t before = literals_.size();
  literals_.resize(before + http2::literal_size(field.name, field.value));
  http2::Output out(literals_.data() + before, literals_.size() - before);
  http2::write_literal(field, out);
}

void ChangedAnswer::end_block(bool end, uint64_t now_ns) {
  now_ns_ = now_ns;
  std::string literals = std::move(literals_);
  literals_.clear();
  const bool interim = interim_;
  interim_ = false;
  if (ended_) return;
  if (end && fault_.kind == FaultKind::kNoTrailers) {
    applied_ = true;
    if (head_seen_) {
      this->end(now_ns);
      return;
    }
  }
  head_seen_ = head_seen_ || !interim;
  AnswerPart& part = add(PartKind::kBlock);
  part.bytes = std::move(literals);
  part.end = ended_ = end;
}

void ChangedAnswer::data(std::string_view bytes, uint64_t now_ns) {
  now_ns_ = now_ns;
  if (ended_ || bytes.empty()) return;
  if (!reads_messages_) {
    add_data(bytes);
  } else if (!reader_.feed(bytes.data(), bytes.size(), this) && !ended_) {
    // The data that was kept already may be no message either, so the answer cannot go on.
    garbled_ = ended_ = true;
    add(PartKind::kReset).error = ErrorCode::kInternalError;
  }
}

void ChangedAnswer::end(uint64_t now_ns) {
  now_ns_ = now_ns;
  if (ended_) return;
  const uint64_t due_ns = due();
  if (parts_.empty() || parts_.back().kind != PartKind::kData || parts_.back().due_ns != due_ns) {
    add(PartKind::kData);
  }
  parts_.back().end = ended_ = true;
}

void ChangedAnswer::reset(ErrorCode error, uint64_t now_ns) {
  now_ns_ = now_ns;
  if (ended_) return;
  add(PartKind::kReset).error = error;
  ended_ = error_ = true;
}

void ChangedAnswer::on_message(const grpc::MessageInfo& info) {
  if (ended_) return;
  char prefix[grpc::kPrefixSize];
  const bool empty = fault_.kind == FaultKind::kEmptyMessage;
  applied_ = applied_ || (empty && info.size > 0);
  grpc::write_prefix(info.compressed && !empty, empty ? 0 : info.size, prefix);
  std::string_view kept(prefix, sizeof prefix);
  if (fault_.kind == FaultKind::kPartialMessage) {
    half_left_ = (sizeof prefix + uint64_t{info.size}) / 2;
    kept = kept.substr(0, half_left_);
    half_left_ -= kept.size();
  }
  add_data(kept);
  if (fault_.kind == FaultKind::kPartialMessage && half_left_ == 0) {
    cut(PartKind::kReset, ErrorCode::kInternalError);
  }
}

void ChangedAnswer::on_message_bytes(const grpc::MessageInfo&, const char* data, size_t size) {
  if (ended_ || fault_.kind == FaultKind::kEmptyMessage) return;
  if (fault_.kind == FaultKind::kCorruptMessage) {
    std::string inverted(data, size);
    for (char& c : inverted) c = static_cast<char>(~c);
    add_data(inverted);
    applied_ = true;
    return;
  }
  if (fault_.kind != FaultKind::kPartialMessage) {
    add_data({data, size});
    return;
  }
  const auto kept = static_cast<size_t>(std::min<uint64_t>(half_left_, size));
  add_data({data, kept});
  half_left_ -= kept;
  if (half_left_ == 0) cut(PartKind::kReset, ErrorCode::kInternalError);
}

void ChangedAnswer::on_message_end(const grpc::MessageInfo&) {
  if (ended_ || ++messages_ != fault_.at_message) return;
  if (fault_.kind == FaultKind::kGrpc) cut(PartKind::kStatus, ErrorCode::kNoError);
  if (fault_.kind == FaultKind::kStreamReset) cut(PartKind::kReset, fault_.error);
}

std::string ChangedAnswer::unmet() const {
  if (applied_) return {};
  if (garbled_) return "the answer is not made of gRPC messages";
  if (fault_.at_message > 0) {
    return std::string(kAnswerEndedAfter) + std::to_string(messages_) +
           (messages_ == 1 ? " message" : " messages");
  }
  return is_message_fault(fault_.kind) ? "the answer had no message that it could change"
                                       : "the answer did not come";
}

}  // namespace filibuster
