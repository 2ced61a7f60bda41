#include "daemon/report/call_stacks.h"

namespace filibuster {

void CallStacks::add(const std::vector<std::string>& stack) {
  if (!stack.empty()) stacks_[stack.front()].insert(stack);
}

size_t CallStacks::telling(const std::vector<std::string>& stack) const {
  const auto known = stack.empty() ? stacks_.end() : stacks_.find(stack.front());
  if (known == stacks_.end()) return 0;
  std::vector<const std::vector<std::string>*> alike;
  for (const auto& other : known->second) {
    if (other != stack) alike.push_back(&other);
  }
  size_t at = 0;
  while (!alike.empty() && at + 1 < stack.size()) {
    ++at;
    std::erase_if(alike, [&](const std::vector<std::string>* other) {
      return at >= other->size() || (*other)[at] != stack[at];
    });
  }
  return at;
}

}  // namespace filibuster
