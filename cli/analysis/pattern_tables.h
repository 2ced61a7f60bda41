// The tables of patterns, and the comparison of a pattern with tokens.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cli/analysis/source.h"
#include "cli/analysis/statuses.h"

namespace filibuster::analysis {

// `text` is a list of tokens, separated by blanks. $S is an expression that may be a status, $W any word,
// $N the name of a status (notFound), and ... anything in between within the same brackets.
struct Pattern {
  Language language;
  std::string_view framework;
  std::string_view text;
  uint16_t status = 0;  // what a pattern without $S and $N answers
};
std::span<const Pattern> answer_patterns();

struct FrameworkRow {
  Language language;
  std::string_view text;
  std::string_view name;
  Answer uncaught;  // to an uncaught exception; code 0: the connection or the program ends
};
std::span<const FrameworkRow> framework_rows();

// The elements of a pattern.
std::vector<std::string_view> words_of(std::string_view text);

struct Match {
  bool found = false;
  std::vector<uint32_t> statuses;  // tokens of the statuses that $S matched
  uint16_t named = 0;              // the status that $N matched
  uint32_t end = 0;
};
Match match_pattern(const Source& source, uint32_t at, std::span<const std::string_view> words);

}  // namespace filibuster::analysis
