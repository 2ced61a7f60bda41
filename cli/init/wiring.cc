#include "cli/init/wiring.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "cli/init/container.h"
#include "cli/init/other_reads.h"
#include "cli/init/own_ports.h"
#include "cli/init/peers.h"
#include "daemon/redact/redact.h"

namespace filibuster::init {
namespace {

Peer peer_of(const DraftService& service) {
  Peer out;
  out.name = service.name;
  out.hosts = service.hosts;
  out.ports = service.known_at;
  out.hosts.push_back(service.name);
  out.server = service.server;
  out.free = service.any_port;
  if (!service.ports.empty()) {
    out.ports.push_back(service.ports.front());
    out.others.assign(service.ports.begin() + 1, service.ports.end());
  }
  if (service.server != nullptr && service.server->port != 0)
    out.ports.push_back(service.server->port);
  return out;
}

// Those to which others can be led.
std::vector<Peer> peers_of(const Draft& draft) {
  std::vector<Peer> out;
  for (const DraftService& service : draft.services) {
    if (!service.worker && (service.any_port || !service.ports.empty()))
      out.push_back(peer_of(service));
  }
  return out;
}

// Known everywhere, or without a meaning for who calls whom.
bool is_noise(const std::string& name) {
  constexpr std::string_view kNames[] = {
      "PATH",        "HOME",         "USER",        "USERNAME",    "SHELL",
      "LANG",        "TZ",           "TERM",        "PWD",         "TMPDIR",
      "TMP",         "TEMP",         "HOSTNAME",    "DEBUG",       "VERBOSE",
      "LOG_LEVEL",   "LOGLEVEL",     "LOG_FORMAT",  "CI",          "PORT",
      "HOST",        "ENV",          "ENVIRONMENT", "EDITOR",      "VERSION",
      "PYTHONPATH",  "JAVA_HOME",    "GOPATH",      "APPDATA",     "DISPLAY",
      "APP_NAME",    "SERVICE_NAME", "NO_COLOR",    "VIRTUAL_ENV", "WEB_CONCURRENCY",
      "FORCE_COLOR", "COLUMNS",      "LOGNAME"};
  constexpr std::string_view kBegins[] = {
      "ENABLE_", "DISABLE_", "OTEL_",       "PYTEST_", "GITHUB_",     "XDG_",   "LC_",
      "LD_",     "GITLAB_",  "FILIBUSTER_", "CI_",     "KUBERNETES_", "DEBUG_", "npm_"};
  constexpr std::string_view kEnds[] = {"_ENV", "_DEBUG", "_LOG_LEVEL", "_ENABLED", "_VERSION"};
  const auto begins = [&](std::string_view one) { return name.starts_with(one); };
  const auto ends = [&](std::string_view one) { return name.ends_with(one); };
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         std::any_of(std::begin(kBegins), std::end(kBegins), begins) ||
         std::any_of(std::begin(kEnds), std::end(kEnds), ends);
}

// A default that only leads somewhere on this machine, or among containers.
bool is_near(const std::string& value) {
  const std::vector<AddressIn> all = addresses_in(value);
  return is_loopback(value) || std::any_of(all.begin(), all.end(), [&](const AddressIn& one) {
           return is_loopback(value.substr(one.host, one.port - 1 - one.host));
         });
}

class Wiring {
 public:
  Wiring(const ReadVariable& environment, Draft* draft)
      : environment_(environment), draft_(*draft), peers_(peers_of(*draft)) {
    if (const DraftService* const first = asked_first(*draft)) {
      for (const Peer& peer : peers_) {
        if (peer.name == first->name) general_ = &peer;
      }
    }
  }

  void run(const std::vector<Reader>& readers) {
    for (Peer& peer : peers_) {
      const DraftService* const service = service_of(peer.name, &draft_);
      peer.tls = serves_tls(service->command) ||
                 std::any_of(readers.begin(), readers.end(), [&](const Reader& one) {
                   return one.service == peer.name && one.tls;
                 });
    }
    for (DraftService& service : draft_.services) {
      given(&service);
      for (const auto& [name, value] : service.env) set_for_some_.insert(name);
    }
    for (const Reader& reader : readers) {
      DraftService* const service = service_of(reader.service, &draft_);
      if (reader.service.empty()) {
        read(reader, nullptr, &draft_.test_env);
      } else if (service != nullptr && !service->left_alone && !service->redis) {
        read(reader, service, &service->env);
      }
    }
    keep_ports();
    remark();
  }

 private:
  // `values` are those of other variables: BACKEND_PORT=5001 beside BACKEND_HOST=localhost is an address.
  std::optional<Link> link_of(const std::string& name, const std::optional<std::string>& value,
                              From from, const std::string& self,
                              const std::map<std::string, std::string>& values) const {
    const Peer* const general = self.empty() ? general_ : nullptr;
    if (auto link = link_to(name, value, from, peers_, self, general)) return link;
    if (!value || !name.ends_with("PORT") || !port_of(*value)) return std::nullopt;
    const auto host = values.find(name.substr(0, name.size() - 4) + "HOST");
    if (host == values.end() || !is_loopback(host->second)) return std::nullopt;
    auto link = link_to(name, "localhost:" + *value, from, peers_, self);
    if (link) link->value = port_variable_of(link->peer->name);
    return link;
  }

  // What the original files say.
  void given(DraftService* service) {
    for (auto& [name, value] : service->env) {
      if (const auto link = link_of(name, value, From::kFiles, service->name, service->env)) {
        value = link->value;
        if (link->host_only) service->host_only[name] = link->peer->name;
      }
    }
    std::vector<Assignment> assignments = assignments_of(service->command);
    std::reverse(assignments.begin(), assignments.end());
    for (const Assignment& one : assignments) {
      std::string& command = service->command;
      const std::string value = command.substr(one.value, one.end - one.value);
      if (const auto link = link_to(one.name, value, From::kFiles, peers_, service->name))
        command.replace(one.value, one.end - one.value, link->value);
    }
    service->command = linked_command(service->command, peers_, service->name);
  }

  // What the sources read.
  void read(const Reader& reader, DraftService* service, std::map<std::string, std::string>* env) {
    std::set<std::string> set;
    for (const Assignment& one :
         assignments_of(service == nullptr ? std::string() : service->command))
      set.insert(one.name);
    const auto reads = by_name(reader.reads);
    std::map<std::string, std::string> hosts = *env;  // and what stands in for them
    for (const auto& [name, found] : reads) {
      if (found.otherwise) hosts.emplace(name, *found.otherwise);
    }
    for (const auto& [name, found] : reads) {
      if (env->contains(name) || set.contains(name)) continue;
      if (found.shared && set_for_some_.contains(name)) continue;  // those that read it have it
      const auto dot_env = reader.dot_env.find(name);
      const bool has_value = dot_env != reader.dot_env.end() && !dot_env->second.empty();
      const auto link = link_of(name, has_value ? std::optional(dot_env->second) : found.otherwise,
                                has_value ? From::kFiles : From::kSource, reader.service, hosts);
      const bool secret = has_value && redact_variable(name, dot_env->second) != dot_env->second;
      if (link && (link->peer->free || !secret)) {
        (*env)[name] = link->value;
        if (link->host_only) host_only_[reader.service][name] = link->peer->name;
      } else if (has_value && gives_dot_env()) {
        give(name, dot_env->second, env);
      } else if (!has_value && !environment_(name)) {
        unset(name, found, reader.service);
      }
    }
    if (!gives_dot_env()) return;
    for (const auto& [name, value] : reader.dot_env) {
      if (service != nullptr && !reader.has_sources && !env->contains(name)) give(name, value, env);
      if (env->contains(name)) given_.insert(name);
      kept_.insert(name);
    }
  }

  // A variable of `.env`. A configuration is for a repository, and `.env` often is not.
  void give(const std::string& name, const std::string& value,
            std::map<std::string, std::string>* env) {
    if (redact_variable(name, value) != value) {
      secrets_.insert(name);
    } else {
      (*env)[name] = value;
    }
  }

  // foreman and its kind do.
  bool gives_dot_env() const { return draft_.origin == Draft::Origin::kProcfile; }

  void unset(const std::string& name, const VariableRead& read, const std::string& service) {
    const VariableName parts = read_variable_name(name);
    const bool bound = parts.part == Part::kHost && parts.telling.empty();  // where it listens
    const bool own = !service.empty() && (own_port_rank(name, service) > 0 || bound);
    const bool near = read.otherwise && is_near(*read.otherwise);
    if (is_noise(name) || own || (!read.needed && !near)) return;
    Unset& one = unset_[name];
    one.needed = one.needed || read.needed;
    if (!read.needed) one.otherwise = *read.otherwise;
    const std::string place =
        read.line == 0 ? read.file : read.file + ":" + std::to_string(read.line);
    if (std::find(one.places.begin(), one.places.end(), place) == one.places.end())
      one.places.push_back(place);
  }

  // Where only the host of a service is told, its port stands in the source: it keeps the one that it
  // has in the original files.
  void keep_ports() {
    for (const DraftService& service : draft_.services) {
      for (const auto& [name, peer] : service.host_only)
        host_only_[service.name].emplace(name, peer);
    }
    std::map<std::string, std::string> hosts_told;  // service -> by whom
    for (const auto& [reader, variables] : host_only_) {
      const DraftService* const service = service_of(reader, &draft_);
      const auto& env = service == nullptr ? draft_.test_env : service->env;
      for (const auto& [name, peer] : variables) {
        const std::string port = port_variable_of(peer);
        const bool told = std::any_of(env.begin(), env.end(), [&](const auto& entry) {
          return entry.second.find(port) != std::string::npos;
        });
        const DraftService* const other = service_of(peer, &draft_);
        if (told || other == nullptr || !other->any_port) continue;
        hosts_told[peer] += (hosts_told[peer].empty() ? "" : ", ") + name + " of " +
                            (reader.empty() ? "the test" : "'" + reader + "'");
      }
    }
    for (const auto& [peer, who] : hosts_told) {
      DraftService* const other = service_of(peer, &draft_);
      const uint16_t usual = usual_port(*other);
      if (usual == 0) {
        draft_.remarks.push_back("'" + peer + "' gets a free port, and only its host is told by " +
                                 who + ": see that its port is read, too");
        continue;
      }
      other->any_port = false;
      std::erase(other->ports, usual);
      other->ports.insert(other->ports.begin(), usual);
      draft_.remarks.push_back("'" + peer + "' keeps the port " + std::to_string(usual) +
                               ", since only its host is told by " + who);
    }
  }

  // The port of a service in the original files, if it can be had here; 0: none.
  uint16_t usual_port(const DraftService& service) const {
    constexpr uint16_t kFirstForAll = 1024;
    const auto is_taken = [&](uint16_t port) {
      return std::any_of(
          draft_.services.begin(), draft_.services.end(), [&](const DraftService& one) {
            return one.name != service.name && !one.any_port && has_number(one.ports, port);
          });
    };
    std::vector<uint16_t> ports = service.ports;
    if (ports.size() > 1) ports.resize(1);
    if (service.server != nullptr) ports.push_back(service.server->port);
    ports.insert(ports.end(), service.known_at.begin(), service.known_at.end());
    for (const uint16_t port : ports) {
      if (port >= kFirstForAll && !is_taken(port)) return port;
    }
    return 0;
  }

  void remark() {
    constexpr size_t kMost = 24;
    std::vector<std::string> lines;
    for (const bool needed : {true, false}) {
      for (const auto& [name, one] : unset_) {
        if (one.needed != needed) continue;
        std::string line = name + " is read by " + one.places[0];
        if (one.places.size() > 1) line += " and " + one.places[1];
        if (one.places.size() > 2) line += " and others";
        line += " and set by nothing";
        if (!needed) line += ", and no service here is known to be at its default " + one.otherwise;
        lines.push_back(std::move(line));
      }
    }
    for (size_t i = 0; i < lines.size() && i < kMost; ++i) draft_.remarks.push_back(lines[i]);
    if (lines.size() > kMost)
      draft_.remarks.push_back(std::to_string(lines.size() - kMost) +
                               " more variables are read and set by nothing");
    std::string left, secrets;
    for (const std::string& name : kept_) {
      if (!given_.contains(name) && !secrets_.contains(name))
        left += (left.empty() ? "" : ", ") + name;
    }
    for (const std::string& name : secrets_) secrets += (secrets.empty() ? "" : ", ") + name;
    if (!secrets.empty())
      draft_.remarks.push_back("not copied from .env, since these look like secrets: " + secrets +
                               "; export them before `filibuster run`");
    if (!left.empty())
      draft_.remarks.push_back(
          "no source that was found reads these variables of .env, and so no "
          "service is given them: " +
          left);
  }

  struct Unset {
    bool needed = false;
    std::string otherwise;
    std::vector<std::string> places;
  };
  const ReadVariable& environment_;
  Draft& draft_;
  std::vector<Peer> peers_;
  const Peer* general_ = nullptr;                                        // of a test's BASE_URL
  std::map<std::string, std::map<std::string, std::string>> host_only_;  // reader, variable -> peer
  std::map<std::string, Unset> unset_;
  std::set<std::string> given_, kept_, secrets_;  // variables of `.env`
  std::set<std::string> set_for_some_;            // by the original files
};

}  // namespace

void wire(const std::vector<Reader>& readers, const ReadVariable& environment, Draft* draft) {
  Wiring(environment, draft).run(readers);
}

}  // namespace filibuster::init
