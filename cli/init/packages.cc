// The scripts of package.json, and of the packages in its workspaces.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/init/draft.h"
#include "core/text/glob.h"
#include "core/text/json_depth.h"
#include "core/text/shell_word.h"

namespace filibuster::init {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

// The commands of a script: "npm run a & npm run b" has two.
std::vector<std::string> commands_of(const std::string& script) {
  std::vector<std::string> out(1);
  for (const char c : script) {
    if (c == '&' || c == ';' || c == '|') {
      if (!out.back().empty()) out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  std::erase_if(out, [](const std::string& one) { return split(one).empty(); });
  return out;
}

// Programs that start scripts of other packages, or several programs side by side.
bool starts_others(const std::string& command) {
  static constexpr std::string_view kStarters[] = {
      "concurrently", "npm-run-all", "npm-run-all2",   "run-p",  "run-s", "run-pty", "turbo",
      "lerna",        "nx",          "lage",           "rush",   "wsrun", "foreman", "nf",
      "honcho",       "overmind",    "hivemind",       "moon",   "ultra", "mprocs",  "stmux",
      "preconstruct", "docker",      "docker-compose", "podman", "tilt",  "skaffold"};
  std::vector<std::string> words = split(command);
  const auto assigns = [](const std::string& word) { return word.find('=') != std::string::npos; };
  for (const char* const before : {"cross-env", "env", "dotenv", "npx", "exec"}) {
    while (!words.empty() && (words[0] == before || assigns(words[0]) || words[0] == "--"))
      words.erase(words.begin());
  }
  if (words.empty()) return false;
  const bool starter =
      std::find(std::begin(kStarters), std::end(kStarters), words[0]) != std::end(kStarters);
  if (starter) return true;
  const bool packages = words[0] == "npm" || words[0] == "pnpm" || words[0] == "yarn";
  if (!packages) return false;
  return std::any_of(words.begin() + 1, words.end(), [](const std::string& word) {
    return word == "workspace" || word == "workspaces" || word == "-r" || word == "--recursive" ||
           word == "--filter" || word == "-w" || word == "-ws" || word == "--prefix" ||
           word == "--cwd" || word == "-C" || word.starts_with("--workspace") ||
           word.starts_with("--filter=") || word.starts_with("--prefix=");
  });
}

// "npm run start:api", "yarn start:api": the script that the command runs. "": it runs none.
std::string script_of(const std::string& command) {
  const std::vector<std::string> words = split(command);
  const bool packages = words.size() > 1 && (words[0] == "npm" || words[0] == "pnpm" ||
                                             words[0] == "yarn" || words[0] == "bun");
  if (!packages) return "";
  const size_t at = words[1] == "run" || words[1] == "run-script" ? 2 : 1;
  return at < words.size() ? words[at] : "";
}

// "start:dev" is "start" in another way, and no program beside it.
bool is_variant(const std::string& script) {
  static constexpr std::string_view kVariants[] = {
      "dev",  "development", "debug", "prod",  "production", "watch", "test",    "tests",
      "ci",   "local",       "e2e",   "build", "docker",     "win",   "windows", "staging",
      "live", "verbose",     "clean", "mock",  "mocks",      "all",   "inspect", "profile"};
  const size_t colon = script.find(':');
  const std::string rest = colon == std::string::npos ? "" : script.substr(colon + 1);
  const std::string word = rest.substr(0, rest.find(':'));
  return std::find(std::begin(kVariants), std::end(kVariants), word) != std::end(kVariants);
}

// Whether all that a script does is to start others of the scripts.
bool only_starts_others(const std::string& script, const Json& scripts) {
  const std::vector<std::string> commands = commands_of(script);
  if (commands.empty()) return false;
  const bool alone = commands.size() == 1;
  return std::all_of(commands.begin(), commands.end(), [&](const std::string& command) {
    const std::string other = script_of(command);
    const bool another = other.starts_with("start") && scripts.contains(other);
    return starts_others(command) || (another && !(alone && is_variant(other)));
  });
}

class Packages {
 public:
  Packages(const ReadFile& read, const ListFolders& list, Draft* draft)
      : read_(read), list_(list), draft_(*draft) {}

  void add(const std::string& folder, const Json& json, const std::string& fallback) {
    const auto scripts = json.find("scripts");
    if (scripts == json.end() || !scripts->is_object()) return;
    std::string name = text_of(json, "name");
    name = name.substr(name.find('/') == std::string::npos ? 0 : name.find('/') + 1);
    if (name.empty()) name = fallback;
    for (const auto& [script, value] : scripts->items()) {
      const bool starts = script == "start" || script.starts_with("start:");
      if (!starts || !value.is_string()) continue;
      const std::string command = value.get<std::string>();
      if (only_starts_others(command, *scripts)) {
        starter_ = true;
        continue;
      }
      if (is_variant(script) && scripts->contains("start")) continue;
      draft_.services.push_back(
          service(service_name(script == "start" ? name : script.substr(6)), folder, command));
    }
    if (draft_.test.empty() && folder.empty() && scripts->contains("test"))
      draft_.test = "npm test";
  }

  // "web", "packages/*", "apps/**", "!apps/docs"
  void add_workspaces(const std::vector<std::string>& patterns) {
    std::vector<std::string> folders;
    for (std::string pattern : patterns) {
      while (pattern.starts_with("./")) pattern.erase(0, 2);
      while (pattern.ends_with('/')) pattern.pop_back();
      if (pattern.starts_with('!')) {
        std::erase_if(folders,
                      [&](const std::string& one) { return glob_match(pattern.substr(1), one); });
      } else if (pattern.find('*') == std::string::npos) {
        folders.push_back(pattern);
      } else {
        add_matching(pattern, &folders);
      }
    }
    std::set<std::string> known;
    for (const std::string& folder : folders) {
      if (!known.insert(folder).second) continue;
      const auto text = read_(folder + "/package.json");
      if (!text || is_nested_too_deep(*text)) continue;
      const Json package = Json::parse(*text, nullptr, false);
      if (package.is_object())
        add(folder, package, std::filesystem::path(folder).filename().string());
    }
  }

  bool starter() const { return starter_; }

 private:
  DraftService service(const std::string& name, const std::string& folder,
                       const std::string& command) const {
    DraftService out = server_of(command, read_).value_or(DraftService());
    out.name = name;
    out.directory = folder;
    if (out.redis || out.left_alone) return out;
    // The script itself, not `npm run`: npm's own process would stand between.
    out.command = command.starts_with("node ")
                      ? "exec " + command
                      : "exec npm exec --offline -c " + shell_word(command);
    out.env["PORT"] = "${port:" + name + "}";
    out.any_port = true;
    return out;
  }

  // One star stands for the folders of a folder; of what is deeper, only "**" at the end is looked
  // at, two levels of it.
  void add_matching(const std::string& pattern, std::vector<std::string>* out) {
    const size_t star = pattern.find('*');
    const size_t slash = star == 0 ? std::string::npos : pattern.rfind('/', star);
    const std::string top = slash == std::string::npos ? "" : pattern.substr(0, slash);
    const bool deep = pattern.find("**") != std::string::npos;
    const size_t before = out->size();
    for (const std::string& name : list_(top)) {
      if (name == "node_modules" || name.starts_with('.')) continue;
      const std::string folder = top.empty() ? name : top + "/" + name;
      if (glob_match(pattern, folder)) out->push_back(folder);
      const bool below = deep || pattern.find('/', star) != std::string::npos;
      for (const std::string& inner : below ? list_(folder) : std::vector<std::string>()) {
        if (inner != "node_modules" && glob_match(pattern, folder + "/" + inner))
          out->push_back(folder + "/" + inner);
      }
    }
    if (out->size() == before)
      draft_.remarks.push_back("no folder is a workspace '" + pattern +
                               "': name its services, if it has some");
  }

  const ReadFile& read_;
  const ListFolders& list_;
  Draft& draft_;
  bool starter_ = false;
};

// What package.json, pnpm-workspace.yaml or lerna.json say of folders with packages.
std::vector<std::string> workspaces_of(const Json& json, const ReadFile& read) {
  std::vector<std::string> out;
  const auto add = [&out](const Json& list) {
    for (const Json& one : list.is_array() ? list : Json::array())
      if (one.is_string()) out.push_back(one.get<std::string>());
  };
  const auto workspaces = json.find("workspaces");
  if (workspaces != json.end())
    add(workspaces->is_object() ? workspaces->value("packages", Json::array()) : *workspaces);
  if (!out.empty()) return out;
  if (const auto lerna = read("lerna.json"); lerna && !is_nested_too_deep(*lerna)) {
    const Json parsed = Json::parse(*lerna, nullptr, false);
    if (parsed.is_object()) add(parsed.value("packages", Json::array()));
  }
  // A list of texts below one key, so that no parser is needed:  - "apps/*"
  std::istringstream lines(read("pnpm-workspace.yaml").value_or(""));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t-") == 0) inside = line.starts_with("packages:");
    const size_t dash = line.find("- ");
    if (!inside || dash == std::string::npos) continue;
    std::string text = split(line.substr(dash + 2)).empty() ? "" : split(line.substr(dash + 2))[0];
    std::erase_if(text, [](char c) { return c == '"' || c == '\''; });
    if (!text.empty()) out.push_back(text);
  }
  return out;
}

}  // namespace

Result<Draft> read_package(const std::string& file, const std::string& text, const ReadFile& read,
                           const ListFolders& list) {
  Json json;
  if (is_nested_too_deep(text)) return Error{file + ": it is nested too deep"};
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {  // of its syntax, or a number out of range
    return Error{file + ": " + error.what()};
  }
  Draft draft;
  draft.source = file;
  draft.origin = Draft::Origin::kPackage;
  Packages packages(read, list, &draft);
  if (json.is_object()) {
    packages.add("", json, "app");
    packages.add_workspaces(workspaces_of(json, read));
  }
  if (draft.services.empty() && packages.starter())
    return Error{file +
                 ": its script 'start' only starts other programs, none of which is a script "
                 "'start' or 'start:NAME' in it or in one of its workspaces"};
  if (draft.services.empty())
    return Error{file +
                 ": expected a script 'start' or 'start:NAME', in it or in one of its workspaces"};
  draft.remarks.push_back(
      "every service gets its port as PORT in its environment: see that the programs read it");
  return draft;
}

}  // namespace filibuster::init
