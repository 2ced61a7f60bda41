#include "core/rpc/field_table.h"

namespace filibuster {

bool FieldTable::add(std::string_view name, bool with_path) {
  if (name.empty() || name.size() > kMaxFieldName) return false;
  if (find(name) != kNoField) return true;
  const size_t count = count_.load(std::memory_order_relaxed);
  if (count == kMaxFields) return false;
  rows_[count].set({name, with_path});
  lengths_.fetch_or(uint64_t{1} << name.size(), std::memory_order_relaxed);
  count_.store(count + 1, std::memory_order_release);
  return true;
}

uint8_t FieldTable::find(std::string_view name) const {
  const size_t count = size();
  if (name.size() > kMaxFieldName ||
      (lengths_.load(std::memory_order_relaxed) >> name.size() & 1) == 0)
    return kNoField;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view own = this->name(static_cast<uint8_t>(i));
    if (equal_ignoring_case(name, own)) return static_cast<uint8_t>(i);
  }
  return kNoField;
}

}  // namespace filibuster
