// Distributed execution indexes (DEI): dissertation chapter 5; docs/execution-indexes.md.
//
// An index is a sequence of (invocation signature, invocation count) pairs, the path of RPCs that
// led to this one; [] is the entry point. In the processes only its 128-bit compact representation
// travels; the daemon keeps the parts of each element for people (debugging representation).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.h"

namespace filibuster {

// Which parts take part in an index; each can be switched off (dissertation, Table 7.1).
// Lives in shared memory: keep it a plain bit set.
enum IndexParts : uint32_t {
  kIndexPayload = 1u << 0,
  kIndexStack = 1u << 1,
  kIndexCount = 1u << 2,
  kIndexPath = 1u << 3,
  kIndexAll = kIndexPayload | kIndexStack | kIndexCount | kIndexPath,
};

// Signature (m, f, a) of an HTTP request: m = target service (a name, never host:port), f = method
// and path without the query, a = names of the query arguments in the order of the request.
// Written "m|METHOD path|a1,a2". Returns the hash of that text; never allocates.
// `masked`: segments of the path that vary (masks.h); each is written "*".
Hash128 http_signature_hash(std::string_view service, std::string_view method,
                            std::string_view target, uint64_t masked = 0);
std::string http_signature_text(std::string_view service, std::string_view method,
                                std::string_view target, uint64_t masked = 0);
// The path that enters a signature: that of the origin form ("/a" of "http://host/a?b"), without the
// query.
std::string_view request_path(std::string_view method, std::string_view target);

// Payload p of an HTTP request: the query string and the body digest.
Hash128 http_payload_hash(std::string_view target, Hash128 body);
// The same from digests, where either leaves out what is masked (body_walker.h).
Hash128 http_payload_hash(Hash128 query, Hash128 body);

// Invocation signature r = (s, p, t); parts that are off are left out. `payload` is zero while
// an index is preliminary (the body is not complete).
Hash128 invocation_signature(Hash128 signature, Hash128 payload, Hash128 stack, uint32_t parts);

// Key of the invocation counter: the k-th invocation of r under the same path.
Hash128 counter_key(Hash128 parent_path, Hash128 invocation_signature, uint32_t parts);

// Key of a place where RPCs are made: under one path, to one service, from one call stack (zero: from
// any). What is counted there says which RPC a connect is for, before its request is known.
Hash128 call_place(Hash128 parent_path, Hash128 service, Hash128 stack);

// The index (compact representation) of invocation r|k under `parent_path` ([] is Hash128{}).
// With kIndexPath off the parent is ignored; with kIndexCount off the count is.
Hash128 extend_path(Hash128 parent_path, Hash128 invocation_signature, uint32_t count,
                    uint32_t parts);

// Splits "path?query" at the first '?'; the query is empty where there is none.
struct Target {
  std::string_view path;
  std::string_view query;
};
Target split_target(std::string_view target);

// One element in the debugging representation.
struct IndexElement {
  std::string metadata;  // reserved for tags, empty by default
  std::string invoking_service;
  std::string signature;           // "movies|GET /movies/1|"
  std::vector<std::string> stack;  // "users.py:31 (get_bookings)", innermost first
  Hash128 payload;
  uint32_t count = 0;  // from 1
};

}  // namespace filibuster
