// Regular expressions whose matches are found in linear time of the pattern's size, whatever the pattern and the text are: alternatives, groups, classes,
// '*', '+', '?', '{2,5}', '.', '^', '$', '\b', '\d', '\w', '\s' and their opposites. Of bytes; the longest match counts. What needs to look back (references, lookarounds) is no
// part of it, and refused.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace filibuster {

class Pattern {
 public:
  struct Wrong {
    size_t at = 0;  // in the pattern
    std::string message;
  };
  static std::variant<Pattern, Wrong> compile(std::string_view text);

  // The ends of all matches that begin at `at`, the nearest one first. None is longer than `kMostMatch`.
  static constexpr size_t kMostMatch = 4096;
  std::vector<size_t> ends(std::string_view text, size_t at) const;
  bool fits(std::string_view text) const;  // the whole of it

 private:
  friend class PatternCompiler;
  using Bytes = std::bitset<256>;
  enum class Op : uint8_t { kBytes, kSplit, kJump, kWordEdge, kBegin, kEnd, kMatch };
  struct Step {
    Op op = Op::kMatch;
    uint32_t next = 0, other = 0;  // kBytes: `other` is the place of the set
  };
  void add(uint32_t step, std::string_view text, size_t at, std::vector<uint32_t>* list,
           std::vector<size_t>* met) const;

  std::vector<Step> steps_;
  std::vector<Bytes> sets_;
  Bytes first_;  // with which a match begins
};

}  // namespace filibuster
