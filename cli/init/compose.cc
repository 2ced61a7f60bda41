// Compose files (https://compose-spec.io), and what the Dockerfiles of their services say. Containers
// become plain processes here: their names in addresses become this machine's addresses.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "cli/init/draft.h"
#include "core/text/shell_word.h"

namespace filibuster::init {
namespace {

struct Container {  // a service of the file, and what its Dockerfile adds
  DraftService draft;
  std::string image;
  bool built = false;
};

std::optional<uint16_t> port_of(std::string_view text) {
  uint16_t port = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failed != std::errc() || rest != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

// $NAME, ${NAME}, ${NAME:-default}, ${NAME-default}, $$ (compose-spec, 'Interpolation').
std::string interpolated(const std::string& text, const ReadVariable& variable) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i++];
      continue;
    }
    if (text[i + 1] == '$') {
      out += '$';
      i += 2;
      continue;
    }
    const bool braces = text[i + 1] == '{';
    size_t end = i + (braces ? 2 : 1);
    const size_t begin = end;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    const std::string name = text.substr(begin, end - begin);
    std::string otherwise;
    bool empty_counts = true;
    if (braces) {
      const size_t close = text.find('}', end);
      if (close == std::string::npos) return out + text.substr(i);
      std::string rest = text.substr(end, close - end);
      if (rest.starts_with(":-") || rest.starts_with(":?")) {
        empty_counts = false;
        rest = rest.substr(1);
      }
      if (rest.starts_with("-")) otherwise = rest.substr(1);
      end = close + 1;
    }
    const auto value = name.empty() ? std::nullopt : variable(name);
    out += value && (empty_counts || !value->empty()) ? *value : otherwise;
    i = std::max(end, i + 1);
  }
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

// A command as one text for /bin/sh.
std::string command_text(const YAML::Node& node, const ReadVariable& variable) {
  if (!node || node.IsNull()) return "";
  if (node.IsScalar()) return interpolated(node.Scalar(), variable);
  std::vector<std::string> words;
  for (const YAML::Node& word : node)
    words.push_back(interpolated(word.as<std::string>(""), variable));
  return joined(words);
}

// KEY=VALUE lines, as in `.env` and env_file.
void add_variables(const std::string& text, std::map<std::string, std::string>* out) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with("export ")) line = line.substr(7);
    const size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    std::string value = line.substr(equals + 1);
    const bool quoted =
        value.size() >= 2 && value[0] == value.back() && (value[0] == '"' || value[0] == '\'');
    if (quoted) value = value.substr(1, value.size() - 2);
    (*out)[line.substr(0, equals)] = value;
  }
}

void read_environment(const YAML::Node& node, const ReadVariable& variable,
                      std::map<std::string, std::string>* out) {
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const std::string name = entry.first.as<std::string>("");
      out->insert_or_assign(name, entry.second.IsNull()
                                      ? variable(name).value_or("")
                                      : interpolated(entry.second.Scalar(), variable));
    }
    return;
  }
  for (const YAML::Node& line : node) {
    const std::string text = line.as<std::string>("");
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos) {
      out->insert_or_assign(name, variable(name).value_or(""));
    } else {
      out->insert_or_assign(name, interpolated(text.substr(equals + 1), variable));
    }
  }
}

void add_port(uint16_t port, DraftService* out) {
  if (std::find(out->ports.begin(), out->ports.end(), port) == out->ports.end())
    out->ports.push_back(port);
}

// The port inside of the container: "8080:80", "127.0.0.1:8080:80/tcp", 80, {target: 80}.
void read_port(const YAML::Node& node, const ReadVariable& variable, DraftService* out) {
  std::string text = node.IsMap() ? node["target"].as<std::string>("") : node.as<std::string>("");
  text = interpolated(text, variable);
  if (text.ends_with("/udp")) return;
  text = text.substr(0, text.find('/'));
  if (const size_t colon = text.rfind(':'); colon != std::string::npos)
    text = text.substr(colon + 1);
  if (const auto port = port_of(text)) add_port(*port, out);
}

// "curl -f http://localhost:8080/health || exit 1" -> "/health"
std::string health_path(const std::string& command) {
  static const std::regex address(
      R"(https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?(/[^\s'"|;)]*)?)");
  std::smatch found;
  if (!std::regex_search(command, found, address)) return "";
  return found[1].matched ? found[1].str() : "/";
}

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

std::string exec_or_shell(const std::string& text) {
  if (!text.starts_with('[')) return text;
  try {
    return command_text(YAML::Load(text), [](const std::string&) { return std::nullopt; });
  } catch (const YAML::Exception&) {
    return text;
  }
}

// The stage `target`, or the last one (Dockerfile reference, FROM ... AS). A stage has what the stage
// has on which it is built.
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

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

// `text` with each `from` that stands as a word of its own replaced.
std::string replaced_words(const std::string& text, const std::string& from,
                           const std::string& to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t found = text.find(from, at);
    if (found == std::string::npos) return out + text.substr(at);
    const size_t end = found + from.size();
    const bool word = (found == 0 || !is_word_char(text[found - 1])) &&
                      (end == text.size() || !is_word_char(text[end]));
    out += text.substr(at, found - at) + (word ? to : from);
    at = end;
  }
  return out;
}

// Containers find each other by name. Here they are at 127.0.0.1, each at a port of its own.
std::string localized(std::string text, const std::vector<Container>& containers) {
  for (const Container& one : containers) {
    const DraftService& service = one.draft;
    for (const uint16_t port : service.ports) {
      const bool main = port == service.ports.front();
      text = replaced_words(
          text, service.name + ":" + std::to_string(port),
          main ? "127.0.0.1:${port:" + service.name + "}" : "127.0.0.1:" + std::to_string(port));
    }
    for (const char* scheme : {"http://", "https://"}) {
      const std::string bare = scheme + service.name;
      const size_t at = text.find(bare);
      const size_t end = at + bare.size();
      const bool whole = at != std::string::npos && (end == text.size() || text[end] == '/' ||
                                                     text[end] == '"' || text[end] == '\'');
      if (whole)
        text.replace(at, bare.size(),
                     scheme + std::string("127.0.0.1:${port:") + service.name + "}");
    }
    if (text == service.name) text = "127.0.0.1";
  }
  return text;
}

// DB_HOST=db and DB_PORT=5432: the number is the port of the service that the other variable names.
void localize_ports(DraftService* service, const std::vector<Container>& containers) {
  for (auto& [name, value] : service->env) {
    if (!name.ends_with("PORT")) continue;
    const std::string host_name = name.substr(0, name.size() - 4) + "HOST";
    const auto host = service->env.find(host_name);
    for (const Container& other : containers) {
      if (host == service->env.end() || host->second != other.draft.name ||
          other.draft.ports.empty())
        continue;
      if (value == std::to_string(other.draft.ports.front()))
        value = "${port:" + other.draft.name + "}";
    }
  }
}

// Puts ${port:NAME} wherever the service itself is told its main port.
void free_port(DraftService* service) {
  if (service->ports.empty()) return;
  const std::string number = std::to_string(service->ports.front());
  const std::string free = "${port:" + service->name + "}";
  for (auto& [name, value] : service->env) {
    const bool names_port = name == "PORT" || name.ends_with("_PORT");
    if (names_port && value == number) {
      value = free;
      service->any_port = true;
    }
  }
  const std::string command = replaced_words(service->command, number, free);
  service->any_port = service->any_port || command != service->command;
  service->command = command;
}

void finish(Container* one, const std::vector<Container>& all, Draft* draft) {
  DraftService& service = one->draft;
  const std::string_view server = one->built ? std::string_view() : known_server(one->image);
  if (server == "redis" || server == "valkey") {
    service.redis = true;
    service.env.clear();
    service.health.clear();
    service.command = "exec redis-server --port ${port:" + service.name + "} --save ''";
    service.any_port = true;
    draft->services.push_back(service);
    return;
  }
  if (!one->built && (!server.empty() || service.command.empty())) {
    service.left_alone = true;
    service.command.clear();
    service.env.clear();
    service.health.clear();
    draft->remarks.push_back(
        "start '" + service.name + "' (" + one->image + ") yourself" +
        (service.ports.empty() ? "" : ", at port " + std::to_string(service.ports.front())) +
        ": it is left alone and gets no faults");
    draft->services.push_back(service);
    return;
  }
  localize_ports(&service, all);
  for (auto& [name, value] : service.env) value = localized(value, all);
  service.command = localized(service.command, all);
  free_port(&service);  // last: another service may have the same number
  if (service.command.empty()) {
    draft->remarks.push_back("the command of '" + service.name +
                             "' was not found in its Dockerfile");
    service.command =
        "echo 'TODO: the command of " + service.name + " in filibuster.json' >&2; exit 1";
  } else {
    service.command = with_exec(service.command);
  }
  if (service.command.find(" /app") != std::string::npos ||
      service.command.find(" /usr/src/") != std::string::npos)
    draft->remarks.push_back("the command of '" + service.name + "' names a path of its container");
  service.worker = service.ports.empty();
  draft->services.push_back(service);
}

}  // namespace

Result<Draft> read_compose(const std::string& file, const std::string& text, const ReadFile& read,
                           const ReadVariable& variable_of_caller) {
  std::map<std::string, std::string> dot_env;
  if (const auto env = read(".env")) add_variables(*env, &dot_env);
  const ReadVariable variable = [&](const std::string& name) -> std::optional<std::string> {
    if (auto value = variable_of_caller(name)) return value;
    const auto found = dot_env.find(name);
    return found == dot_env.end() ? std::nullopt : std::optional(found->second);
  };
  Draft draft;
  draft.source = file;
  std::vector<Container> containers;
  try {
    const YAML::Node root = YAML::Load(text);
    const YAML::Node services = root.IsMap() ? root["services"] : YAML::Node();
    if (!services || !services.IsMap() || services.size() == 0)
      return Error{file + ":1:1: expected 'services', a map of at least one service"};
    for (const auto& entry : services) {
      Container one;
      one.draft.name = service_name(entry.first.as<std::string>(""));
      const YAML::Node node = entry.second;
      if (!node.IsMap())
        return Error{file + ":" + std::to_string(entry.first.Mark().line + 1) + ":" +
                     std::to_string(entry.first.Mark().column + 1) +
                     ": expected a map for service '" + one.draft.name + "'"};
      one.image = node["image"].as<std::string>("");
      const YAML::Node build = node["build"];
      std::string context, target, dockerfile = "Dockerfile";
      if (build) {
        one.built = true;
        context =
            build.IsMap() ? build["context"].as<std::string>(".") : build.as<std::string>(".");
        if (build.IsMap()) {
          dockerfile = build["dockerfile"].as<std::string>(dockerfile);
          target = build["target"].as<std::string>("");
        }
        context = interpolated(context, variable);
        while (context.starts_with("./")) context = context.substr(2);
        while (context.size() > 1 && context.ends_with('/')) context.pop_back();
        if (context != "." && !context.empty()) one.draft.directory = context;
      }
      const std::string entry_point = command_text(node["entrypoint"], variable);
      const std::string command = command_text(node["command"], variable);
      one.draft.command =
          entry_point.empty() ? command : entry_point + (command.empty() ? "" : " " + command);
      if (node["env_file"]) {
        const YAML::Node files = node["env_file"];
        std::vector<std::string> names;
        if (files.IsScalar()) names.push_back(files.Scalar());
        if (files.IsSequence()) {
          for (const YAML::Node& one_file : files)
            names.push_back(one_file.IsMap() ? one_file["path"].as<std::string>("")
                                             : one_file.as<std::string>(""));
        }
        for (const std::string& name : names) {
          if (const auto variables = read(name)) {
            add_variables(*variables, &one.draft.env);
          } else {
            draft.remarks.push_back("env_file " + name + " of '" + one.draft.name +
                                    "' could not be read");
          }
        }
      }
      if (node["environment"]) read_environment(node["environment"], variable, &one.draft.env);
      for (const char* key : {"ports", "expose"}) {
        if (!node[key]) continue;
        for (const YAML::Node& port : node[key]) read_port(port, variable, &one.draft);
      }
      if (node["healthcheck"])
        one.draft.health = health_path(command_text(node["healthcheck"]["test"], variable));
      if (one.built) {
        if (const auto docker = read((context.empty() ? "." : context) + "/" + dockerfile)) {
          read_dockerfile(*docker, target, &one);
        } else if (one.draft.command.empty()) {
          draft.remarks.push_back("the Dockerfile of '" + one.draft.name + "' could not be read");
        }
      }
      if (const auto port = one.draft.env.find("PORT");
          one.draft.ports.empty() && port != one.draft.env.end()) {
        if (const auto number = port_of(port->second)) add_port(*number, &one.draft);
      }
      containers.push_back(std::move(one));
    }
  } catch (const YAML::Exception& error) {
    const YAML::Mark mark = error.mark;
    return Error{file + ":" + std::to_string(mark.is_null() ? 1 : mark.line + 1) + ":" +
                 std::to_string(mark.is_null() ? 1 : mark.column + 1) + ": " + error.msg};
  }
  // What others say of a port: "http://users:5000" in their environment.
  for (Container& one : containers) {
    if (!one.draft.ports.empty()) continue;
    const std::regex address("(?:^|[^A-Za-z0-9_.-])" + one.draft.name +
                             R"(:(\d{2,5})(?:[^0-9]|$))");
    for (const Container& other : containers) {
      for (const auto& [name, value] : other.draft.env) {
        std::smatch found;
        if (std::regex_search(value, found, address)) {
          if (const auto port = port_of(found[1].str())) add_port(*port, &one.draft);
        }
      }
    }
  }
  const std::vector<Container> all = containers;
  for (Container& one : containers) finish(&one, all, &draft);
  std::set<uint16_t> fixed;
  for (DraftService& service : draft.services) {
    if (service.any_port || service.ports.empty() || fixed.insert(service.ports.front()).second)
      continue;
    draft.remarks.push_back(
        "'" + service.name + "' listens at " + std::to_string(service.ports.front()) +
        ", as another service does: it gets a free port as PORT; see that it reads it");
    service.any_port = true;
    service.env["PORT"] = "${port:" + service.name + "}";
  }
  return draft;
}

}  // namespace filibuster::init
