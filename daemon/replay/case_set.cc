#include "daemon/replay/case_set.h"

#include <algorithm>
#include <filesystem>

#include "daemon/cases/case_folder.h"

namespace filibuster::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = "partial";

std::vector<std::string> entries_of(const std::string& folder, bool folders) {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code ignored;
    if (at->is_symlink(ignored) || at->is_directory(ignored) != folders) continue;
    out.push_back(at->path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

void take(std::vector<ConfigError> found, std::vector<ConfigError>* errors) {
  std::move(found.begin(), found.end(), std::back_inserter(*errors));
}

}  // namespace

LoadedSet load_cases(const std::string& folder, std::vector<ConfigError>* errors) {
  LoadedSet out;
  out.folder = folder;
  const std::string set_path = folder + "/" + std::string(cases::kSetName) + ".json";
  std::error_code failed;
  if (fs::is_empty(folder, failed) && !failed && fs::is_directory(folder, failed)) {
    errors->push_back({folder, 0, 0,
                       "the folder is empty: there is no case in it. `filibuster record` makes "
                       "some"});
    return out;
  }
  if (!fs::exists(set_path)) {
    errors->push_back({folder, 0, 0,
                       "this is no folder of cases: it has no set.json. `filibuster record` "
                       "makes one"});
    return out;
  }
  cases::ReadSet set = cases::load_set(set_path);
  const bool is_set_read = set.errors.empty();
  take(std::move(set.errors), errors);
  out.set = std::move(set.value);
  if (auto rules = cases::rules_of(out.set)) {
    out.rules = std::move(rules).value();
  } else {
    errors->push_back({set_path, 0, 0, rules.error().message});
  }
  const std::string process_path = folder + "/" + std::string(cases::kProcessName) + ".json";
  if (fs::exists(process_path)) {
    cases::ReadProcess process = cases::load_process(process_path);
    take(std::move(process.errors), errors);
    out.process = std::move(process.value);
  }
  for (const std::string& route : entries_of(folder, true)) {
    if (route == kPartial) continue;
    for (const std::string& name : entries_of(folder + "/" + route, false)) {
      if (!name.ends_with(".json")) continue;
      cases::ReadCase each = cases::load_case(folder + "/" + route + "/" + name);
      const bool is_read = each.errors.empty() && is_set_read;
      take(std::move(each.errors), errors);
      if (is_read && each.value.service != out.set.service)
        errors->push_back({each.value.file, 0, 0,
                           "the case is of service '" + each.value.service + "', and the set of '" +
                               out.set.service + "'"});
      out.cases.push_back(std::move(each.value));
    }
  }
  for (const cases::Case& each : out.cases) {
    for (const std::string& name : each.start) {
      const bool is_there = std::any_of(out.cases.begin(), out.cases.end(), [&](const auto& other) {
        return other.file.ends_with("/" + name + ".json");
      });
      if (!is_there)
        errors->push_back(
            {each.file, 0, 0, "'start': there is no case '" + name + "' in the folder"});
    }
  }
  std::stable_sort(
      out.cases.begin(), out.cases.end(),
      [](const cases::Case& a, const cases::Case& b) { return a.base_us < b.base_us; });
  return out;
}

}  // namespace filibuster::replay
