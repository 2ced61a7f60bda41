#include "cli/analysis/reach.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace filibuster::analysis {

Reach::Reach(const ServiceSources& sources) : unreached_(sources.files.size()) {
  if (!sources.closure) return;
  struct Waiting {
    size_t file;
    Part part;
  };
  std::multimap<std::string_view, Waiting> waiting;  // by name
  std::set<std::string_view> mentioned;
  const auto mention = [&](const Source& source, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      if (source.tokens[i].word()) mentioned.insert(source.tokens[i].text);
    }
  };
  for (size_t file = 0; file < sources.files.size(); ++file) {
    const Source& source = *sources.files[file];
    const auto count = static_cast<uint32_t>(source.tokens.size());
    uint32_t covered = 0;
    for (const Definition& one : source.definitions) {
      // A definition with a decorator or an annotation counts as reached: a framework calls it.
      if (file == 0 || !one.outermost || one.decorated) continue;
      waiting.emplace(one.name, Waiting{file, {one.begin, one.end}});
      mention(source, covered, std::max(covered, one.begin));
      covered = std::max(covered, one.end);
    }
    mention(source, covered, count);
  }
  // The words of a reached part reach other parts, until no part is added.
  for (bool grew = true; grew;) {
    grew = false;
    for (auto one = waiting.begin(); one != waiting.end();) {
      if (!mentioned.contains(one->first)) {
        ++one;
        continue;
      }
      mention(*sources.files[one->second.file], one->second.part.begin, one->second.part.end);
      one = waiting.erase(one);
      grew = true;
    }
  }
  for (const auto& [name, one] : waiting) unreached_[one.file].push_back(one.part);
}

bool Reach::contains(size_t file, uint32_t token) const {
  return std::none_of(unreached_[file].begin(), unreached_[file].end(),
                      [&](const Part& part) { return token >= part.begin && token < part.end; });
}

}  // namespace filibuster::analysis
