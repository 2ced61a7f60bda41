#include "daemon/page/coverage_sources.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace filibuster {
namespace {

// What one line of a file was to all services that run it: the best of it.
char mark_of(const coverage::FileReport& file, uint32_t line) {
  if (!file.all.statements.contains(line)) return '.';
  if (file.without_faults.contains(line)) return 'r';
  return file.all.reached.contains(line) ? 'f' : 'n';
}

char better(char one, char other) {
  constexpr std::string_view kOrder = ".nfr";
  return kOrder[std::max(kOrder.find(one), kOrder.find(other))];
}

}  // namespace

nlohmann::ordered_json coverage_sources(const coverage::Report& report, SourceExcerpts* sources) {
  std::map<std::string, std::pair<SourceExcerpts::Lines, std::string>> shown;
  size_t left = kMaxCoverageLines;
  for (const coverage::ServiceReport& service : report.services) {
    for (const coverage::FileReport& file : service.files) {
      auto found = shown.find(file.file);
      if (found == shown.end()) {
        SourceExcerpts::Lines lines = sources->file(file.file);
        if (lines.empty() || lines.size() > left) continue;
        left -= lines.size();
        std::string marks(lines.size(), '.');
        found = shown.emplace(file.file, std::pair{std::move(lines), std::move(marks)}).first;
      }
      std::string& marks = found->second.second;
      for (size_t i = 0; i < marks.size(); ++i)
        marks[i] = better(marks[i], mark_of(file, static_cast<uint32_t>(i + 1)));
    }
  }
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (auto& [name, file] : shown)
    out[name] = {{"lines", std::move(file.first)}, {"marks", std::move(file.second)}};
  return out;
}

}  // namespace filibuster
