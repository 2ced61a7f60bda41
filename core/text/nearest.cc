#include "core/text/nearest.h"

#include <algorithm>
#include <array>

namespace filibuster {
namespace {

constexpr size_t kMaxWord = 64;  // the cost is quadratic
using Row = std::array<size_t, kMaxWord + 1>;

size_t changed_letters(std::string_view a, std::string_view b) {
  Row before_last{}, last{}, row{};
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

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  if (word.size() > kMaxWord) return best;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    if (candidate.size() > kMaxWord) continue;
    size_t letters = changed_letters(word, candidate);
    // "tests" for "test", "execution" for "before_execution".
    if (word.size() >= 3 && candidate.find(word) != std::string_view::npos)
      letters = std::min<size_t>(letters, 1);
    if (letters < fewest) {
      best = candidate;
      fewest = letters;
    }
  }
  return best;
}

}  // namespace filibuster
