// Faults of the attempts of one call: {"attempts": ["timeout:after", {"status": 503, "when": "2+"}, "pass"]}.
#include "core/fault/attempts.h"

#include <algorithm>

#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;

// An object is that of a fault, with `when` beside its other keys.
bool read_item(Reader& reader, const SourceNode& node, uint32_t next, AttemptRule* out) {
  if (node.kind != Kind::kObject) {
    const std::string text = node.kind == Kind::kInteger ? std::to_string(node.integer) : node.text;
    if (node.kind != Kind::kInteger && !reader.expect(node, Kind::kString, "an attempt"))
      return false;
    auto rule = parse_attempt_rule(text, next);
    if (!rule) {
      reader.error(node.offset, rule.error().message);
      return false;
    }
    *out = std::move(rule).value();
    return true;
  }
  SourceNode fault = node;
  const auto when = std::find_if(fault.children.begin(), fault.children.end(),
                                 [](const SourceNode& child) { return child.key == "when"; });
  if (when != fault.children.end()) {
    const std::string text =
        when->kind == Kind::kInteger ? std::to_string(when->integer) : when->text;
    auto occasions = parse_occasions(text);
    if (!occasions) {
      reader.error(when->offset, "'when': " + occasions.error().message);
      return false;
    }
    out->when = occasions.value();
    fault.children.erase(when);
  } else if (next == 0) {
    reader.error(
        node.offset,
        "this attempt follows an item that has no end, so it says with 'when' which attempts "
        "it is for");
    return false;
  } else {
    out->when = {next, next, 1};
  }
  return read_fault(reader, fault, &out->outcome);
}

}  // namespace

void read_attempts(Reader& reader, const SourceNode& node, FaultSpec* out) {
  if (!reader.expect(node, Kind::kArray, "'attempts'")) return;
  AttemptSequence attempts;
  uint32_t next = 1;
  for (const SourceNode& child : node.children) {
    AttemptRule rule;
    if (!read_item(reader, child, next, &rule)) return;
    next = next_after(rule.when);
    attempts.rules.push_back(std::move(rule));
  }
  if (const std::string why = why_no_sequence(attempts); !why.empty()) {
    reader.error(node.offset, "'attempts': " + why);
    return;
  }
  *out = make_attempts(std::move(attempts));
}

}  // namespace filibuster::config
