#include "core/grpc/call.h"

#include "core/text/ascii.h"

namespace filibuster::grpc {
namespace {

constexpr std::string_view kNames[kCodes] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

struct HttpRow {
  uint16_t status;
  Code code;
};
constexpr HttpRow kHttpRows[] = {
    {400, Code::kInternal},      {401, Code::kUnauthenticated}, {403, Code::kPermissionDenied},
    {404, Code::kUnimplemented}, {429, Code::kUnavailable},     {502, Code::kUnavailable},
    {503, Code::kUnavailable},   {504, Code::kUnavailable},
};

}  // namespace

bool is_grpc(std::string_view content_type) {
  constexpr std::string_view kType = "application/grpc";
  if (content_type == kType) return true;
  if (content_type.size() < kType.size()) return false;
  for (size_t i = 0; i < kType.size(); ++i) {  // media types ignore case (RFC 9110 §8.3.1)
    const char c = content_type[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != kType[i]) return false;
  }
  if (content_type.size() == kType.size()) return true;
  const char next = content_type[kType.size()];
  return next == '+' || next == ';' || next == ' ';
}

std::optional<Method> split_path(std::string_view path) {
  if (path.size() < 4 || path[0] != '/') return std::nullopt;
  const size_t slash = path.rfind('/');
  const Method m{path.substr(1, slash == 0 ? 0 : slash - 1), path.substr(slash + 1)};
  if (m.service.empty() || m.method.empty()) return std::nullopt;
  return m;
}

std::string_view to_name(Code code) {
  const auto i = static_cast<size_t>(code);
  return i < kCodes ? kNames[i] : kNames[static_cast<size_t>(Code::kUnknown)];
}

std::optional<Code> parse_code(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text[0] < '0' || text[0] > '9') {
    for (size_t i = 0; i < kCodes; ++i) {
      if (text == kNames[i]) return static_cast<Code>(i);
    }
    return std::nullopt;
  }
  if (text.size() > 2) return std::nullopt;
  size_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<size_t>(c - '0');
  }
  return value < kCodes ? std::optional<Code>(static_cast<Code>(value)) : std::nullopt;
}

Code parse_status(std::string_view text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return Code::kUnknown;
  return parse_code(text).value_or(Code::kUnknown);
}

Code code_of_http_status(uint16_t status) {
  for (const HttpRow& row : kHttpRows) {
    if (row.status == status) return row.code;
  }
  return Code::kUnknown;
}

size_t decode_message(std::string_view text, char* out, size_t capacity) {
  size_t size = 0;
  for (size_t i = 0; i < text.size() && size < capacity; ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high >= 0 && low >= 0) {
        out[size++] = static_cast<char>(high << 4 | low);
        i += 2;
        continue;
      }
    }
    out[size++] = text[i];
  }
  return size;
}

size_t encode_message(std::string_view text, char* out, size_t capacity) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  size_t size = 0;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7e && byte != '%') {
      if (size == capacity) break;
      out[size++] = c;
    } else {
      if (capacity - size < 3) break;
      out[size++] = '%';
      out[size++] = kDigits[byte >> 4];
      out[size++] = kDigits[byte & 15];
    }
  }
  return size;
}

}  // namespace filibuster::grpc
