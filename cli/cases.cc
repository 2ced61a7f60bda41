// `filibuster cases`: what was recorded (docs/record.md). Nothing is started.
#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>

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

std::string name_of(const Case& of) {
  return fs::path(of.file).stem().string();
}

std::string counted(size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

int complain_of(const std::vector<ConfigError>& errors) {
  for (const ConfigError& error : errors) {
    std::cerr << error.file << ":";
    if (error.line > 0) std::cerr << error.line << ":" << error.column << ":";
    std::cerr << " " << error.message << "\n";
  }
  return kUsage;
}

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
  return out.empty() ? "no calls" : counted(of.calls.size(), "call") + ": " + out;
}

std::string answer_text(const Case& of) {
  if (of.answer.status != 0) return std::to_string(of.answer.status);
  return of.answer.silence ? "no answer" : "ended without an answer";
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
  if (!errors.empty()) return complain_of(errors);
  std::map<std::string, std::vector<const Case*>> by_route;
  std::map<std::string, std::set<std::string>> asked;
  for (const Case& each : set.cases) {
    by_route[cases::route_of(each.request.method, each.request.target)].push_back(&each);
    for (const Call& call : each.calls) asked[call.input.to].insert(kind_of(call));
  }
  for (const auto& [route, of_route] : by_route) {
    std::cout << route << "\n";
    for (const Case* each : of_route) {
      std::cout << "  " << name_of(*each) << "  " << answer_text(*each) << ", " << calls_of(*each)
                << (each->seen > 1 ? ", seen " + std::to_string(each->seen) + " times" : "")
                << "\n";
    }
  }
  std::cout << counted(set.cases.size(), "case") << " of '" << set.set.service << "'";
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

int show(const std::string& file) {
  const cases::ReadCase read = cases::load_case(file);
  if (!read.errors.empty()) return complain_of(read.errors);
  const Case& of = read.value;
  std::cout << of.request.method << " " << of.request.target << " of '" << of.service << "' \u2192 "
            << answer_text(of) << "\n";
  if (!of.partial.empty()) std::cout << "  not whole: " << of.partial << "\n";
  for (size_t i = 0; i < of.calls.size(); ++i) {
    const Call& call = of.calls[i];
    std::cout << "  " << i << ". " << cases::call_text(call.input);
    if (call.input.kind == Kind::kHttp && call.answer.status != 0) {
      std::cout << " \u2192 " << call.answer.status;
    } else if (call.reply) {
      std::cout << " \u2192 "
                << call.reply->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    } else {
      std::cout << " \u2192 " << (call.answer.silence ? "no answer" : "its connection ended");
    }
    std::string after;
    for (const size_t each : call.after)
      after += (after.empty() ? "" : ", ") + std::to_string(each);
    if (!after.empty()) std::cout << "  (behind " << after << ")";
    std::cout << "\n";
  }
  return kNothingFound;
}

// A file that a person has edited is sealed anew.
int accept(const std::string& file) {
  const cases::ReadCase read = cases::load_case(file, cases::Seal::kIgnored);
  if (!read.errors.empty()) return complain_of(read.errors);
  const std::string folder = fs::absolute(file).parent_path().string();
  const auto saved =
      cases::save_file(folder, cases::write_case(read.value, fs::path(file).stem().string()));
  if (!saved) return complain(kEnvironment, saved.error().message);
  std::cout << file << ": accepted\n";
  return kNothingFound;
}

// By their names, which say what is asked and what is called, and by the whole case.
int diff(const std::string& before, const std::string& now) {
  std::vector<ConfigError> errors;
  const replay::LoadedSet old_set = replay::load_cases(before, &errors);
  const replay::LoadedSet new_set = replay::load_cases(now, &errors);
  if (!errors.empty()) return complain_of(errors);
  std::map<std::string, std::pair<const Case*, const Case*>> both;
  for (const Case& each : old_set.cases) both[name_of(each)].first = &each;
  for (const Case& each : new_set.cases) both[name_of(each)].second = &each;
  size_t different = 0;
  for (const auto& [name, pair] : both) {
    const auto& [old_case, new_case] = pair;
    const Case& any = new_case != nullptr ? *new_case : *old_case;
    std::string what = old_case == nullptr ? "new" : new_case == nullptr ? "gone" : "";
    if (what.empty()) {
      Case same = *old_case;
      same.base_us = new_case->base_us;
      same.seen = new_case->seen;
      if (!(same == *new_case)) what = "other answers";
    }
    if (what.empty()) continue;
    ++different;
    std::cout << what << ": " << cases::route_of(any.request.method, any.request.target) << "  "
              << name << "\n";
  }
  std::cout << counted(both.size(), "case") << ", " << different << " different\n";
  return different == 0 ? kNothingFound : kFailuresFound;
}

Work declare_cases(CLI::App& app) {
  auto paths = std::make_shared<std::vector<std::string>>(2);
  app.require_subcommand(1);
  CLI::App* const listed = app.add_subcommand("list", "the cases of a folder, by route");
  listed->add_option("FOLDER", (*paths)[0], "the folder")->required();
  CLI::App* const shown = app.add_subcommand("show", "one case: its request and its calls");
  shown->add_option("FILE", (*paths)[0], "the file of the case")->required();
  CLI::App* const accepted =
      app.add_subcommand("accept", "a case that was edited by hand is one from now on");
  accepted->add_option("FILE", (*paths)[0], "the file of the case")->required();
  CLI::App* const compared = app.add_subcommand("diff", "what two folders do not have in common");
  compared->add_option("BEFORE", (*paths)[0], "a folder")->required();
  compared->add_option("NOW", (*paths)[1], "another one")->required();
  return [paths, listed, shown, accepted](const Invocation&) {
    if (listed->parsed()) return list((*paths)[0]);
    if (shown->parsed()) return show((*paths)[0]);
    if (accepted->parsed()) return accept((*paths)[0]);
    return diff((*paths)[0], (*paths)[1]);
  };
}

}  // namespace

const Verb kCasesVerb = {
    "cases", "recorded cases: list, show, compare, accept an edit",
    "  filibuster cases list cases/\n"
    "  filibuster cases show cases/get-users-_/9a1c2b3d4e5f.json\n"
    "  filibuster cases diff cases/ /tmp/cases-of-today/\n"
    "  filibuster cases accept cases/get-users-_/9a1c2b3d4e5f.json    # after an edit\n"
    "\nExit status: 0 no difference, 1 'diff' found some, 2 usage or a bad file, 3 a file cannot be\n"
    "written.\n",
    "", declare_cases};

}  // namespace filibuster::cli
