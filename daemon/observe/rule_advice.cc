#include "daemon/observe/rule_advice.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "core/index/masks.h"
#include "daemon/model/caller.h"
#include "daemon/observe/rpc_matching.h"

namespace filibuster {
namespace {

// "report", "-", "17", ".", "txt": letters and digits together, all else by itself.
std::vector<std::string_view> parts_of(std::string_view name) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::vector<std::string_view> out;
  while (!name.empty()) {
    size_t size = 1;
    while (is_word(name[0]) && size < name.size() && is_word(name[size])) ++size;
    out.push_back(name.substr(0, size));
    name.remove_prefix(size);
  }
  return out;
}

std::string shape_of_part(const std::set<std::string_view>& texts) {
  const std::string_view first = *texts.begin();
  if (texts.size() == 1) return std::string(first);
  const bool same_size = std::ranges::all_of(
      texts, [&](std::string_view text) { return text.size() == first.size(); });
  return same_size ? std::string(first.size(), '?') : "*";
}

std::string_view site_of(const RpcRecord& rpc) {
  return rpc.stack_text.empty() ? std::string_view() : rpc.stack_text.front();
}

// "": no rule makes the two calls one.
std::string rule_for(const RpcRecord& planned, const RpcRecord& came,
                     const std::vector<NondeterminismRule>& masks, uint32_t index_parts) {
  const FieldSet fields = differences(planned, came, index_parts);
  if (fields.stack || !fields.beyond.empty() || (fields.segments.empty() && fields.query.empty()))
    return "";
  NondeterminismRule rule;
  rule.caller = caller_of(planned);
  rule.service = planned.service;
  rule.method = planned.method;
  const std::set<uint32_t> masked = masked_segments(masks, planned);
  each_segment(request_path_of(planned), [&](uint32_t number, std::string_view text) {
    const bool varies = fields.segments.contains(number) || masked.contains(number);
    rule.path += "/" + (varies ? "*" : std::string(text));
  });
  rule.path_segments.assign(fields.segments.begin(), fields.segments.end());
  rule.query.assign(fields.query.begin(), fields.query.end());
  return rule_line(rule);
}

}  // namespace

std::string shape_of(const std::vector<std::string_view>& names) {
  std::vector<std::vector<std::string_view>> split;
  for (const std::string_view name : names) split.push_back(parts_of(name));
  std::string out;
  for (size_t i = 0; !split.empty() && i < split.front().size(); ++i) {
    std::set<std::string_view> texts;
    for (const auto& parts : split) {
      if (parts.size() != split.front().size()) return "*";
      texts.insert(parts[i]);
    }
    out += shape_of_part(texts);
  }
  return out;
}

std::string rule_line(const NondeterminismRule& rule) {
  const std::string text = to_config_text({rule});
  if (!parse_nondeterminism(text).ok()) return "";
  const size_t begin = text.find('{'), end = text.rfind('}');
  return text.substr(begin, end + 1 - begin);
}

std::string advice(const std::string& line) {
  return line.empty() ? "" : "; a rule of 'nondeterminism' helps: " + line;
}

std::string rule_for_missing(const ExecutionRecord& record, const RpcRecord& planned,
                             const std::vector<NondeterminismRule>& masks, uint32_t index_parts) {
  const RpcRecord* came = nullptr;
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpc.index == planned.index) return "";
    if (came == nullptr && caller_of(rpc) == caller_of(planned) && rpc.service == planned.service &&
        rpc.method == planned.method && site_of(rpc) == site_of(planned))
      came = &rpc;
  }
  return came == nullptr ? "" : rule_for(planned, *came, masks, index_parts);
}

}  // namespace filibuster
