// Numbers under patterns of paths (core/index/masks.h path_matches), found by what the patterns say literally: the time of a search
// does not grow with the number of patterns, but with that of the wildcards that begin alike at one place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/glob.h"

namespace filibuster {

class PathIndex {
 public:
  // An empty pattern matches any path.
  void add(std::string_view pattern, uint32_t number);
  // Calls see(number) for what was added under patterns that match `path`, in no order.
  template <typename See>
  void each(std::string_view path, See see) const {
    for (const uint32_t number : of_any_path_) see(number);
    walk(0, path, see);
  }
  // What was added under this very pattern.
  std::vector<uint32_t> at(std::string_view pattern) const;

 private:
  struct Wildcard {
    std::string segment;  // "item-*"
    uint32_t node;
  };
  struct Node {  // of the trie of segments
    std::map<std::string, uint32_t, std::less<>> literal;
    std::map<std::string, std::vector<Wildcard>, std::less<>>
        wildcards;       // by what is before the first '*' or '?'
    size_t longest = 0;  // of the keys of `wildcards`
    std::vector<uint32_t> numbers;
  };

  uint32_t child(uint32_t node, std::string_view segment);
  uint32_t find_child(uint32_t node, std::string_view segment) const;  // 0: there is none

  template <typename See>
  void walk(uint32_t at, std::string_view path, See& see) const {
    const size_t end = path.find('/');
    const std::string_view segment = path.substr(0, end);
    const auto descend = [&](uint32_t to) {
      if (end != std::string_view::npos)
        walk(to, path.substr(end + 1), see);
      else
        for (const uint32_t number : nodes_[to].numbers) see(number);
    };
    const Node& node = nodes_[at];
    if (const auto known = node.literal.find(segment); known != node.literal.end())
      descend(known->second);
    if (node.wildcards.empty()) return;
    for (size_t size = 0; size <= std::min(node.longest, segment.size()); ++size) {
      const auto known = node.wildcards.find(segment.substr(0, size));
      if (known == node.wildcards.end()) continue;
      for (const Wildcard& wildcard : known->second)
        if (glob_match(wildcard.segment, segment)) descend(wildcard.node);
    }
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);  // the first one is the root
  std::vector<uint32_t> of_any_path_;
};

}  // namespace filibuster
