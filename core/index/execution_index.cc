#include "core/index/execution_index.h"

#include "core/index/masks.h"
#include "core/text/ascii.h"

namespace filibuster {
namespace {

// What a combination is for enters it, so that the key of a counter is never an index.
constexpr uint64_t kCounterTag = 0x636f756e74657201ull;  // "counter", version 1
constexpr uint64_t kIndexTag = 0x696e646578000001ull;    // "index", version 1

// Host and port never enter an index: of "http://host:80/path?query" (absolute form, RFC 9112
// §3.2.2, sent to proxies) only "/path?query" is left, of CONNECT's "host:443" nothing.
Target origin_form(std::string_view method, std::string_view target) {
  if (method == "CONNECT") return {};
  for (std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (!starts_with_ignoring_case(target, scheme)) continue;
    const size_t path = target.find_first_of("/?", scheme.size());
    if (path == std::string_view::npos) return {"/", {}};
    Target split = split_target(target.substr(path));
    if (split.path.empty()) split.path = "/";
    return split;
  }
  return split_target(target);
}

// Calls `put` with the pieces of "m|METHOD path|a1,a2": the one place that knows this form.
template <typename Put>
void signature_pieces(std::string_view service, std::string_view method, std::string_view target,
                      uint64_t masked, Put put) {
  const Target split = origin_form(method, target);
  put(service);
  put("|");
  put(method);
  put(" ");
  if (masked == 0) {
    put(split.path);
  } else {
    bool slash = split.path.starts_with('/');
    each_segment(split.path, [&](uint32_t number, std::string_view segment) {
      if (slash) put("/");
      slash = true;
      put(segment_masked(masked, number) ? std::string_view("*") : segment);
    });
  }
  put("|");
  std::string_view rest = split.query;
  bool first = true;
  while (!rest.empty()) {
    const size_t end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (pair.empty()) continue;
    if (!first) put(",");
    first = false;
    put(pair.substr(0, pair.find('=')));
  }
}

}  // namespace

Target split_target(std::string_view target) {
  const size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

std::string_view request_path(std::string_view method, std::string_view target) {
  return origin_form(method, target).path;
}

Hash128 http_signature_hash(std::string_view service, std::string_view method,
                            std::string_view target, uint64_t masked) {
  HashStream stream;
  stream.reset();
  signature_pieces(service, method, target, masked,
                   [&](std::string_view piece) { stream.update(piece); });
  return stream.digest();
}

std::string http_signature_text(std::string_view service, std::string_view method,
                                std::string_view target, uint64_t masked) {
  std::string text;
  signature_pieces(service, method, target, masked, [&](std::string_view piece) { text += piece; });
  return text;
}

Hash128 http_payload_hash(std::string_view target, Hash128 body) {
  return http_payload_hash(hash_text(split_target(target).query), body);
}

Hash128 http_payload_hash(Hash128 query, Hash128 body) {
  return combine(query, body);
}

Hash128 invocation_signature(Hash128 signature, Hash128 payload, Hash128 stack, uint32_t parts) {
  // Which parts take part is hashed too: (s, p) and (s, t) differ even where p equals t.
  Hash128 hash = combine(signature, uint64_t{parts & (kIndexPayload | kIndexStack)});
  if (parts & kIndexPayload) hash = combine(hash, payload);
  if (parts & kIndexStack) hash = combine(hash, stack);
  return hash;
}

Hash128 counter_key(Hash128 parent_path, Hash128 invocation_signature, uint32_t parts) {
  const Hash128 path = parts & kIndexPath ? parent_path : Hash128{};
  return combine(combine(path, invocation_signature), kCounterTag);
}

Hash128 call_place(Hash128 parent_path, Hash128 service, Hash128 stack) {
  static constexpr uint64_t kDomain = 0x636f6e6e656374;  // "connect": never an RPC's counter
  return combine(combine(combine(parent_path, service), stack), kDomain);
}

Hash128 extend_path(Hash128 parent_path, Hash128 invocation_signature, uint32_t count,
                    uint32_t parts) {
  const Hash128 path = parts & kIndexPath ? parent_path : Hash128{};
  const uint64_t k = parts & kIndexCount ? count : 0;
  return combine(combine(combine(path, invocation_signature), k), kIndexTag);
}

}  // namespace filibuster
