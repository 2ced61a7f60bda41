#include "core/protocol/header_field.h"

#include <array>
#include <cstring>

namespace filibuster {
namespace {

// What a helper says that knows the call site only.
constexpr RpcContext kUnknownCause{0, 0, 0, ~uint64_t{0}, {}};

constexpr char kHexDigits[] = "0123456789abcdef";

char* put_hex(uint64_t value, int digits, char* out) {
  for (int i = digits - 1; i >= 0; --i) *out++ = kHexDigits[(value >> (4 * i)) & 0xf];
  return out;
}

// Only lower case is ours: of each value there is exactly one form. 0x80: not a digit. A table,
// since random digits are mispredicted branches: a tenth of a microsecond for each request.
constexpr std::array<uint8_t, 256> kHexValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(0x80);
  for (uint8_t i = 0; i < 16; ++i) values[static_cast<uint8_t>(kHexDigits[i])] = i;
  return values;
}();

bool take_hex(const char** text, int digits, uint64_t* out) {
  uint64_t value = 0;
  uint8_t seen = 0;
  for (int i = 0; i < digits; ++i) {
    const uint8_t digit = kHexValues[static_cast<uint8_t>((*text)[i])];
    seen |= digit;
    value = value << 4 | (digit & 0xf);
  }
  *text += digits;
  *out = value;
  return (seen & 0x80) == 0;
}

bool take(const char** text, char expected) {
  return *(*text)++ == expected;
}

}  // namespace

void encode_header_value(const RpcContext& context, char* out) {
  *out++ = '1';
  *out++ = '-';
  out = put_hex(context.session, 8, out);
  *out++ = '-';
  out = put_hex(context.lane, 4, out);
  *out++ = '-';
  out = put_hex(context.execution, 8, out);
  *out++ = '-';
  out = put_hex(context.rpc, 16, out);
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
  uint64_t session = 0;
  uint64_t lane = 0;
  uint64_t execution = 0;
  RpcContext context;
  const bool well_formed =
      take(&text, '1') && take(&text, '-') && take_hex(&text, 8, &session) && take(&text, '-') &&
      take_hex(&text, 4, &lane) && take(&text, '-') && take_hex(&text, 8, &execution) &&
      take(&text, '-') && take_hex(&text, 16, &context.rpc) && take(&text, '-') &&
      take_hex(&text, 16, &context.path.hi) && take_hex(&text, 16, &context.path.lo);
  if (!well_formed) return false;
  context.session = static_cast<uint32_t>(session);
  context.lane = static_cast<uint16_t>(lane);
  context.execution = static_cast<uint32_t>(execution);
  *out = context;
  return true;
}

void encode_runtime_value(const RuntimeField& field, char* out) {
  encode_header_value(field.has_cause     ? field.cause
                      : field.cause_known ? RpcContext{}
                                          : kUnknownCause,
                      out);
  *out = static_cast<char>('0' + static_cast<char>(field.body));
  out += kHeaderValueSize;
  *out++ = '-';
  put_hex(field.site, 16, out);
}

bool decode_runtime_value(std::string_view value, RuntimeField* out) {
  if (value.size() != kRuntimeValueSize) return false;
  RuntimeField field;
  char cause[kHeaderValueSize];
  std::memcpy(cause, value.data(), sizeof cause);
  if (cause[0] < '1' || cause[0] > '3') return false;
  field.body = static_cast<RuntimeField::Body>(cause[0] - '0');
  cause[0] = '1';
  const char* site = value.data() + kHeaderValueSize;
  if (!decode_header_value({cause, sizeof cause}, &field.cause) || !take(&site, '-') ||
      !take_hex(&site, 16, &field.site)) {
    return false;
  }
  field.cause_known = field.cause != kUnknownCause;
  field.has_cause = field.cause_known && field.cause != RpcContext{};
  if (!field.has_cause) field.cause = {};
  *out = field;
  return true;
}

}  // namespace filibuster
