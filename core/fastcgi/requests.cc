#include "core/fastcgi/requests.h"

#include <algorithm>
#include <cstring>

namespace filibuster::fastcgi {
namespace {

constexpr uint8_t kVersion = 1;
constexpr uint8_t kBeginRequest = 1, kAbortRequest = 2, kEndRequest = 3, kParams = 4, kStdin = 5,
                  kStdout = 6, kStderr = 7, kData = 8, kGetValues = 9, kUnknownType = 11;
constexpr size_t kHeader = 8;
constexpr size_t kBegin = 8, kEnd = 8;  // content of these records

constexpr std::string_view kMethod = "REQUEST_METHOD", kTarget = "REQUEST_URI",
                           kField = "HTTP_X_FILIBUSTER";

uint16_t two_bytes(const uint8_t* at) {
  return static_cast<uint16_t>(at[0] << 8 | at[1]);
}

}  // namespace

Sniff sniff(std::string_view first) {
  // Version, type, id, size of the content (8), padding, reserved; role, flags, five reserved.
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(first[i]); };
  const auto fits = [&](size_t i) {
    switch (i) {
      case 0:
        return byte(i) == kVersion;
      case 1:
        return byte(i) == kBeginRequest;
      case 3:
        return byte(2) != 0 || byte(3) != 0;
      case 4:
      case 7:
      case 8:
        return byte(i) == 0;
      case 5:
        return byte(i) == kBegin;
      case 9:
        return byte(i) >= 1 && byte(i) <= 3;
      default:
        return true;
    }
  };
  constexpr size_t kEnough = 10;
  for (size_t i = 0; i < std::min(first.size(), kEnough); ++i) {
    if (!fits(i)) return Sniff::kOther;
  }
  return first.size() >= kEnough ? Sniff::kRequest : Sniff::kNeedMore;
}

// --- requests --------------------------------------------------------------------------------------

bool RequestParser::begin_record() {
  header_size_ = 0;
  if (header_[0] != kVersion) return false;
  type_ = header_[1];
  id_ = two_bytes(header_ + 2);
  content_ = two_bytes(header_ + 4);
  padding_ = header_[6];
  switch (type_) {
    case kBeginRequest:
      if (content_ != kBegin || id_ == 0) return false;
      begin_request(id_);
      return true;
    case kAbortRequest:
    case kParams:
    case kStdin:
    case kData:
    case kGetValues:
      return true;
    default:
      return false;
  }
}

void RequestParser::begin_request(uint16_t id) {
  open_ = id;
  pair_ = Pair::kNameSize;
  size_bytes_ = 0;
  method_size_ = target_size_ = field_size_ = 0;
  name_size_ = value_size_ = read_ = 0;
  too_long_ = false;
}

bool RequestParser::feed(const char* data, size_t size, RequestHandler* handler) {
  size_t at = 0;
  // A record without content ends with its header.
  while (at < size ||
         (part_ != Part::kHeader && (part_ == Part::kContent ? content_ : padding_) == 0)) {
    switch (part_) {
      case Part::kHeader: {
        const size_t take = std::min(kHeader - header_size_, size - at);
        std::memcpy(header_ + header_size_, data + at, take);
        header_size_ = static_cast<uint8_t>(header_size_ + take);
        at += take;
        if (header_size_ < kHeader) break;
        if (!begin_record()) return false;
        part_ = Part::kContent;
        if (type_ == kParams && id_ == open_ && content_ == 0) {
          open_ = 0;
          handler->on_request(id_, {method_, method_size_}, {target_, target_size_},
                              {field_, too_long_ ? size_t{0} : field_size_});
        }
        break;
      }
      case Part::kContent: {
        const size_t take = std::min<size_t>(content_, size - at);
        if (type_ == kParams && id_ == open_ && take != 0) parameters(data + at, take, handler);
        at += take;
        content_ = static_cast<uint16_t>(content_ - take);
        if (content_ == 0) part_ = Part::kPadding;
        break;
      }
      case Part::kPadding: {
        const size_t take = std::min<size_t>(padding_, size - at);
        at += take;
        padding_ = static_cast<uint8_t>(padding_ - take);
        if (padding_ == 0) part_ = Part::kHeader;
        break;
      }
    }
  }
  return true;
}

// Sizes below 128 have one byte, others four, of which the first bit is set. True: the size is complete.
bool RequestParser::size_byte(uint8_t byte, uint32_t* size) {
  if (size_bytes_ == 0) {
    *size = byte & 0x7f;
    if ((byte & 0x80) == 0) return true;
    size_bytes_ = 1;
    return false;
  }
  *size = *size << 8 | byte;
  if (++size_bytes_ < 4) return false;
  size_bytes_ = 0;
  return true;
}

RequestParser::Kept RequestParser::kept_value() {
  const std::string_view name(name_, std::min<size_t>(name_size_, sizeof name_));
  if (name == kMethod) return {method_, sizeof method_, &method_size_};
  if (name == kTarget) return {target_, sizeof target_, &target_size_};
  if (name == kField) return {field_, sizeof field_, &field_size_};
  return {nullptr, 0, nullptr};
}

void RequestParser::parameters(const char* data, size_t size, RequestHandler*) {
  size_t at = 0;
  while (at < size) {
    switch (pair_) {
      case Pair::kNameSize:
        if (size_byte(static_cast<uint8_t>(data[at++]), &name_size_)) pair_ = Pair::kValueSize;
        break;
      case Pair::kValueSize:
        if (!size_byte(static_cast<uint8_t>(data[at++]), &value_size_)) break;
        read_ = 0;
        pair_ = name_size_ != 0 ? Pair::kName : value_size_ != 0 ? Pair::kValue : Pair::kNameSize;
        break;
      case Pair::kName: {
        const size_t take = std::min<size_t>(name_size_ - read_, size - at);
        if (read_ < sizeof name_)
          std::memcpy(name_ + read_, data + at, std::min(take, sizeof name_ - read_));
        read_ += static_cast<uint32_t>(take);
        at += take;
        if (read_ < name_size_) break;
        read_ = 0;
        pair_ = value_size_ != 0 ? Pair::kValue : Pair::kNameSize;
        // The last of several counts, as for CGI.
        if (const Kept kept = kept_value(); kept.size != nullptr) *kept.size = 0;
        break;
      }
      case Pair::kValue: {
        const size_t take = std::min<size_t>(value_size_ - read_, size - at);
        if (const Kept kept = kept_value(); kept.text != nullptr) {
          const size_t room = kept.capacity - *kept.size;
          std::memcpy(kept.text + *kept.size, data + at, std::min(take, room));
          *kept.size = static_cast<uint16_t>(*kept.size + std::min(take, room));
          if (kept.text == field_) too_long_ = value_size_ > sizeof field_;
        }
        read_ += static_cast<uint32_t>(take);
        at += take;
        if (read_ == value_size_) pair_ = Pair::kNameSize;
        break;
      }
    }
  }
}

// --- answers ---------------------------------------------------------------------------------------

bool AnswerParser::begin_record() {
  if (header_[0] != kVersion) return false;
  const uint8_t type = header_[1];
  content_ = two_bytes(header_ + 4);
  left_ = uint32_t{content_} + header_[6];
  end_size_ = 0;
  if (type == kEndRequest) return content_ == kEnd;
  return type == kStdout || type == kStderr || (type > kGetValues && type <= kUnknownType);
}

// Looks for the line "Status: NNN" of the answer's head.
void AnswerParser::head(const char* data, size_t size) {
  for (size_t i = 0; i < size && in_head_; ++i) {
    const char c = data[i];
    if (c == '\r') continue;
    if (c != '\n') {
      if (line_size_ < sizeof line_) line_[line_size_++] = c;
      continue;
    }
    if (line_size_ == 0) in_head_ = false;
    constexpr std::string_view kName = "status:";
    const std::string_view line(line_, line_size_);
    line_size_ = 0;
    if (line.size() < kName.size() + 3) continue;
    if (!std::equal(kName.begin(), kName.end(), line.begin(), [](char low, char given) {
          return low == (given | (given < 'a' && given >= 'A' ? 0x20 : 0));
        }))
      continue;
    const size_t digits = line.find_first_not_of(' ', kName.size());
    if (digits == std::string_view::npos || line.size() < digits + 3) continue;
    uint16_t status = 0;
    for (size_t d = digits; d < digits + 3; ++d) {
      if (line[d] < '0' || line[d] > '9') return;
      status = static_cast<uint16_t>(status * 10 + (line[d] - '0'));
    }
    status_ = status;
  }
}

void AnswerParser::end_record(AnswerHandler* handler) {
  header_size_ = 0;
  if (header_[1] != kEndRequest) return;
  // Four bytes of the program's own status, then one of the protocol's; 0: the request is complete.
  const bool complete = end_[4] == 0;
  handler->on_end(two_bytes(header_ + 2), complete && any_ ? status_ : 0);
  any_ = false;
  in_head_ = true;
  line_size_ = 0;
  status_ = 200;
}

bool AnswerParser::feed(const char* data, size_t size, AnswerHandler* handler) {
  size_t at = 0;
  while (at < size || (header_size_ == kHeader && left_ == 0)) {
    if (header_size_ < kHeader) {
      const size_t take = std::min(kHeader - header_size_, size - at);
      std::memcpy(header_ + header_size_, data + at, take);
      header_size_ = static_cast<uint8_t>(header_size_ + take);
      at += take;
      if (header_size_ == kHeader && !begin_record()) return false;
      continue;
    }
    if (left_ == 0) {
      end_record(handler);
      continue;
    }
    const size_t content = std::min<size_t>(content_, size - at);
    if (header_[1] == kStdout && content != 0) {
      any_ = true;
      head(data + at, content);
    } else if (header_[1] == kEndRequest && content != 0) {
      std::memcpy(end_ + end_size_, data + at, content);
      end_size_ = static_cast<uint8_t>(end_size_ + content);
    }
    content_ = static_cast<uint16_t>(content_ - content);
    const size_t take = content != 0 ? content : std::min<size_t>(left_, size - at);
    left_ -= static_cast<uint32_t>(take);
    at += take;
  }
  return true;
}

}  // namespace filibuster::fastcgi
