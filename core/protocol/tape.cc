#include "core/protocol/tape.h"

#include <limits>

#include "core/protocol/field_codec.h"

namespace filibuster {
namespace {

// One list of fields per record, for both directions.
template <typename V>
bool tape_fields(auto& e, V& v) requires requires {
  e.source;
}
{ return v(e.rpc) && v(e.recording) && v(e.source) && v(e.site_size); }
template <typename V>
bool tape_fields(auto& e, V& v) requires requires {
  e.bytes;
  e.position;
}
{ return v(e.connection) && v(e.position) && v(e.recording) && v(e.requests); }
template <typename V>
bool tape_fields(auto& e, V& v) requires requires {
  e.reason;
}
{
  return v(e.connection) && v(e.position) && v(e.size) && v(e.recording) && v(e.requests) &&
         v(e.reason);
}
template <typename V>
bool tape_fields(auto& e, V& v) requires requires {
  e.by_peer;
}
{
  return v(e.connection) && v(e.requests) && v(e.answers) && v(e.recording) && v(e.error) &&
         v(e.by_peer);
}

template <typename Record>
size_t encode_record(const Record& record, uint8_t* out, size_t size) {
  FieldWriter writer(out, size);
  return tape_fields(record, writer) ? writer.written() : 0;
}

// A position that cannot be reached: whoever adds a size to a position that was read must not overflow.
constexpr uint64_t kMostPosition = std::numeric_limits<uint64_t>::max() / 4;

bool is_direction(uint8_t requests) {
  return requests <= 1;
}

}  // namespace

void encode_head(const TapeBytes& record, uint8_t (&out)[kTapeBytesHead]) {
  FieldWriter writer(out, sizeof out);
  tape_fields(record, writer);
}

void encode_head(const TapeDraw& record, uint8_t (&out)[kTapeDrawHead]) {
  FieldWriter writer(out, sizeof out);
  tape_fields(record, writer);
}

size_t encode(const TapeGap& record, uint8_t* out, size_t size) {
  return encode_record(record, out, size);
}

size_t encode(const TapeClosed& record, uint8_t* out, size_t size) {
  return encode_record(record, out, size);
}

bool decode(std::span<const uint8_t> data, TapeBytes* out) {
  FieldReader reader(data.data(), data.size());
  TapeBytes record;
  if (!tape_fields(record, reader) || !is_direction(record.requests) ||
      record.position > kMostPosition)
    return false;
  record.bytes = data.last(reader.left());
  if (record.bytes.empty() || record.bytes.size() > kMaxTapeBytes) return false;
  *out = record;
  return true;
}

bool decode(std::span<const uint8_t> data, TapeDraw* out) {
  FieldReader reader(data.data(), data.size());
  TapeDraw record;
  if (!tape_fields(record, reader) || record.source == 0 ||
      record.source > static_cast<uint8_t>(kLastDrawSource) || record.site_size > kMaxDrawSite ||
      record.site_size > reader.left())
    return false;
  const std::span<const uint8_t> rest = data.last(reader.left());
  record.site = {reinterpret_cast<const char*>(rest.data()), record.site_size};
  record.bytes = rest.subspan(record.site_size);
  if (record.bytes.empty() || record.bytes.size() > kMaxDrawBytes) return false;
  *out = record;
  return true;
}

bool decode(std::span<const uint8_t> data, TapeGap* out) {
  FieldReader reader(data.data(), data.size());
  TapeGap record;
  if (!tape_fields(record, reader) || !is_direction(record.requests) ||
      record.position > kMostPosition || record.size > record.position ||
      record.reason > static_cast<uint8_t>(NotInterposedReason::kOpenBefore))
    return false;
  *out = record;
  return true;
}

bool decode(std::span<const uint8_t> data, TapeClosed* out) {
  FieldReader reader(data.data(), data.size());
  TapeClosed record;
  if (!tape_fields(record, reader) || record.requests > kMostPosition ||
      record.answers > kMostPosition || record.by_peer > 1)
    return false;
  *out = record;
  return true;
}

}  // namespace filibuster
