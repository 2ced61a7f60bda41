// What a Dockerfile says of the process in its container.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <utility>

#include "cli/init/container.h"
#include "cli/init/variables.h"
#include "core/text/shell_word.h"

namespace filibuster::init {
namespace {

using Variables = std::map<std::string, std::string>;

std::string changed(std::string text, int (*change)(int)) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [&](unsigned char c) { return static_cast<char>(change(c)); });
  return text;
}

// The word that ends the text that an instruction brings with it: "RUN <<EOF". "": there is none.
std::string end_of_text(const std::string& instruction) {
  const size_t at = instruction.find("<<");
  const size_t end = instruction.find_first_of(" \t", at);
  if (at == std::string::npos) return "";
  std::string word = instruction.substr(at + 2, end == std::string::npos ? end : end - at - 2);
  std::erase_if(word, [](char c) { return c == '-' || c == '"' || c == '\''; });
  return word;
}

// Lines of a Dockerfile with their continuations put together.
std::vector<std::pair<std::string, std::string>> instructions(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> out;
  std::istringstream lines(text);
  std::string whole;
  std::string end_of_brought;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    if (!end_of_brought.empty()) {
      if (line.substr(first) == end_of_brought) end_of_brought.clear();
      continue;
    }
    if (line[first] == '#') continue;
    whole += line.substr(first);
    if (whole.ends_with('\\')) {
      whole.back() = ' ';
      continue;
    }
    const size_t end = std::min(whole.find_first_of(" \t"), whole.size());
    const std::string name = changed(whole.substr(0, end), std::toupper);
    const size_t rest = whole.find_first_not_of(" \t", end);
    out.emplace_back(name, rest == std::string::npos ? "" : whole.substr(rest));
    if (name == "RUN" || name == "COPY" || name == "ADD") end_of_brought = end_of_text(whole);
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

// A=b "C=d e" F="g h" -> the words, without quotes.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  char quote = '\0';
  bool any = false;
  for (const char c : text) {
    if (quote == '\0' && (c == ' ' || c == '\t')) {
      if (any) out.push_back(std::exchange(word, ""));
      any = false;
    } else if (quote == '\0' ? c == '"' || c == '\'' : c == quote) {
      quote = quote == '\0' ? c : '\0';
      any = true;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) out.push_back(word);
  return out;
}

// Places of a container's own programs and libraries, which are elsewhere on this machine.
bool is_of_container(const std::string& name) {
  return name == "PATH" || name == "HOME" || name == "LD_LIBRARY_PATH" || name == "LD_PRELOAD" ||
         name == "JAVA_HOME";
}

struct Stage {
  std::string image;  // on which it is built, through other stages
  std::string entry, command, health, folder;
  bool has_entry = false, shell_entry = false, shell_command = false;
  bool inherits_command = false;  // of the stage before: an entrypoint of its own ends it
  std::vector<uint16_t> ports;
  Variables env;
};

class StageReader {
 public:
  explicit StageReader(const Variables& arguments) : given_(arguments) {}

  void from(const std::string& rest) {
    named_[name_] = stage_;
    std::vector<std::string> parts = words_of(values_(rest));
    std::erase_if(parts, [](const std::string& part) { return part.starts_with("--"); });
    const bool unknown = parts.size() == 2 && changed(parts[0], std::tolower) == "as";
    if (unknown) parts.insert(parts.begin(), "");  // an argument that has no value
    const std::string base = parts.empty() ? "" : parts[0];
    const auto known = named_.find(changed(base, std::tolower));
    stage_ = known == named_.end() || base.empty() ? Stage() : known->second;
    if (known == named_.end()) stage_.image = base;
    stage_.inherits_command = true;
    name_ = parts.size() == 3 ? changed(parts[2], std::tolower) : "";
    arguments_.clear();
  }

  void instruction(const std::string& name, const std::string& rest) {
    if (name == "ARG") {
      for (const std::string& word : words_of(values_(rest))) add_argument(word);
    } else if (name == "ENTRYPOINT") {
      stage_.entry = exec_or_shell(rest);
      stage_.has_entry = true;
      stage_.shell_entry = !rest.starts_with('[');
      if (stage_.inherits_command) stage_.command.clear();
    } else if (name == "CMD") {
      stage_.command = exec_or_shell(rest);
      stage_.shell_command = !rest.starts_with('[');
      stage_.inherits_command = false;
    } else if (name == "HEALTHCHECK") {
      stage_.health = health_path(rest);
    } else if (name == "WORKDIR") {
      const std::string folder = values_(rest);
      stage_.folder = folder.starts_with('/') ? folder : stage_.folder + "/" + folder;
    } else if (name == "EXPOSE") {
      for (const std::string& word : words_of(values_(rest))) {
        const size_t slash = word.find('/');
        const bool udp = slash != std::string::npos && word.substr(slash) == "/udp";
        if (const auto port = port_of(word.substr(0, slash)); port && !udp)
          stage_.ports.push_back(*port);
      }
    } else if (name == "ENV") {
      add_env(values_(rest));
    }
  }

  bool is_named(const std::string& name) const {
    return !name.empty() && name_ == changed(name, std::tolower);
  }
  const Stage& stage() const { return stage_; }
  bool too_long() const { return values_.too_long(); }

 private:
  void add_argument(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto given = given_.find(name);
    Variables& out = name_.empty() && stage_.image.empty() ? first_ : arguments_;
    if (given != given_.end()) {
      out[name] = given->second;
    } else if (equals != std::string::npos) {
      out[name] = word.substr(equals + 1);
    }
  }

  void add_env(const std::string& rest) {
    if (rest.find('=') < rest.find(' ')) {
      for (const std::string& word : words_of(rest)) {
        if (const size_t at = word.find('='); at != std::string::npos)
          stage_.env[word.substr(0, at)] = word.substr(at + 1);
      }
    } else if (rest.find(' ') != std::string::npos) {
      stage_.env[rest.substr(0, rest.find(' '))] = rest.substr(rest.find(' ') + 1);
    }
  }

  std::optional<std::string> value_of(const std::string& name) const {
    for (const Variables* const some : {&stage_.env, &arguments_, &first_}) {
      if (const auto found = some->find(name); found != some->end()) return found->second;
    }
    return std::nullopt;
  }

  const Variables& given_;
  Variables first_, arguments_;  // before the first FROM, and of this stage
  std::map<std::string, Stage> named_;
  Stage stage_;
  std::string name_;
  Interpolator values_{[this](const std::string& name) { return value_of(name); }};
};

}  // namespace

void read_dockerfile(const std::string& text, const std::string& target,
                     const std::map<std::string, std::string>& arguments, Container* out) {
  StageReader reader(arguments);
  for (const auto& [name, rest] : instructions(text)) {
    if (reader.too_long()) break;
    if (name != "FROM") {
      reader.instruction(name, rest);
      continue;
    }
    if (reader.is_named(target)) break;
    reader.from(rest);
  }
  const Stage& stage = reader.stage();
  for (const uint16_t port : stage.ports) add_port(port, &out->draft);
  for (const auto& [name, value] : stage.env) {
    if (!is_of_container(name)) out->draft.env.emplace(name, value);
  }
  if (out->draft.health.empty()) out->draft.health = stage.health;
  if (out->folder_inside.empty()) out->folder_inside = stage.folder;
  out->image = stage.image;
  if (out->has_entry) return;  // an entrypoint of the compose file ends both of the image
  out->entry = stage.entry;
  out->has_entry = stage.has_entry;
  const bool as_argument = stage.shell_command && !stage.entry.empty();
  if (out->command.empty())
    out->command = as_argument ? "/bin/sh -c " + shell_word(stage.command) : stage.command;
  if (stage.shell_entry) out->command.clear();  // a shell takes no arguments
}

}  // namespace filibuster::init
