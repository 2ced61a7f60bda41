#include "core/index/masks.h"

#include <algorithm>

#include "core/grpc/name.h"
#include "core/text/glob.h"

namespace filibuster {
namespace {

bool matches(uint64_t wanted, uint64_t name) {
  return wanted == kAnyName || wanted == name;
}

}  // namespace

uint64_t name_hash(std::string_view name) {
  NameHash hash;
  hash.add(name);
  return hash.value();
}

bool path_matches(std::string_view pattern, std::string_view path) {
  for (;;) {
    const size_t pattern_end = pattern.find('/');
    const size_t path_end = path.find('/');
    if (!glob_match(pattern.substr(0, pattern_end), path.substr(0, path_end))) return false;
    const bool pattern_done = pattern_end == std::string_view::npos;
    const bool path_done = path_end == std::string_view::npos;
    if (pattern_done || path_done) return pattern_done == path_done;
    pattern.remove_prefix(pattern_end + 1);
    path.remove_prefix(path_end + 1);
  }
}

void select_masks(const MaskTable& table, const MaskedRequest& request, RequestMasks* out) {
  out->path_segments = 0;
  out->count = 0;
  out->too_many = false;
  out->stack = false;
  const uint64_t caller_hash = name_hash(request.caller);
  const uint64_t service_hash = name_hash(request.service);
  const uint64_t method_hash = name_hash(request.method);
  const uint32_t rules = std::min(table.rule_count, kMaxMaskRules);
  for (uint32_t i = 0; i < rules; ++i) {
    const MaskRule& rule = table.rules[i];
    if (!matches(rule.caller, caller_hash) || !matches(rule.service, service_hash) ||
        !matches(rule.method, method_hash)) {
      continue;
    }
    const size_t size = std::min<size_t>(rule.pattern_size, kMaxMaskPattern);
    const std::string_view pattern(rule.pattern, size);
    if ((rule.flags & kMaskGrpc) != 0) {
      if (!request.grpc || !grpc::name_matches(pattern, request.path)) continue;
    } else if (size != 0 && !path_matches(pattern, request.path)) {
      continue;
    }
    out->path_segments |= rule.path_segments;
    out->stack = out->stack || (rule.flags & kMaskStack) != 0;
    const uint32_t first = std::min<uint32_t>(rule.first_field, kMaxMaskFields);
    const uint32_t count = std::min<uint32_t>(rule.field_count, kMaxMaskFields - first);
    for (uint32_t k = 0; k < count; ++k) {
      if (out->count == kMaxRequestMasks) {
        out->too_many = true;
        return;
      }
      MaskField& field = out->fields[out->count];
      field = table.fields[first + k];
      field.depth = static_cast<uint8_t>(std::min<size_t>(field.depth, kMaxMaskDepth));
      ++out->count;
    }
  }
}

}  // namespace filibuster
