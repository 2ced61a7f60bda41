#include "core/index/message_walker.h"

#include <algorithm>
#include <cstring>

#include "core/text/number.h"

namespace filibuster {
namespace {

// Marks in the digest. One of the first three stands after the tag of a field that a mask names or goes
// through; a message ends with a tag that no field has.
constexpr char kMaskedField = 0, kMessageBegins = 1, kLeafBegins = 2, kMessageEnds = 0;

// One field (protobuf.dev/programming-guides/encoding).
struct WireField {
  uint32_t number = 0;
  uint32_t type = 0;
  const char* begin = nullptr;  // of its tag
  const char* rest = nullptr;   // after the tag
  const char* value = nullptr;  // after the length, if it has one
  const char* end = nullptr;
};
constexpr uint32_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

// After the varint at `at`; nullptr: there is none.
const char* read_long_varint(const char* at, const char* end, uint64_t* out) {
  *out = 0;
  for (unsigned shift = 0; at != end && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    *out |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return at;
  }
  return nullptr;
}

// False: no field begins at `at`. (Groups are not read as fields.)
bool read_field(const char* at, const char* end, WireField* out) {
  uint64_t tag = 0, length = 0;
  out->begin = at;
  out->rest = read_long_varint(at, end, &tag);
  if (out->rest == nullptr || tag > UINT32_MAX || tag >> 3 == 0) return false;
  out->number = static_cast<uint32_t>(tag >> 3);
  out->type = static_cast<uint32_t>(tag & 7);
  out->value = out->rest;
  switch (out->type) {
    case kVarint:
      out->end = read_long_varint(out->rest, end, &length);
      return out->end != nullptr;
    case kFixed64:
      length = 8;
      break;
    case kFixed32:
      length = 4;
      break;
    case kBytes:
      out->value = read_long_varint(out->rest, end, &length);
      if (out->value == nullptr) return false;
      break;
    default:
      return false;
  }
  if (length > static_cast<uint64_t>(end - out->value)) return false;
  out->end = out->value + length;
  return true;
}

bool is_message(const char* at, const char* end) {
  WireField field;
  while (at != end) {
    if (!read_field(at, end, &field)) return false;
    at = field.end;
  }
  return true;
}

bool is_text(const char* at, const char* end) {
  return std::all_of(at, end, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7f;
  });
}

}  // namespace

void MessageWalker::begin(const RequestMasks* masks, MaskPlace place, LeafSink* leaves) {
  reader_ = {};
  leaves_ = leaves;
  readable_ = leaves_whole_ = true;
  masked_ = false;
  field_count_ = 0;
  size_ = 0;
  digest_.reset();
  if (masks == nullptr) return;
  for (uint32_t i = 0; i < std::min<uint32_t>(masks->count, kMaxRequestMasks); ++i) {
    const MaskField& field = masks->fields[i];
    if (field.place != place || field.depth == 0) continue;
    field_depth_[field_count_] = field.depth;
    std::memcpy(names_[field_count_], field.names, sizeof field.names);
    ++field_count_;
  }
}

void MessageWalker::feed(const char* data, size_t size) {
  if (readable_ && !reader_.feed(data, size, this)) readable_ = false;
}

BodyWalker::Outcome MessageWalker::finish() {
  if (!readable_ || !reader_.between_messages()) return {};
  const BodyForm form = reader_.messages() == 0 ? BodyForm::kEmpty : BodyForm::kMessage;
  return {form, masked_, leaves_whole_, digest_.digest()};
}

void MessageWalker::on_message(const grpc::MessageInfo& message) {
  size_ = 0;
  if (message.compressed || message.size > kMaxWalkedMessage) readable_ = false;
}

void MessageWalker::on_message_bytes(const grpc::MessageInfo&, const char* data, size_t size) {
  if (!readable_ || size > sizeof message_ - size_) return;
  std::memcpy(message_ + size_, data, size);
  size_ += size;
}

void MessageWalker::on_message_end(const grpc::MessageInfo&) {
  if (!readable_) return;
  if (!is_message(message_, message_ + size_)) {
    readable_ = false;
    return;
  }
  const uint32_t all = field_count_ == 0 ? 0 : UINT32_MAX >> (32 - field_count_);
  walk(message_, message_ + size_, 0, all, false, 0);
}

// `masks`: those that agree so far, by bit. `hidden`: these bytes are masked, or in the digest already;
// only their leaves are reported.
void MessageWalker::walk(const char* at, const char* end, size_t depth, uint32_t masks, bool hidden,
                         size_t path_size) {
  while (at != end) {
    WireField field;
    if (!read_field(at, end, &field)) return;  // is_message() has seen that there is one
    at = field.end;
    size_t own_path = path_size;
    path_[own_path++] = '/';
    char text[20];
    const std::string_view number = number_text(field.number, 10, text);
    const size_t digits = number.copy(path_ + own_path, number.size());
    uint32_t below = 0;
    bool matched = false;
    if (masks != 0) {
      NameHash hash;
      hash.add({path_ + own_path, digits});
      const uint64_t name = hash.value();
      for (uint32_t i = 0; i < field_count_; ++i) {
        if ((masks >> i & 1) == 0 || depth >= field_depth_[i]) continue;
        const uint64_t wanted = names_[i][depth];
        if (wanted != kAnyName && wanted != name) continue;
        if (depth + 1u == field_depth_[i]) {
          matched = true;
        } else {
          below |= 1u << i;
        }
      }
    }
    own_path += digits;
    const bool message = field.type == kBytes && field.value != field.end &&
                         depth + 1 < kMaxMessageDepth && is_message(field.value, field.end) &&
                         !is_text(field.value, field.end);
    const bool inner_hidden = hidden || matched;
    if (!hidden) {
      add(field.begin, static_cast<size_t>(field.rest - field.begin));
      if (matched) {
        add(&kMaskedField, 1);
        masked_ = true;
      } else if (below != 0) {
        add(message ? &kMessageBegins : &kLeafBegins, 1);
      }
      if (!matched && !(below != 0 && message))
        add(field.rest, static_cast<size_t>(field.end - field.rest));
    }
    if (message && (leaves_ != nullptr || (below != 0 && !inner_hidden))) {
      // If no mask goes through the message, its bytes are in the digest already.
      const bool told_only = inner_hidden || below == 0;
      walk(field.value, field.end, depth + 1, told_only ? 0 : below, told_only, own_path);
    } else if (leaves_ != nullptr) {
      NameHash value;
      value.add({field.value, static_cast<size_t>(field.end - field.value)});
      leaves_->leaf({path_, own_path}, value.value());
    }
  }
  if (!hidden) add(&kMessageEnds, 1);
}

}  // namespace filibuster
