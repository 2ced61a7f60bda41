#include "core/rpc/told_fields.h"

#include <algorithm>
#include <cstring>

namespace filibuster {

void ToldText::begin(std::string_view name) {
  left_ = 0;
  // Of a field without room for its name nothing is told.
  if (name.size() + 4 > kMaxToldText - size_) return;
  if (size_ != 0) put("\n");
  put(name);
  put(": ");
  left_ = kMaxToldValue;
}

void ToldText::append(std::string_view value) {
  const std::string_view part = value.substr(0, std::min(left_, kMaxToldText - size_));
  put(part);
  left_ -= part.size();
}

void ToldText::put(std::string_view text) {
  std::memcpy(bytes_ + size_, text.data(), text.size());
  size_ += text.size();
}

}  // namespace filibuster
