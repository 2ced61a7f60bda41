#include "cli/cases_check.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <vector>

#include "cli/verb.h"
#include "daemon/cases/case_folder.h"
#include "daemon/record/inflate.h"
#include "daemon/record/redactor.h"
#include "daemon/replay/case_set.h"
#include "daemon/wire/json_node.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// As it stands in JSON, without its quotes.
std::string in_json(const std::string& text) {
  const std::string token = wire::json_token(text).value_or("\"\"");
  return token.substr(1, token.size() - 2);
}

// From 1; 0: it is not there.
size_t line_with(const std::string& text, const std::string& part) {
  const size_t at = part.empty() ? text.npos : text.find(part);
  if (at == text.npos) return 0;
  return 1 + static_cast<size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

void say(const std::string& file, size_t line, const std::string& what) {
  std::cout << file << (line == 0 ? "" : ":" + std::to_string(line)) << ": " << what << "\n";
}

class SecretSearch {
 public:
  SecretSearch(std::string folder, record::Redactor::Rules rules)
      : folder_(std::move(folder)), rules_(std::move(rules)) {}

  void look(const cases::Case& of, const std::string& path) {
    const std::string text = bytes_of(path);
    std::set<std::string> said;
    for (const auto& [secret, place] : record::Redactor::unmarked(of, rules_)) {
      if (!said.insert(place).second) continue;
      ++found_;
      say(path, line_with(text, in_json(secret)),
          place + " looks like a secret, and is no token that stands for one");
    }
  }

  // Calls of the process, and what connections begin with.
  void look(const cases::ProcessRecord& process, const std::string& path) {
    cases::Case all;
    all.calls = process.calls;
    for (const auto& [service, openings] : process.openings) {
      for (const cases::Opening& each : openings) {
        cases::Call call;
        call.input.kind = cases::Kind::kRedis;
        call.input.to = service;
        call.input.command = each.command;
        call.reply = each.reply;
        all.calls.push_back(std::move(call));
      }
    }
    look(all, path);
  }

  // Any file, whatever it is: bodies beside cases as well.
  void look_for(const std::vector<std::string>& lines, const std::string& against) {
    std::error_code failed;
    std::vector<std::string> files;
    for (fs::recursive_directory_iterator at(folder_, failed), end; !failed && at != end;
         at.increment(failed)) {
      std::error_code ignored;
      if (at->is_regular_file(ignored) && !at->is_symlink(ignored))
        files.push_back(at->path().string());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& path : files) {
      const std::string text = bytes_of(path);
      const std::string inner = record::inflated(text).value_or("");
      for (size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].empty()) continue;
        const size_t line = std::max(line_with(text, lines[i]), line_with(text, in_json(lines[i])));
        if (line == 0 && inner.find(lines[i]) == inner.npos) continue;
        ++found_;
        say(path, line, "line " + std::to_string(i + 1) + " of " + against + " stands here");
      }
    }
  }

  size_t found() const { return found_; }

 private:
  std::string folder_;
  record::Redactor::Rules rules_;
  size_t found_ = 0;
};

// Each file of cases that are not whole. What is missing in them is no error.
std::vector<std::string> partial_files(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder + "/partial", failed), end; !failed && at != end;
       at.increment(failed)) {
    if (at->path().extension() == ".json") out.push_back(at->path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

int check_cases(const std::string& folder, const std::string& against) {
  std::vector<std::string> lines;
  if (!against.empty()) {
    std::ifstream file(against);
    if (!file) return complain(kUsage, "--against: " + against + " cannot be read");
    for (std::string line; std::getline(file, line);) {
      if (line.ends_with('\r')) line.pop_back();
      lines.push_back(line);
    }
  }
  std::vector<ConfigError> errors;
  const replay::LoadedSet set = replay::load_cases(folder, &errors);
  for (const ConfigError& error : errors) {
    std::cerr << error.file << ":";
    if (error.line > 0) std::cerr << error.line << ":" << error.column << ":";
    std::cerr << " " << error.message << "\n";
  }
  SecretSearch search(folder, SecretRules::compile(set.set.redact));
  for (const cases::Case& each : set.cases) search.look(each, each.file);
  const std::string process = folder + "/" + std::string(cases::kProcessName) + ".json";
  if (fs::exists(process)) search.look(set.process, process);
  const std::vector<std::string> partial = partial_files(folder);
  for (const std::string& path : partial) search.look(cases::load_case(path).value, path);
  search.look_for(lines, against);
  if (!errors.empty()) return kUsage;
  if (search.found() > 0) {
    std::cout << "Replace what is a secret, and seal the file anew: filibuster cases accept FILE\n";
    return kFailuresFound;
  }
  if (set.cases.empty() && partial.empty()) {
    std::cout << "there is no case in " << folder << "\n";
    return kNothingFound;
  }
  std::cout
      << set.cases.size() + partial.size()
      << (set.cases.size() + partial.size() == 1 ? " case" : " cases")
      << ": as they were written, and without a secret that has the name or the form of one\n";
  return kNothingFound;
}

}  // namespace filibuster::cli
