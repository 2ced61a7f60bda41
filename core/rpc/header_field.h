// Our one request header field, of constant width and versioned:
//   x-filibuster: 1-<session:8>-<lane:4>-<execution:8>-<rpc:16>-<path:32>
// The parts are hexadecimal, in lower case. The width is constant, so that a value can be overwritten
// in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/hash.h"

namespace filibuster {

inline constexpr std::string_view kHeaderName = "x-filibuster";
inline constexpr size_t kHeaderValueSize = 1 + 1 + 8 + 1 + 4 + 1 + 8 + 1 + 16 + 1 + 32;
// "x-filibuster: " + value + CRLF
inline constexpr size_t kHeaderLineSize = kHeaderName.size() + 2 + kHeaderValueSize + 2;

struct RpcContext {
  uint32_t session = 0;
  uint16_t lane = 0;
  uint32_t execution = 0;
  uint64_t rpc = 0;  // id of the RPC that carries it: agent id << 32 | sequence
  Hash128 path;      // compact index of that RPC
  bool operator==(const RpcContext&) const = default;
};

// Writes exactly kHeaderValueSize bytes.
void encode_header_value(const RpcContext& context, char* out);
// Writes exactly kHeaderLineSize bytes, CRLF included.
void encode_header_line(const RpcContext& context, char* out);
// False unless `value` is exactly one well-formed value of version 1.
bool decode_header_value(std::string_view value, RpcContext* out);

// --- what a runtime's helper sends to the socket layer of its own process ----------------------
//
// Node and the JVM write requests from a loop, where neither the thread nor its stack says who made
// them. A helper in the runtime puts what it knows into the request, in the field of the same name:
//   x-filibuster: <value of the incoming request that causes it>-<site:16>-<thread:8>
// All zeros in the first part mean that no incoming request causes it; an RPC of all ones means that
// the helper does not know the cause, only the call site. The thread is the one that makes the call, in place
// of the one that writes the request; zero: the helper does not say. The version says what is known of the
// request's body (RuntimeField::Body). The library reads the field, and writes its own value over it,
// filled up with blanks (RFC 9110 §5.5: they are not part of the value).
inline constexpr size_t kRuntimeValueSize = kHeaderValueSize + 1 + 16 + 1 + 8;

struct RuntimeField {
  bool cause_known = true;
  bool has_cause = false;  // the cause is known, and is an incoming request
  RpcContext cause;
  uint64_t site = 0;    // preload/runtimes/task.h intern_site; 0: not known
  uint32_t thread = 0;  // thread id of the kernel; 0: not said
  enum class Body : uint8_t {
    kNotSaid = 1,
    kFollows,   // the body comes whole, but from another thread than the one that writes the head
    kInPieces,  // it is chance when the pieces come: what is there with the head tells nothing
  };
  Body body = Body::kNotSaid;
  bool operator==(const RuntimeField&) const = default;
};

// Writes exactly kRuntimeValueSize bytes.
void encode_runtime_value(const RuntimeField& field, char* out);
// False unless `value` is exactly one well-formed value.
bool decode_runtime_value(std::string_view value, RuntimeField* out);
// Has `value` the form of a runtime value, by its width and the marks between its parts? The digits are
// not looked at.
bool is_runtime_value(std::string_view value, RuntimeField::Body* body);

}  // namespace filibuster
