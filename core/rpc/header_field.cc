#include "core/rpc/header_field.h"

#include <cstring>

#include "core/text/hex.h"

namespace filibuster {
namespace {

// What a helper writes as the cause when it knows the call site only.
constexpr RpcContext kUnknownCause{0, 0, 0, ~uint64_t{0}, {}};

char* put_hex(uint64_t value, char* out) {
  put_hex_group(static_cast<uint32_t>(value >> 32), out);
  put_hex_group(static_cast<uint32_t>(value), out + kHexGroup);
  return out + 2 * kHexGroup;
}

char* put_hex(uint32_t value, char* out) {
  put_hex_group(value, out);
  return out + kHexGroup;
}

char* put_hex(uint16_t value, char* out) {
  char group[kHexGroup];
  put_hex_group(value, group);
  std::memcpy(out, group + 4, 4);
  return out + 4;
}

// A group of digits is checked as a whole, since a branch for each random digit would be mispredicted.
bool take_hex(const char** text, uint32_t* out) {
  const bool good = read_hex_group(*text, out);
  *text += kHexGroup;
  return good;
}

bool take_hex(const char** text, uint64_t* out) {
  uint32_t high = 0, low = 0;
  // Both are taken, in this order, and there is one branch.
  const unsigned good_high = take_hex(text, &high) ? 1 : 0;
  const unsigned good_low = take_hex(text, &low) ? 1 : 0;
  *out = uint64_t{high} << 32 | low;
  return (good_high & good_low) != 0;
}

bool take_hex(const char** text, uint16_t* out) {
  char group[kHexGroup] = {'0', '0', '0', '0'};
  std::memcpy(group + 4, *text, 4);
  *text += 4;
  uint32_t value = 0;
  const bool good = read_hex_group(group, &value);
  *out = static_cast<uint16_t>(value);
  return good;
}

bool take(const char** text, char expected) {
  return *(*text)++ == expected;
}

}  // namespace

void encode_header_value(const RpcContext& context, char* out) {
  *out++ = '1';
  *out++ = '-';
  out = put_hex(context.session, out);
  *out++ = '-';
  out = put_hex(context.lane, out);
  *out++ = '-';
  out = put_hex(context.execution, out);
  *out++ = '-';
  out = put_hex(context.rpc, out);
  *out++ = '-';
  to_hex(context.path, out);
}

void encode_header_line(const RpcContext& context, char* out) {
  std::memcpy(out, kHeaderName.data(), kHeaderName.size());
  out += kHeaderName.size();
  *out++ = ':';
  *out++ = ' ';
  encode_header_value(context, out);
  out += kHeaderValueSize;
  *out++ = '\r';
  *out = '\n';
}

bool decode_header_value(std::string_view value, RpcContext* out) {
  if (value.size() != kHeaderValueSize) return false;
  const char* text = value.data();
  RpcContext context;
  const bool well_formed =
      take(&text, '1') && take(&text, '-') && take_hex(&text, &context.session) &&
      take(&text, '-') && take_hex(&text, &context.lane) && take(&text, '-') &&
      take_hex(&text, &context.execution) && take(&text, '-') && take_hex(&text, &context.rpc) &&
      take(&text, '-') && take_hex(&text, &context.path.hi) && take_hex(&text, &context.path.lo);
  if (well_formed) *out = context;
  return well_formed;
}

void encode_runtime_value(const RuntimeField& field, char* out) {
  encode_header_value(field.has_cause     ? field.cause
                      : field.cause_known ? RpcContext{}
                                          : kUnknownCause,
                      out);
  *out = static_cast<char>('0' + static_cast<char>(field.body));
  out += kHeaderValueSize;
  *out++ = '-';
  out = put_hex(field.site, out);
  *out++ = '-';
  put_hex(field.thread, out);
}

bool is_runtime_value(std::string_view value, RuntimeField::Body* body) {
  if (value.size() != kRuntimeValueSize || value[0] < '1' || value[0] > '3') return false;
  *body = static_cast<RuntimeField::Body>(value[0] - '0');
  return value[1] == '-' && value[kHeaderValueSize] == '-' &&
         value[kHeaderValueSize + 1 + 2 * kHexGroup] == '-';
}

bool decode_runtime_value(std::string_view value, RuntimeField* out) {
  RuntimeField field;
  if (!is_runtime_value(value, &field.body)) return false;
  char cause[kHeaderValueSize];
  std::memcpy(cause, value.data(), sizeof cause);
  cause[0] = '1';
  const char* site = value.data() + kHeaderValueSize;
  if (!decode_header_value({cause, sizeof cause}, &field.cause) || !take(&site, '-') ||
      !take_hex(&site, &field.site) || !take(&site, '-') || !take_hex(&site, &field.thread)) {
    return false;
  }
  field.cause_known = field.cause != kUnknownCause;
  field.has_cause = field.cause_known && field.cause != RpcContext{};
  if (!field.has_cause) field.cause = {};
  *out = field;
  return true;
}

}  // namespace filibuster
