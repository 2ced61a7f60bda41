#include "daemon/model/mending.h"

#include <algorithm>
#include <tuple>

namespace filibuster {

std::string listed_with_and(const std::vector<std::string>& texts) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += i + 1 == texts.size() ? " and " : ", ";
    out += texts[i];
  }
  return out;
}

std::string to_text(const Mending& mending) {
  const bool several = mending.of.size() > 1 && !mending.end_of_several.empty();
  return mending.begin + listed_with_and(mending.of) +
         (several ? mending.end_of_several : mending.end);
}

bool says_the_same(const Mending& one, const Mending& other) {
  return std::tie(one.begin, one.end) == std::tie(other.begin, other.end) &&
         one.of.empty() == other.of.empty();
}

void add(const Mending& other, Mending* mending) {
  for (const std::string& text : other.of) {
    if (std::find(mending->of.begin(), mending->of.end(), text) == mending->of.end())
      mending->of.push_back(text);
  }
}

}  // namespace filibuster
