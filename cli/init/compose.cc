// Compose files (https://compose-spec.io), and what the Dockerfiles of their services say.
// Containers become plain processes here (addresses.cc).
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "cli/init/compose_tree.h"
#include "cli/init/container.h"
#include "cli/init/folders.h"
#include "cli/init/images.h"
#include "core/text/shell_word.h"

namespace filibuster::init {
namespace {

namespace fs = std::filesystem;

// A command as one text for /bin/sh.
std::string command_text(const Tree& service, const char* key) {
  const auto found = service.find(key);
  if (found == service.end()) return "";
  if (!found->is_array()) return text_at(service, key);
  std::vector<std::string> words;
  for (const Tree& word : *found)
    words.push_back(word.is_string() ? word.get<std::string>() : std::string());
  return shell_text(words);
}

// The texts of a list, or the one text that stands in its place.
std::vector<std::string> texts_at(const Tree& map, const char* key) {
  std::vector<std::string> out;
  const auto found = map.is_object() ? map.find(key) : map.end();
  if (found == map.end()) return out;
  if (found->is_string()) out.push_back(found->get<std::string>());
  if (!found->is_array()) return out;
  for (const Tree& one : *found) {
    if (one.is_string()) out.push_back(one.get<std::string>());
  }
  return out;
}

// The port inside of the container, and the one that is published: "8080:80",
// "127.0.0.1:8080:80/tcp", 80, {target: 80, published: 8080}.
void read_port(const Tree& node, DraftService* out) {
  std::string text = node.is_string() ? node.get<std::string>() : text_at(node, "target");
  if (text.ends_with("/udp") || text_at(node, "protocol") == "udp") return;
  text = text.substr(0, text.find('/'));
  std::string published = text_at(node, "published");
  if (const size_t colon = text.rfind(':'); colon != std::string::npos) {
    published = text.substr(0, colon);
    published.erase(0, published.rfind(':') + 1);  // npos + 1 is 0
    text = text.substr(colon + 1);
  }
  const auto port = port_of(text), outside = port_of(published);
  if (port) add_port(*port, out);
  // Only the main port has a name that others can be given.
  if (port && outside && *port == out->ports.front()) out->known_at.push_back(*outside);
}

std::string places_of(const DraftService& service) {
  return service.ports.empty() ? "" : ", at port " + std::to_string(service.ports.front());
}

// Reads one service after the other.
class Reader {
 public:
  Reader(const std::string& file, const ReadFile& read, Interpolator* values)
      : file_(file), read_(read), values_(*values) {
    draft.source = file;
  }

  Draft draft;

  void read(const ComposeFile& file) {
    for (const ComposeService& service : file.services) {
      const auto build = service.tree.find("build");
      if (build != service.tree.end() && build->is_object())
        contexts_[normal_folder(text_at(*build, "context"))].insert(dockerfile_of(*build));
    }
    for (const ComposeService& service : file.services) {
      if (is_active(service)) {
        containers_.push_back(container(service));
      } else {
        add_name(service.name, &inactive_);
      }
    }
    for (const ComposeService& service : file.services) read_links(service.tree);
    find_ports(&containers_);
    for (Container& one : containers_) add_default_port(&one);
    const std::vector<Container> all = containers_;
    for (Container& one : containers_) finish(&one, all);
    separate_servers(&draft);
    remark();
  }

 private:
  static void add_name(const std::string& name, std::string* names) {
    *names += (names->empty() ? "'" : ", '") + name + "'";
  }

  // A service with profiles is started only if one of them is asked for.
  bool is_active(const ComposeService& service) const {
    const std::vector<std::string> profiles = texts_at(service.tree, "profiles");
    if (profiles.empty()) return true;
    std::istringstream asked(values_.value("COMPOSE_PROFILES").value_or(""));
    for (std::string one; std::getline(asked, one, ',');) {
      if (one == "*" || std::find(profiles.begin(), profiles.end(), one) != profiles.end())
        return true;
    }
    return false;
  }

  Container container(const ComposeService& service) {
    const Tree& tree = service.tree;
    Container one;
    one.draft.name = service_name(service.name);
    one.hosts = {service.name};
    for (const char* const key : {"container_name", "hostname"}) add_host(text_at(tree, key), &one);
    if (const auto networks = tree.find("networks"); networks != tree.end()) {
      for (const Tree& network : *networks) {
        for (const std::string& alias : texts_at(network, "aliases")) add_host(alias, &one);
      }
    }
    one.image = text_at(tree, "image");
    one.has_entry = tree.contains("entrypoint") && !tree["entrypoint"].is_null();
    one.entry = command_text(tree, "entrypoint");
    one.command = command_text(tree, "command");
    one.folder_inside = text_at(tree, "working_dir");
    read_variables(tree, &one.draft);
    for (const char* const key : {"ports", "expose"}) {
      if (const auto ports = tree.find(key); ports != tree.end()) {
        for (const Tree& port : *ports) read_port(port, &one.draft);
      }
    }
    if (const auto check = tree.find("healthcheck"); check != tree.end() && check->is_object())
      one.draft.health = health_path(command_text(*check, "test"));
    if (const auto build = tree.find("build"); build != tree.end() && build->is_object())
      read_build(*build, &one);
    if (const auto folder = mounted_at(tree, one.folder_inside)) one.draft.directory = *folder;
    const auto port = one.draft.env.find("PORT");
    if (one.draft.ports.empty() && port != one.draft.env.end()) {
      if (const auto number = port_of(port->second)) add_port(*number, &one.draft);
    }
    return one;
  }

  // "db:database": the name by which a service calls another one.
  void read_links(const Tree& service) {
    for (const std::string& link : texts_at(service, "links")) {
      const size_t colon = link.find(':');
      if (colon == std::string::npos) continue;
      for (Container& one : containers_) {
        if (one.hosts.front() == link.substr(0, colon)) add_host(link.substr(colon + 1), &one);
      }
    }
  }

  static void add_host(const std::string& name, Container* out) {
    if (!name.empty() && std::find(out->hosts.begin(), out->hosts.end(), name) == out->hosts.end())
      out->hosts.push_back(name);
  }

  // Of env_file, then of environment: a name without a value has that of this environment, if it
  // has one.
  void read_variables(const Tree& service, DraftService* out) {
    std::vector<std::string> names = texts_at(service, "env_file");
    if (const auto files = service.find("env_file"); files != service.end()) {
      for (const Tree& file : *files) {
        if (file.is_object() && text_at(file, "required") != "false")
          names.push_back(text_at(file, "path"));
      }
    }
    const ReadVariable variable = [this](const std::string& name) { return values_.value(name); };
    for (const std::string& name : names) {
      if (const auto variables = read_(name)) {
        add_variables(*variables, variable, &out->env);
      } else {
        draft.remarks.push_back("env_file " + name + " of '" + out->name + "' could not be read");
      }
    }
    const auto environment = service.find("environment");
    if (environment == service.end() || !environment->is_object()) return;
    for (const auto& [name, value] : environment->items()) {
      if (value.is_string()) {
        out->env[name] = value.get<std::string>();
      } else if (const auto found = values_.value(name)) {
        out->env[name] = *found;
      }
    }
  }

  static std::string dockerfile_of(const Tree& build) {
    const std::string context = text_at(build, "context"), named = text_at(build, "dockerfile");
    return normal_folder(fs::path(context.empty() ? "." : context) /
                         (named.empty() ? "Dockerfile" : named));
  }

  // {context, dockerfile, target, args}
  void read_build(const Tree& build, Container* out) {
    out->built = true;
    const std::string context = text_at(build, "context");
    if (context.find("://") != std::string::npos || context.starts_with("git@")) {
      draft.remarks.push_back("'" + out->draft.name + "' is built from " + context +
                              ", which is not here");
      out->draft.directory.clear();
      return;
    }
    const std::string file = dockerfile_of(build);
    const std::string top = normal_folder(context);
    const std::string folder = normal_folder(fs::path(file).parent_path());
    // A context that is the whole repository, or that several services share, holds the folders of
    // all.
    const bool whole =
        top.find_first_not_of("./") == std::string::npos || contexts_[top].size() > 1;
    out->draft.directory = whole && !is_for_docker(folder) ? folder : top;
    std::map<std::string, std::string> arguments;
    if (const auto args = build.find("args"); args != build.end())
      read_arguments(*args, &arguments);
    const std::string brought = text_at(build, "dockerfile_inline");
    const auto text = brought.empty() ? read_(file) : std::optional(brought);
    out->image.clear();
    if (text) {
      read_dockerfile(*text, text_at(build, "target"), arguments, out);
    } else {
      unread_.emplace(out->draft.name, file);
    }
  }

  void read_arguments(const Tree& args, std::map<std::string, std::string>* out) const {
    if (args.is_object()) {
      for (const auto& [name, value] : args.items())
        if (value.is_string()) (*out)[name] = value.get<std::string>();
    }
    if (!args.is_array()) return;
    for (const Tree& line : args) {
      const std::string text = line.is_string() ? line.get<std::string>() : "";
      const size_t equals = text.find('=');
      if (equals != std::string::npos) (*out)[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }

  static void add_default_port(Container* one) {
    const Server* const server = known_server(one->image);
    const ImageRow* const image = known_image(one->image);
    auto& ports = one->draft.ports;
    if (server != nullptr && server->port != 0) {
      std::erase(ports, server->port);
      ports.insert(ports.begin(), server->port);
    }
    if (one->built && image != nullptr && image->port != 0 && ports.empty() && one->command.empty())
      ports.push_back(image->port);
  }

  void finish(Container* one, const std::vector<Container>& all) {
    DraftService& service = one->draft;
    const Server* const server = known_server(one->image);
    service.server = server;
    service.hosts = one->hosts;
    if (!service.ports.empty()) service.asked_at = service.ports.front();
    if (server != nullptr && server->redis) {
      service.redis = true;
      service.env.clear();
      service.health.clear();
      service.directory.clear();
      service.command = "exec redis-server --port ${port:" + service.name + "} --save ''";
      service.any_port = true;
      draft.services.push_back(service);
      return;
    }
    service.command = command_of(*one);
    const bool elsewhere =
        !one->built && (service.command.empty() || !begins_with_program(service.command));
    if (server != nullptr || elsewhere) {
      leave_alone(*one, &service);
      return;
    }
    if (service.command.empty()) {
      remark_no_command(*one);
      service.command =
          "echo 'TODO: the command of " + service.name + " in filibuster.json' >&2; exit 1";
    } else {
      if (!one->has_entry && known_image(one->image) == nullptr &&
          !begins_with_program(service.command))
        draft.remarks.push_back("'" + service.name + "' runs `" + service.command +
                                "`, which may be an argument of the entrypoint that " +
                                base_of(*one) + " brings: put that before it");
      if (names_path_inside(service.command)) add_name(service.name, &with_paths_);
      service.command = with_exec(service.command);
    }
    if (one->image.find("dotnet/") != std::string::npos) service.port_variable = "ASPNETCORE_URLS";
    localize(&service, all);
    service.worker = service.ports.empty();
    started_ = true;
    draft.services.push_back(service);
  }

  // As the container runs it: the entrypoint, then the command.
  static std::string command_of(const Container& one) {
    const ImageRow* const image = known_image(one.image);
    if (one.has_entry || image == nullptr) {
      const bool both = !one.entry.empty() && !one.command.empty();
      return one.entry + (both ? " " : "") + one.command;
    }
    // What nobody gives is the image's own, which is of use only where its files are put into it.
    if (one.command.empty() && !one.built) return "";
    return completed(*image, one.command);
  }

  static std::string base_of(const Container& one) {
    return one.image.empty() ? "its base image" : "its base image " + one.image;
  }

  void remark_no_command(const Container& one) {
    const auto unread = unread_.find(one.draft.name);
    draft.remarks.push_back("the command of '" + one.draft.name + "' is not known: " +
                            (unread != unread_.end() ? unread->second + " could not be read"
                                                     : "its Dockerfile has none, and what " +
                                                           base_of(one) + " runs is not known"));
  }

  void leave_alone(const Container& one, DraftService* service) {
    service->left_alone = true;
    if (service->server == nullptr && !service->command.empty())
      arguments_[service->name] = service->command;
    images_[service->name] = one.image;
    service->command.clear();
    service->directory.clear();
    service->env.clear();
    service->health.clear();
    draft.services.push_back(*service);
  }

  // What a person has to look at, of all services together.
  void remark() {
    for (const DraftService& service : draft.services) {
      if (!service.left_alone) continue;
      const auto arguments = arguments_.find(service.name);
      draft.remarks.push_back("start '" + service.name + "' (" + images_[service.name] +
                              ") yourself" + places_of(service) +
                              (arguments == arguments_.end()
                                   ? ""
                                   : ", where its image runs `" + arguments->second +
                                         "` behind an entrypoint that is not known here") +
                              ": it is left alone and gets no faults");
    }
    if (!with_paths_.empty())
      draft.remarks.push_back("a path of its container stands in the command of " + with_paths_);
    if (!inactive_.empty())
      draft.remarks.push_back("left out, since COMPOSE_PROFILES asks for none of their profiles: " +
                              inactive_);
    if (!started_)
      draft.remarks.push_back(
          "no program of " + file_ +
          " is built here: give the commands of your own services, or explore them while they run "
          "(`filibuster attach`)");
    for (const auto& [name, message] : values_.required())
      draft.remarks.push_back("give " + name + " a value in .env or the environment" +
                              (message.empty() ? "" : ": " + message));
    std::string unset;
    for (const std::string& name : values_.unset()) add_name(name, &unset);
    if (!unset.empty())
      draft.remarks.push_back("without a value in .env or the environment, and so empty: " + unset);
  }

  const std::string& file_;
  const ReadFile& read_;
  Interpolator& values_;
  std::vector<Container> containers_;
  std::map<std::string, std::set<std::string>> contexts_;  // of builds -> their Dockerfiles
  std::map<std::string, std::string> unread_;              // service -> its Dockerfile
  std::map<std::string, std::string> arguments_;  // of images whose entrypoint is not known
  std::map<std::string, std::string> images_;     // of services that are left alone
  std::string inactive_, with_paths_;
  bool started_ = false;
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
  if (const auto env = read(".env")) add_variables(*env, variable_of_caller, &dot_env);
  Interpolator values([&](const std::string& name) -> std::optional<std::string> {
    if (auto value = variable_of_caller(name)) return value;
    const auto found = dot_env.find(name);
    return found == dot_env.end() ? std::nullopt : std::optional(found->second);
  });
  const Result<ComposeFile> loaded = load_compose(file, text, read, &values);
  if (!loaded) return loaded.error();
  Reader reader(file, read, &values);
  reader.read(loaded.value());
  for (const std::string& over : loaded->overrides) reader.draft.source += " and " + over;
  return std::move(reader.draft);
}

}  // namespace filibuster::init
