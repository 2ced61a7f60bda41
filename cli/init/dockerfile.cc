// What a Dockerfile says of the process in its container.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

#include "cli/init/container.h"

namespace filibuster::init {
namespace {

// Lines of a Dockerfile with their continuations put together.
std::vector<std::pair<std::string, std::string>> instructions(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> out;
  std::istringstream lines(text);
  std::string whole;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#') continue;
    whole += line.substr(first);
    if (whole.ends_with('\\')) {
      whole.back() = ' ';
      continue;
    }
    const size_t end = std::min(whole.find_first_of(" \t"), whole.size());
    std::string name = whole.substr(0, end);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const size_t rest = whole.find_first_not_of(" \t", end);
    out.emplace_back(name, rest == std::string::npos ? "" : whole.substr(rest));
    whole.clear();
  }
  return out;
}

// ["node", "app.js"], which is JSON and so YAML, or a command of the shell.
std::string exec_or_shell(const std::string& text) {
  if (!text.starts_with('[')) return text;
  try {
    std::vector<std::string> words;
    for (const YAML::Node& word : YAML::Load(text)) words.push_back(word.as<std::string>(""));
    return shell_text(words);
  } catch (const YAML::Exception&) {
    return text;
  }
}

}  // namespace

void read_dockerfile(const std::string& text, const std::string& target, Container* out) {
  struct Stage {
    std::string entry, command, health;
    std::vector<uint16_t> ports;
    std::map<std::string, std::string> env;
  };
  std::map<std::string, Stage> named;
  Stage stage;
  std::string name_of_stage;
  for (const auto& [name, rest] : instructions(text)) {
    std::istringstream words(rest);
    if (name == "FROM") {
      named[name_of_stage] = stage;
      if (!target.empty() && name_of_stage == target) break;
      std::vector<std::string> parts{std::istream_iterator<std::string>(words), {}};
      std::erase_if(parts, [](const std::string& part) { return part.starts_with("--"); });
      const auto base = parts.empty() ? named.end() : named.find(parts[0]);
      stage = base == named.end() ? Stage() : base->second;
      name_of_stage = parts.size() == 3 ? parts[2] : "";
    }
    if (name == "ENTRYPOINT") stage.entry = exec_or_shell(rest);
    if (name == "CMD") stage.command = exec_or_shell(rest);
    if (name == "HEALTHCHECK") stage.health = health_path(rest);
    if (name == "EXPOSE") {
      for (std::string word; words >> word;) {
        if (const auto port = port_of(word.substr(0, word.find('/')))) stage.ports.push_back(*port);
      }
    }
    if (name == "ENV" && rest.find('=') < rest.find(' ')) {
      for (std::string word; words >> word;) {
        if (const size_t at = word.find('='); at != std::string::npos)
          stage.env[word.substr(0, at)] = word.substr(at + 1);
      }
    } else if (name == "ENV" && rest.find(' ') != std::string::npos) {
      stage.env[rest.substr(0, rest.find(' '))] = rest.substr(rest.find(' ') + 1);
    }
  }
  for (const uint16_t port : stage.ports) add_port(port, &out->draft);
  for (const auto& [name, value] : stage.env) out->draft.env.emplace(name, value);
  if (out->draft.health.empty()) out->draft.health = stage.health;
  if (out->draft.command.empty()) {
    const bool both = !stage.entry.empty() && !stage.command.empty();
    out->draft.command = stage.entry + (both ? " " : "") + stage.command;
  }
}

}  // namespace filibuster::init
