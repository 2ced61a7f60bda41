// What gRPC says in HTTP/2's header fields (gRPC over HTTP/2, PROTOCOL-HTTP2.md): the service and
// the method, the status and its message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace filibuster::grpc {

// "application/grpc", and with "+proto", ";charset" and the like; not "application/grpc-web".
bool is_grpc(std::string_view content_type);

struct Method {
  std::string_view service;  // "shop.CartService"
  std::string_view method;   // "GetCart"
  bool operator==(const Method&) const = default;
};
// "/shop.CartService/GetCart". Empty: not such a path.
std::optional<Method> split_path(std::string_view path);

// The 17 codes.
enum class Code : uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};
inline constexpr size_t kCodes = 17;
// "UNAVAILABLE"; "UNKNOWN" for what is none.
std::string_view to_name(Code code);
// By name, in upper case, or number. Empty: none of them.
std::optional<Code> parse_code(std::string_view text);
// grpc-status as clients read it: what is no code is kUnknown.
Code parse_status(std::string_view text);
// What clients make of a response that is not gRPC's (http-grpc-status-mapping.md).
Code code_of_http_status(uint16_t status);

// grpc-message: percent-decoded into `out`, cut at `capacity`. Malformed sequences stay as they
// are, as the protocol demands. Returns its size.
size_t decode_message(std::string_view text, char* out, size_t capacity);
// Percent-encoded: everything but 0x20 to 0x7e, and '%'. At most 3 bytes each; cut where a byte's
// code does not fit. Returns its size.
size_t encode_message(std::string_view text, char* out, size_t capacity);

}  // namespace filibuster::grpc
