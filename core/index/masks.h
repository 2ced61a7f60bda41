// Masks: what of a request (and of its answer) does not take part in its identity, because it
// varies from run to run: segments of the path, values of the query, fields of JSON and form
// bodies and of the messages of gRPC, the call stack.
//
// A rule of the configuration is compiled (daemon/config/nondeterminism.cc) into a row of a bounded
// table of fixed layout, which stands in lane memory, since the agents form the indexes. Names are
// compared by their 64-bit hash, so that nothing is allocated and a key that arrives in pieces is
// compared as it comes. Pure; every reader clamps what it reads: the table may be torn under it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/hash.h"

namespace filibuster {

inline constexpr uint32_t kMaxMaskRules = 128;
inline constexpr uint32_t kMaxMaskFields = 512;
inline constexpr size_t kMaxMaskDepth = 8;        // names in the path of one JSON field
inline constexpr size_t kMaxMaskPattern = 192;    // bytes of a path pattern
inline constexpr uint32_t kMaxPathSegments = 64;  // the first ones of a path can be masked
inline constexpr size_t kMaxRequestMasks = 24;    // fields that are masked in one request

enum class MaskPlace : uint8_t {
  kQuery = 1,  // one name
  kJson,       // of the request's body
  kForm,       // one name; of the request's body
  kResponse,   // of the response's body: JSON, or messages as below
  kMessage,    // of the messages of a gRPC request: numbers of fields, in decimal digits
};

inline constexpr uint64_t kAnyName = 0;
// Hash of a name, never kAnyName. (FNV-1a, 64 bits: byte by byte, so that a name may come in pieces.)
class NameHash {
 public:
  void add(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3ull; }
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  uint64_t value() const { return hash_ == kAnyName ? 1 : hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325ull;
};
uint64_t name_hash(std::string_view name);

struct MaskField {
  MaskPlace place;
  uint8_t depth;  // of names
  uint16_t reserved;
  uint32_t reserved2;
  uint64_t names[kMaxMaskDepth];  // outermost first; kAnyName matches any name and any element
};
static_assert(sizeof(MaskField) == 8 + 8 * kMaxMaskDepth);

enum MaskFlags : uint16_t {
  kMaskStack = 1,  // the call stack takes no part
  kMaskGrpc = 2,   // gRPC calls only; `pattern` is a name (core/grpc/name.h), not a path
};

struct MaskRule {
  uint64_t caller, service, method;  // name_hash, or kAnyName
  uint64_t path_segments;            // bit n - 1: segment n of the path is masked
  uint16_t first_field, field_count;
  uint16_t pattern_size;          // 0: any path
  uint16_t flags;                 // MaskFlags
  char pattern[kMaxMaskPattern];  // see path_matches, kMaskGrpc
};

struct MaskTable {
  uint32_t rule_count;
  uint32_t field_count;
  MaskRule rules[kMaxMaskRules];
  MaskField fields[kMaxMaskFields];
};

// Segment by segment: "/orders/*/items" matches "/orders/7/items" and not "/orders/7/items/3".
// '*' is any text within one segment, '?' one byte of it.
bool path_matches(std::string_view pattern, std::string_view path);

// Calls `segment(number from 1, text)` for the parts of "/a/b/c" between its slashes.
template <typename Segment>
void each_segment(std::string_view path, Segment segment) {
  if (path.empty()) return;
  if (path.front() == '/') path.remove_prefix(1);
  for (uint32_t number = 1;; ++number) {
    const size_t end = path.find('/');
    segment(number, path.substr(0, end));
    if (end == std::string_view::npos) return;
    path.remove_prefix(end + 1);
  }
}

inline bool segment_masked(uint64_t segments, uint32_t number) {
  return number >= 1 && number <= kMaxPathSegments && (segments >> (number - 1) & 1) != 0;
}

// All masks of one request: those of every rule that matches it. Large: not for small stacks.
struct RequestMasks {
  uint64_t path_segments = 0;
  uint32_t count = 0;
  bool too_many = false;  // more than fit: not all of them are here
  bool stack = false;
  MaskField fields[kMaxRequestMasks];

  bool any() const { return path_segments != 0 || count != 0 || stack; }
  bool has(MaskPlace place) const {
    for (uint32_t i = 0; i < count; ++i) {
      if (fields[i].place == place) return true;
    }
    return false;
  }
};
// The request for which masks are selected.
struct MaskedRequest {
  std::string_view caller, service, method;
  std::string_view path;  // of the origin form, without the query (execution_index.h request_path)
  bool grpc = false;
};
void select_masks(const MaskTable& table, const MaskedRequest& request, RequestMasks* out);

}  // namespace filibuster
