#include "core/http2/message_head.h"

#include "core/rpc/header_field.h"

namespace filibuster::http2 {
namespace {

// Digits only; false if there is another character, none, or the number is too large.
bool parse_decimal(std::string_view text, uint64_t* out) {
  uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9' || value > (UINT64_MAX - 9) / 10) return false;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  *out = value;
  return !text.empty();
}

}  // namespace

void HeadCollector::clear() {
  status_ = 0;
  request_id_row_ = kNoRequestId;
  was_attempted_ = false;
  request_id_.clear();
  told_.clear();
  has_grpc_status_ = has_authority_ = has_content_length_ = false;
  content_length_ = list_size_ = 0;
  method_.clear();
  authority_.clear();
  path_.clear();
  filibuster_.clear();
  grpc_status_.clear();
  grpc_message_.clear();
  grpc_words_ = {};
  content_type_.clear();
}

void HeadCollector::add_words(std::string_view name, std::string_view value) {
  if (value.empty()) return;
  grpc_words_ = combine(grpc_words_, combine(hash_text(name), hash_text(value)));
}

void HeadCollector::on_field(const Field& field) {
  const std::string_view name = field.name;
  const std::string_view value = field.value;
  list_size_ += name.size() + value.size() + 32;
  if (name.empty()) return;
  if (sought_ != nullptr) {
    const uint8_t row = sought_->request_ids.find(name);
    if (row < request_id_row_) {
      request_id_row_ = row;
      request_id_.set(value);
    }
    if (const uint8_t told = sought_->told.find(name); told != kNoField) {
      told_.begin(sought_->told.name(told));
      told_.append(value);
    }
  }
  // The first character is looked at first: nearly all fields are of no interest.
  switch (name[0]) {
    case ':':
      if (name == ":method") {
        method_.set(value);
      } else if (name == ":path") {
        path_.set(value);
      } else if (name == ":authority") {
        authority_.set(value);
        has_authority_ = true;
      } else if (name == ":status") {
        uint64_t status = 0;
        if (value.size() == 3 && parse_decimal(value, &status)) {
          status_ = static_cast<uint16_t>(status);
        }
      }
      break;
    case 'c':
      if (name == "content-type") {
        content_type_.set(value);
      } else if (name == "content-length") {
        has_content_length_ = parse_decimal(value, &content_length_);
      }
      break;
    case 'g':
      if (name == "grpc-status") {
        grpc_status_.set(value);
        has_grpc_status_ = true;
      } else if (name == "grpc-message") {
        grpc_message_.set(value);
        add_words(name, value);
      } else if (name == "grpc-status-details-bin") {
        add_words(name, value);
      } else if (name == kGrpcPreviousAttempts) {
        was_attempted_ = !value.empty() && value != "0";
      }
      break;
    case 'h':
      if (name == "host" && !has_authority_) authority_.set(value);
      break;
    case 'x':
      if (name == kHeaderName) filibuster_.set(value);
      break;
    default:
      break;
  }
}

MessageHead HeadCollector::head() const {
  MessageHead head;
  head.method = method_.view();
  head.authority = authority_.view();
  head.path = path_.view();
  head.path_truncated = path_.truncated;
  head.filibuster = filibuster_.view();
  head.request_id = request_id_.view();
  head.request_id_row = head.request_id.empty() ? kNoRequestId : request_id_row_;
  head.told = told_.view();
  head.was_attempted = was_attempted_;
  head.status = status_;
  head.has_grpc_status = has_grpc_status_;
  head.grpc_status = grpc_status_.view();
  head.grpc_message = grpc_message_.view();
  head.grpc_words = grpc_words_;
  head.content_type = content_type_.view();
  head.has_content_length = has_content_length_;
  head.content_length = content_length_;
  head.list_size = list_size_;
  return head;
}

}  // namespace filibuster::http2
