// The different call stacks of a test: which frame tells one call site from the others.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace filibuster {

class CallStacks {
 public:
  void add(const std::vector<std::string>& stack);  // innermost frame first
  // The place of the first frame that no other stack with the same innermost frame has: 0 where the innermost frame is
  // of one stack alone, or where nothing tells.
  size_t telling(const std::vector<std::string>& stack) const;

 private:
  std::map<std::string, std::set<std::vector<std::string>>> stacks_;  // by their innermost frame
};

}  // namespace filibuster
