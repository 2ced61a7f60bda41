#include "daemon/explore/suspects.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/text/json_depth.h"
#include "daemon/process/session_lane.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

// "/srv/users.py" of "/srv/users.py:31 (get)", "libshop.so" of "libshop.so+0x12".
std::string_view file_of(std::string_view frame) {
  std::string_view file = frame.substr(0, frame.find(" ("));
  const size_t colon = file.find_last_of(':');
  if (colon != file.npos && file.find_first_not_of("0123456789", colon + 1) == file.npos)
    file = file.substr(0, colon);
  file = file.substr(0, file.rfind("+0x"));
  if (file.starts_with("file://")) file.remove_prefix(7);  // Node's modules
  return file;
}

// Paths may be absolute, or relative to different folders: they are the same file as far as can be
// known if the shorter one is the end of the longer one.
bool is_same_file(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  return !b.empty() && a.ends_with(b) &&
         (a.size() == b.size() || b.front() == '/' || a[a.size() - b.size() - 1] == '/');
}

}  // namespace

Result<void> Suspects::add_report(std::string_view text) {
  const Json report = is_nested_too_deep(text) ? Json() : Json::parse(text, nullptr, false);
  if (!report.is_object() || report.value("version", Json()) != 1 || !report.contains("tests") ||
      !report["tests"].is_array()) {
    return Error{"it is no report of version 1"};
  }
  for (const Json& test : report["tests"]) {
    if (!test.is_object() || !test.contains("findings") || !test["findings"].is_array()) continue;
    for (const Json& finding : test["findings"]) {
      if (!finding.is_object() || !finding.contains("faults") || !finding["faults"].is_array())
        continue;
      for (const Json& fault : finding["faults"]) {
        if (!fault.is_object()) continue;
        const std::string identity = text_of(fault, "identity"), key = text_of(fault, "key");
        if (!identity.empty())
          faults_.emplace(identity, key.empty() ? text_of(fault, "fault") : key);
      }
    }
  }
  return {};
}

Result<void> Suspects::read_report(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return {};
  const auto text = read_file(path);
  return text ? add_report(text.value()) : Result<void>(text.error());
}

void Suspects::add_file(std::string_view path) {
  const std::string file = std::filesystem::path(path).lexically_normal().string();
  if (!file.empty() && file != ".") files_.insert(file);
}

std::string Suspects::to_text() const {
  return dump_json(Json{{"faults", faults_}, {"files", files_}});
}

Suspects Suspects::of_text(std::string_view text) {
  Suspects out;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return out;
  for (const Json& fault : json.value("faults", Json::array())) {
    if (fault.is_array() && fault.size() == 2 && fault[0].is_string() && fault[1].is_string())
      out.faults_.emplace(fault[0], fault[1]);
  }
  for (const Json& file : json.value("files", Json::array()))
    if (file.is_string()) out.files_.insert(file.get<std::string>());
  return out;
}

bool Suspects::are_met_by(const InjectedFault& fault) const {
  if (faults_.contains({to_hex(fault.stable.identity), fault.identity()})) return true;
  return std::any_of(fault.stack.begin(), fault.stack.end(), [&](const std::string& frame) {
    const std::string_view file = file_of(frame);
    return std::any_of(files_.begin(), files_.end(),
                       [&](const std::string& changed) { return is_same_file(file, changed); });
  });
}

size_t Suspects::rank(std::span<const bool> suspect) {
  const auto number = std::count(suspect.begin(), suspect.end(), true);
  const bool all = static_cast<size_t>(number) == suspect.size();
  return all ? 0 : number > 0 ? 1 : 2;
}

}  // namespace filibuster
