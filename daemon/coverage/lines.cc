#include "daemon/coverage/lines.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace filibuster::coverage {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kLibraries = "/usr/";

// The number of a line; 0: `json` is none.
uint32_t line_number(const Json& json) {
  if (!json.is_number_unsigned()) return 0;
  const auto number = json.get<uint64_t>();
  return number > std::numeric_limits<uint32_t>::max() ? 0 : static_cast<uint32_t>(number);
}

const Json* member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string text_member(const Json& object, const char* name) {
  const Json* const found = member(object, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

// False: `json` is no list of line numbers.
bool read_lines(const Json* json, Lines* out) {
  if (json == nullptr || !json->is_array()) return false;
  for (const Json& one : *json) {
    const uint32_t number = line_number(one);
    if (number == 0) return false;
    out->insert(number);
  }
  return true;
}

// False: `json` is not what gcov writes of a source file.
bool read_gcov_file(const Json& json, const std::string& directory, Files* out) {
  const std::string name = json.is_object() ? text_member(json, "file") : "";
  const Json* const lines = json.is_object() ? member(json, "lines") : nullptr;
  if (name.empty() || lines == nullptr || !lines->is_array()) return false;
  const std::string path = (std::filesystem::path(directory) / name).lexically_normal().string();
  if (path.starts_with(kLibraries)) return true;
  FileLines& file = (*out)[path];
  for (const Json& line : *lines) {
    const Json* const number = line.is_object() ? member(line, "line_number") : nullptr;
    const Json* const count = line.is_object() ? member(line, "count") : nullptr;
    if (number == nullptr || count == nullptr || !count->is_number()) return false;
    const uint32_t at = line_number(*number);
    if (at == 0) continue;  // gcov has line 0 for what the compiler made
    // The same line comes once for each instance of a template.
    file.statements.insert(at);
    if (count->get<double>() > 0) file.reached.insert(at);
  }
  return true;
}

}  // namespace

void merge(const Files& from, Files* into) {
  for (const auto& [path, lines] : from) {
    FileLines& file = (*into)[path];
    file.statements.insert(lines.statements.begin(), lines.statements.end());
    file.reached.insert(lines.reached.begin(), lines.reached.end());
  }
}

std::vector<Range> ranges(const Lines& lines, const Lines& statements) {
  std::vector<Range> out;
  for (const uint32_t line : lines) {
    if (!out.empty()) {
      const auto between = statements.upper_bound(out.back().last);
      if (between == statements.end() || *between >= line) {
        out.back().last = line;
        continue;
      }
    }
    out.push_back({line, line});
  }
  return out;
}

std::string to_text(const std::vector<Range>& ranges) {
  std::string out;
  for (const Range& range : ranges) {
    out += (out.empty() ? "" : ", ") + std::to_string(range.first);
    if (range.last != range.first) out += "-" + std::to_string(range.last);
  }
  return out;
}

Result<ToolAnswer> read_answer(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const Json* const files = json.is_object() ? member(json, "files") : nullptr;
  if (files == nullptr || !files->is_object()) return Error{"an answer without files"};
  ToolAnswer answer;
  for (const auto& [path, row] : files->items()) {
    FileLines file;
    if (!row.is_object() || !read_lines(member(row, "statements"), &file.statements) ||
        !read_lines(member(row, "reached"), &file.reached)) {
      return Error{"an answer with no list of lines for " + path};
    }
    std::erase_if(file.reached, [&](uint32_t line) { return !file.statements.contains(line); });
    merge({{path, std::move(file)}}, &answer.files);
  }
  if (const Json* const problems = member(json, "problems"); problems != nullptr) {
    if (!problems->is_array()) return Error{"an answer whose problems are no list"};
    for (const Json& problem : *problems) {
      if (problem.is_string()) answer.problems.push_back(problem.get<std::string>());
    }
  }
  return answer;
}

Result<ToolAnswer> read_gcov(std::string_view text) {
  ToolAnswer answer;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    const Json json = Json::parse(line, nullptr, false);
    const Json* const files = json.is_object() ? member(json, "files") : nullptr;
    if (files == nullptr || !files->is_array()) {
      return Error{"not what `gcov --json-format` writes: " + std::string(line.substr(0, 200))};
    }
    const std::string directory = text_member(json, "current_working_directory");
    for (const Json& file : *files) {
      if (!read_gcov_file(file, directory, &answer.files)) {
        return Error{"gcov described " + text_member(json, "data_file") +
                     " in a way that is not known"};
      }
    }
  }
  return answer;
}

}  // namespace filibuster::coverage
