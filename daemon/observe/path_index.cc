#include "daemon/observe/path_index.h"

namespace filibuster {
namespace {

// Calls see(segment) for each part between slashes, the empty ones included.
template <typename See>
void each_part(std::string_view pattern, See see) {
  for (;;) {
    const size_t end = pattern.find('/');
    see(pattern.substr(0, end));
    if (end == std::string_view::npos) return;
    pattern.remove_prefix(end + 1);
  }
}

}  // namespace

uint32_t PathIndex::find_child(uint32_t node, std::string_view segment) const {
  const size_t wildcard = segment.find_first_of("*?");
  if (wildcard == std::string_view::npos) {
    const auto known = nodes_[node].literal.find(segment);
    return known == nodes_[node].literal.end() ? 0 : known->second;
  }
  const auto known = nodes_[node].wildcards.find(segment.substr(0, wildcard));
  if (known == nodes_[node].wildcards.end()) return 0;
  for (const Wildcard& each : known->second)
    if (each.segment == segment) return each.node;
  return 0;
}

uint32_t PathIndex::child(uint32_t node, std::string_view segment) {
  if (const uint32_t known = find_child(node, segment); known != 0) return known;
  const auto made = static_cast<uint32_t>(nodes_.size());
  nodes_.emplace_back();
  Node& parent = nodes_[node];
  const size_t wildcard = segment.find_first_of("*?");
  if (wildcard == std::string_view::npos) {
    parent.literal.emplace(segment, made);
  } else {
    parent.wildcards[std::string(segment.substr(0, wildcard))].push_back(
        {std::string(segment), made});
    parent.longest = std::max(parent.longest, wildcard);
  }
  return made;
}

void PathIndex::add(std::string_view pattern, uint32_t number) {
  if (pattern.empty()) {
    of_any_path_.push_back(number);
    return;
  }
  uint32_t node = 0;
  each_part(pattern, [&](std::string_view segment) { node = child(node, segment); });
  nodes_[node].numbers.push_back(number);
}

std::vector<uint32_t> PathIndex::at(std::string_view pattern) const {
  if (pattern.empty()) return of_any_path_;
  uint32_t node = 0;
  bool known = true;
  each_part(pattern, [&](std::string_view segment) {
    if (known) node = find_child(node, segment);
    known = node != 0;
  });
  return known ? nodes_[node].numbers : std::vector<uint32_t>();
}

}  // namespace filibuster
