// `filibuster cases`: what was recorded (docs/record.md). Nothing is started.
#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "cli/cases_check.h"
#include "cli/cases_text.h"
#include "cli/verb.h"
#include "daemon/cases/case_folder.h"
#include "daemon/cases/identity.h"
#include "daemon/cases/route.h"
#include "daemon/replay/case_set.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;
using cases::Call;
using cases::Case;
using cases::Kind;

// "GET price:_" of a command, "GET /prices/_" of a request: what a call is about, whichever one it is.
std::string kind_of(const Call& call) {
  if (call.input.kind == Kind::kHttp)
    return cases::route_of(call.input.http.method, call.input.http.target);
  const std::string key = cases::command_key_pattern(call.input.command);
  return cases::command_name(call.input.command) + (key.empty() ? "" : " " + key);
}

std::string calls_of(const Case& of) {
  std::map<std::string, size_t> by_service;
  for (const Call& call : of.calls) ++by_service[call.input.to];
  std::string out;
  for (const auto& [service, number] : by_service)
    out += (out.empty() ? "" : ", ") + service + " " + std::to_string(number);
  return out.empty() ? "no calls" : counted_cases(of.calls.size(), "call") + ": " + out;
}

size_t partial_cases(const std::string& folder) {
  size_t out = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder + "/partial", failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    out += name.ends_with(".json") ? 1 : 0;
  }
  return out;
}

int list(const std::string& folder) {
  std::vector<ConfigError> errors;
  const replay::LoadedSet set = replay::load_cases(folder, &errors);
  if (!errors.empty()) return complain_of_files(errors);
  std::map<std::string, std::vector<const Case*>> by_route;
  std::map<std::string, std::set<std::string>> asked;
  for (const Case& each : set.cases) {
    by_route[cases::route_of(each.request.method, each.request.target)].push_back(&each);
    for (const Call& call : each.calls) asked[call.input.to].insert(kind_of(call));
  }
  for (const auto& [route, of_route] : by_route) {
    std::cout << route << "\n";
    for (const Case* each : of_route) {
      std::cout << "  " << case_file_name(*each) << "  " << case_answer_text(*each) << ", "
                << calls_of(*each)
                << (each->seen > 1 ? ", seen " + std::to_string(each->seen) + " times" : "")
                << "\n";
    }
  }
  if (set.cases.empty()) {
    std::cout << "there is no case of '" << set.set.service << "' in " << folder;
  } else {
    std::cout << counted_cases(set.cases.size(), "case") << " of '" << set.set.service << "'";
  }
  if (const size_t partial = partial_cases(folder); partial > 0)
    std::cout << ", and " << partial << " that were not recorded whole (" << folder << "/partial)";
  std::cout << "\n";
  for (const auto& [service, kinds] : asked) {
    std::string all;
    for (const std::string& kind : kinds) all += (all.empty() ? "" : ", ") + kind;
    std::cout << "  depends on " << service << ": " << all << "\n";
  }
  return kNothingFound;
}

// A file that a person has edited is sealed anew.
int accept(const std::string& file) {
  const cases::ReadCase read = cases::load_case(file, cases::Seal::kIgnored);
  if (!read.errors.empty()) return complain_of_files(read.errors);
  const std::string folder = fs::absolute(file).parent_path().string();
  const auto saved =
      cases::save_file(folder, cases::write_case(read.value, fs::path(file).stem().string()));
  if (!saved) return complain(kEnvironment, saved.error().message);
  std::cout << file << ": accepted\n";
  return kNothingFound;
}

Work declare_cases(CLI::App& app) {
  auto paths = std::make_shared<std::vector<std::string>>(2);
  app.require_subcommand(1);
  CLI::App* const listed = app.add_subcommand("list", "the cases of a folder, by route");
  listed->add_option("FOLDER", (*paths)[0], "the folder")->required();
  CLI::App* const shown =
      app.add_subcommand("show", "one case: its request, its calls and its answer");
  shown->add_option("FILE", (*paths)[0], "the file of the case")->required();
  auto whole = std::make_shared<bool>(false);
  shown->add_flag("--whole", *whole, "bodies to their ends");
  CLI::App* const accepted =
      app.add_subcommand("accept", "a case that was edited by hand is one from now on");
  accepted->add_option("FILE", (*paths)[0], "the file of the case")->required();
  CLI::App* const compared = app.add_subcommand("diff", "what two folders do not have in common");
  compared->add_option("BEFORE", (*paths)[0], "a folder")->required();
  compared->add_option("NOW", (*paths)[1], "another one")->required();
  CLI::App* const checked =
      app.add_subcommand("check", "are the files good, and is there no secret in them?");
  checked->add_option("FOLDER", (*paths)[0], "the folder")->required();
  checked->add_option("--against", (*paths)[1],
                      "a file with a secret a line, none of which may be there");
  return [paths, whole, listed, shown, accepted, checked](const Invocation&) {
    if (checked->parsed()) return check_cases((*paths)[0], (*paths)[1]);
    if (listed->parsed()) return list((*paths)[0]);
    if (shown->parsed()) return show_case((*paths)[0], *whole);
    if (accepted->parsed()) return accept((*paths)[0]);
    return diff_cases((*paths)[0], (*paths)[1]);
  };
}

}  // namespace

const Verb kCasesVerb = {
    "cases", "recorded cases: list, show, compare, check, accept an edit",
    "  filibuster cases list cases/\n"
    "  filibuster cases show cases/get-users-_/9a1c2b3d4e5f.json --whole\n"
    "  filibuster cases diff cases/ /tmp/cases-of-today/\n"
    "  filibuster cases check cases/ --against planted-secrets.txt\n"
    "  filibuster cases accept cases/get-users-_/9a1c2b3d4e5f.json    # after an edit\n"
    "\nExit status: 0 no difference, no secret; 1 'diff' found a difference, 'check' a secret; 2 usage or a\n"
    "bad file; 3 a file cannot be written.\n",
    "", declare_cases};

}  // namespace filibuster::cli
