// A table of names of header fields that is asked for each field of a request. Names are only ever added, so that a
// parser may read the table while another thread adds one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/text/ascii.h"

namespace filibuster {

inline constexpr size_t kMaxFields = 16;     // names in a table
inline constexpr size_t kMaxFieldName = 63;  // bytes
inline constexpr uint8_t kNoField = 0xff;

struct FieldRow {
  std::string_view name;  // lower case
  // Of a request id: the field is passed on from request to request, too, so it names a call only together with the call's
  // method and path.
  bool with_path = false;
};

class FieldTable {
 public:
  constexpr explicit FieldTable(std::span<const FieldRow> known)
      : lengths_(known_lengths(known)), count_(known.size()) {
    for (size_t i = 0; i < known.size(); ++i) rows_[i].set(known[i]);
  }
  // To be called by one thread at a time. False: the name is too long or empty, or there is no room. A name that is
  // there already stays as it is.
  bool add(std::string_view name, bool with_path = false);
  // The number of the row with this name, in any case of letters; kNoField: there is none.
  uint8_t find(std::string_view name) const;
  size_t size() const { return count_.load(std::memory_order_acquire); }
  std::string_view name(uint8_t row) const { return {rows_[row].name, rows_[row].size}; }
  bool with_path(uint8_t row) const { return rows_[row].with_path; }

 private:
  struct Row {
    constexpr void set(const FieldRow& from) {
      for (size_t i = 0; i < from.name.size(); ++i) name[i] = to_lower(from.name[i]);
      size = static_cast<uint8_t>(from.name.size());
      with_path = from.with_path;
    }
    char name[kMaxFieldName] = {};
    uint8_t size = 0;
    bool with_path = false;
  };
  static constexpr uint64_t known_lengths(std::span<const FieldRow> known) {
    uint64_t lengths = 0;
    for (const FieldRow& row : known) lengths |= uint64_t{1} << row.name.size();
    return lengths;
  }

  Row rows_[kMaxFields] = {};
  std::atomic<uint64_t> lengths_;  // bit n: a name has n bytes
  std::atomic<size_t> count_;
};

}  // namespace filibuster
