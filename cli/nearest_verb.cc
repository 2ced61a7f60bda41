#include "cli/nearest_verb.h"

#include <algorithm>
#include <vector>

namespace filibuster::cli {
namespace {

// Levenshtein distance, with a swap of neighbours as one step ("rnu" is near "run").
size_t changed_letters(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest_verb(std::string_view word, std::span<const std::string_view> verbs) {
  std::string_view best;
  if (word.size() > 64) return best;  // the cost is quadratic
  size_t fewest = std::max<size_t>(1, word.size() / 2) + 1;
  for (const std::string_view verb : verbs) {
    size_t letters = changed_letters(word, verb);
    // "fault-injected" for "was-fault-injected", "trac" for "trace".
    if (word.size() >= 3 && verb.find(word) != std::string_view::npos)
      letters = std::min<size_t>(letters, 1);
    if (letters < fewest) {
      best = verb;
      fewest = letters;
    }
  }
  return best;
}

}  // namespace filibuster::cli
