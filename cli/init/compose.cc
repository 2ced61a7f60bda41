// Compose files (https://compose-spec.io), and what the Dockerfiles of their services say. Containers
// become plain processes here (addresses.cc).
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/init/container.h"
#include "core/text/shell_word.h"

namespace filibuster::init {
namespace {

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

// A command as one text for /bin/sh.
std::string command_text(const YAML::Node& node, const ReadVariable& variable) {
  if (!node || node.IsNull()) return "";
  if (node.IsScalar()) return interpolated(node.Scalar(), variable);
  std::vector<std::string> words;
  for (const YAML::Node& word : node)
    words.push_back(interpolated(word.as<std::string>(""), variable));
  return shell_text(words);
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
  localize(&service, all);
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

std::string place_of(const std::string& file, const YAML::Mark& mark) {
  return file + ":" + std::to_string(mark.is_null() ? 1 : mark.line + 1) + ":" +
         std::to_string(mark.is_null() ? 1 : mark.column + 1) + ": ";
}

// Reads one service after the other. YAML's exceptions pass.
class Reader {
 public:
  Reader(const ReadFile& read, const ReadVariable& variable, std::vector<std::string>* remarks)
      : read_(read), variable_(variable), remarks_(*remarks) {}

  Container service(const std::string& name, const YAML::Node& node) {
    Container one;
    one.draft.name = service_name(name);
    one.image = node["image"].as<std::string>("");
    const std::string entry = command_text(node["entrypoint"], variable_);
    const std::string command = command_text(node["command"], variable_);
    one.draft.command = entry + (entry.empty() || command.empty() ? "" : " ") + command;
    if (node["env_file"]) read_variables(node["env_file"], &one.draft);
    if (node["environment"]) read_environment(node["environment"], variable_, &one.draft.env);
    for (const char* key : {"ports", "expose"}) {
      if (!node[key]) continue;
      for (const YAML::Node& port : node[key]) read_port(port, variable_, &one.draft);
    }
    if (node["healthcheck"])
      one.draft.health = health_path(command_text(node["healthcheck"]["test"], variable_));
    if (node["build"]) read_build(node["build"], &one);
    const auto port = one.draft.env.find("PORT");
    if (one.draft.ports.empty() && port != one.draft.env.end()) {
      if (const auto number = port_of(port->second)) add_port(*number, &one.draft);
    }
    return one;
  }

 private:
  void read_variables(const YAML::Node& files, DraftService* out) {
    std::vector<std::string> names;
    if (files.IsScalar()) names.push_back(files.Scalar());
    if (files.IsSequence()) {
      for (const YAML::Node& file : files)
        names.push_back(file.IsMap() ? file["path"].as<std::string>("") : file.as<std::string>(""));
    }
    for (const std::string& name : names) {
      if (const auto variables = read_(name)) {
        add_variables(*variables, &out->env);
      } else {
        remarks_.push_back("env_file " + name + " of '" + out->name + "' could not be read");
      }
    }
  }

  // "build: ./users", or {context, dockerfile, target}.
  void read_build(const YAML::Node& build, Container* out) {
    out->built = true;
    const bool map = build.IsMap();
    std::string context = map ? build["context"].as<std::string>(".") : build.as<std::string>(".");
    const std::string file = map ? build["dockerfile"].as<std::string>("Dockerfile") : "Dockerfile";
    const std::string target = map ? build["target"].as<std::string>("") : "";
    context = interpolated(context, variable_);
    while (context.starts_with("./")) context = context.substr(2);
    while (context.size() > 1 && context.ends_with('/')) context.pop_back();
    if (context != "." && !context.empty()) out->draft.directory = context;
    if (const auto text = read_((context.empty() ? "." : context) + "/" + file)) {
      read_dockerfile(*text, target, out);
    } else if (out->draft.command.empty()) {
      remarks_.push_back("the Dockerfile of '" + out->draft.name + "' could not be read");
    }
  }

  const ReadFile& read_;
  const ReadVariable& variable_;
  std::vector<std::string>& remarks_;
};

}  // namespace

std::string shell_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

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
  Reader reader(read, variable, &draft.remarks);
  std::vector<Container> containers;
  try {
    const YAML::Node root = YAML::Load(text);
    const YAML::Node services = root.IsMap() ? root["services"] : YAML::Node();
    if (!services || !services.IsMap() || services.size() == 0)
      return Error{file + ":1:1: expected 'services', a map of at least one service"};
    for (const auto& entry : services) {
      const std::string name = entry.first.as<std::string>("");
      if (!entry.second.IsMap())
        return Error{place_of(file, entry.first.Mark()) + "expected a map for service '" + name +
                     "'"};
      containers.push_back(reader.service(name, entry.second));
    }
  } catch (const YAML::Exception& error) {
    return Error{place_of(file, error.mark) + error.msg};
  }
  find_ports(&containers);
  const std::vector<Container> all = containers;
  for (Container& one : containers) finish(&one, all, &draft);
  separate_ports(&draft);
  return draft;
}

}  // namespace filibuster::init
