// `index.frames`: which frames of a call stack name a call site. This file reads the rules and compiles
// them into the table that the agents read (core/index/frame_rules.h).
#include <algorithm>
#include <cstring>

#include "daemon/config/sections.h"

namespace filibuster {
namespace config {
namespace {

using Kind = SourceNode::Kind;

void add_pattern(Reader& reader, const SourceNode& node, std::vector<std::string>* list) {
  if (!reader.expect(node, Kind::kString, "a pattern of 'frames'")) return;
  if (node.text.empty()) {
    reader.error(node.offset, "'frames': a pattern cannot be empty");
  } else if (node.text.size() > kMaxFramePattern) {
    reader.error(node.offset,
                 "'frames': at most " + std::to_string(kMaxFramePattern) + " bytes a pattern");
  } else if (std::find(list->begin(), list->end(), node.text) != list->end()) {
    reader.error(node.offset, "'" + node.text + "' is listed twice");
  } else {
    list->push_back(node.text);
  }
}

template <std::vector<std::string> FramesConfig::*member>
void read_list(Reader& reader, const SourceNode& node, Draft* out) {
  std::vector<std::string>* list = &(out->config.frames.*member);
  if (node.kind == Kind::kString) return add_pattern(reader, node, list);
  if (!reader.expect(node, Kind::kArray, "'" + node.key + "'")) return;
  for (const SourceNode& child : node.children) add_pattern(reader, child, list);
}

constexpr Key<Draft> kFrameKeys[] = {
    {"allow", false, read_list<&FramesConfig::allow>},
    {"deny", false, read_list<&FramesConfig::deny>},
};

}  // namespace

void read_frames(Reader& reader, const SourceNode& node, Draft* draft) {
  if (!read_object<Draft>(reader, node, "'frames'", kFrameKeys, draft)) return;
  const FramesConfig& frames = draft->config.frames;
  for (const std::string& pattern : frames.allow) {
    if (std::find(frames.deny.begin(), frames.deny.end(), pattern) != frames.deny.end())
      reader.error(node.offset, "'" + pattern + "' is allowed and denied");
  }
  if (frames.allow.size() + frames.deny.size() > kMaxFrameRules) {
    reader.error(node.offset,
                 "'frames': at most " + std::to_string(kMaxFrameRules) + " patterns in all");
  }
}

}  // namespace config

FrameTable compile_frames(const FramesConfig& frames) {
  FrameTable table{};
  const auto add = [&](const std::vector<std::string>& patterns, bool deny) {
    for (const std::string& pattern : patterns) {
      if (table.count == kMaxFrameRules || pattern.size() > kMaxFramePattern) return;
      FrameRule& rule = table.rules[table.count++];
      rule.deny = deny ? 1 : 0;
      rule.size = static_cast<uint8_t>(pattern.size());
      std::memcpy(rule.pattern, pattern.data(), pattern.size());
    }
  };
  add(frames.allow, false);
  add(frames.deny, true);
  return table;
}

}  // namespace filibuster
