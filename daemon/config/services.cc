#include <algorithm>
#include <filesystem>

#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;

struct ServiceDraft {
  Draft* draft;
  ServiceConfig service;
  bool has_ports = false;
  bool has_ready = false;
  const SourceNode* ready_port = nullptr;
  // Members that are an error with "protocol": "redis", some with one of their values; null if absent.
  const SourceNode* third_party = nullptr;
  const SourceNode* interpose = nullptr;
  const SourceNode* ready_http = nullptr;
  const SourceNode* attach = nullptr;
  const SourceNode* stubs = nullptr;
  const SourceNode* tls = nullptr;
  const SourceNode* part_of = nullptr;
  std::vector<HostDraft> hosts = {};
};

void read_ports(Reader& reader, const SourceNode& node, ServiceDraft* out) {
  out->has_ports = true;
  auto& ports = out->service.ports;
  if (node.kind == Kind::kArray) {  // ["users"]: any free port under each name
    for (const SourceNode& child : node.children) {
      if (child.kind == Kind::kInteger) {
        const std::string name = out->service.name.empty() ? "users" : out->service.name;
        reader.error(child.offset, "'ports': a number needs a name, as in {\"" + name +
                                       "\": " + std::to_string(child.integer) + "}");
        continue;
      }
      std::string name;
      if (!read_name(reader, child, "the name of a port", &name)) continue;
      if (!ports.emplace(name, 0).second)
        reader.error(child.offset, "port '" + name + "' is named twice");
    }
    return;
  }
  if (node.kind != Kind::kObject) {
    reader.error(
        node.offset,
        "'ports': expected names with numbers (0: any free one) as in {\"admin\": 5001}, or an "
        "array of names, found " +
            std::string(kind_name(node.kind)));
    return;
  }
  for (const SourceNode& child : node.children) {
    SourceNode name_node;
    name_node.kind = Kind::kString;
    name_node.offset = child.key_offset;
    name_node.text = child.key;
    std::string name;
    if (!read_name(reader, name_node, "the name of a port", &name)) continue;
    const auto number = reader.integer(child, "port '" + name + "'", 0, 65535);
    if (!number) continue;
    if (!ports.emplace(name, static_cast<uint16_t>(*number)).second) {
      reader.error(child.key_offset, "port '" + name + "' is named twice");
    }
  }
}

constexpr Key<ServiceDraft> kReadyKeys[] = {
    {"http", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       if (const auto path = reader.text(node, "'http'")) {
         if (!path->starts_with('/'))
           reader.error(node.offset, "'http': expected a path such as \"/health\"");
         note_port_uses(reader, node, out->draft);
         out->ready_http = &node;
         out->service.ready.kind = ReadyCheck::Kind::kHttp;
         out->service.ready.http_path = *path;
       }
     }},
    {"log", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       if (const auto text = reader.text(node, "'log'")) {
         if (text->empty())
           reader.error(node.offset, "'log': expected some text of the service's output");
         note_port_uses(reader, node, out->draft);
         out->service.ready.kind = ReadyCheck::Kind::kLog;
         out->service.ready.log_pattern = *text;
       }
     }},
    {"tcp", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft*) {
       if (const auto on = reader.flag(node, "'tcp'"); on && !*on) {
         reader.error(node.offset, "'tcp': expected true (\"ready\": \"none\" waits for nothing)");
       }
     }},
    {"timeout", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       if (const auto time = reader.duration(node, "'timeout'")) out->service.ready.timeout = *time;
     }},
    {"port", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       if (read_name(reader, node, "'port'", &out->service.ready.port)) out->ready_port = &node;
     }},
};

void read_ready(Reader& reader, const SourceNode& node, ServiceDraft* out) {
  out->has_ready = true;
  if (node.kind == Kind::kObject) {
    read_object<ServiceDraft>(reader, node, "'ready'", kReadyKeys, out);
    const auto is_kind = [](const SourceNode& child) {
      return child.key == "http" || child.key == "log" || child.key == "tcp";
    };
    if (std::count_if(node.children.begin(), node.children.end(), is_kind) > 1) {
      reader.error(node.offset, "'ready': only one of 'tcp', 'http' and 'log'");
    }
    return;
  }
  if (node.kind == Kind::kString && node.text == "tcp") return;
  if (node.kind == Kind::kString && node.text == "none") {
    out->service.ready.kind = ReadyCheck::Kind::kNone;
    return;
  }
  reader.error(
      node.offset,
      "'ready': expected \"tcp\", \"none\", {\"http\": \"/health\"} or {\"log\": \"text of its "
      "output\"}, with 'timeout' and 'port' if needed");
}

// A path, or a list of them.
template <std::vector<std::string> ServiceConfig::*member>
void read_paths(Reader& reader, const SourceNode& node, ServiceDraft* out) {
  const std::string what = "'" + node.key + "'";
  const auto add = [&](const SourceNode& one) {
    const auto text = reader.text(one, what);
    if (!text) return;
    if (text->empty()) {
      reader.error(one.offset, what + ": a path is empty");
      return;
    }
    const std::filesystem::path path = std::filesystem::path(out->draft->config.directory) / *text;
    (out->service.*member).push_back(path.lexically_normal().string());
  };
  if (node.kind == Kind::kString) return add(node);
  if (node.kind != Kind::kArray) {
    reader.error(node.offset, what + ": expected a path, or an array of paths, found " +
                                  std::string(kind_name(node.kind)));
    return;
  }
  for (const SourceNode& child : node.children) add(child);
}

void read_interpose(Reader& reader, const SourceNode& node, ServiceDraft* out) {
  out->interpose = &node;
  if (node.kind == Kind::kString && node.text == "bpf") {
    out->service.by_bpf = true;
    return;
  }
  if (node.kind != Kind::kBool) {
    reader.error(node.offset,
                 "'interpose': expected true, false or \"bpf\" (for a program into which no "
                 "library can be loaded)");
    return;
  }
  if (const auto on = reader.flag(node, "'interpose'")) out->service.ignored = !*on;
}

constexpr std::string_view kRestartWords[] = {"never", "crash", "each"};
constexpr std::string_view kProtocolWords[] = {"http", "redis"};
constexpr uint16_t kRedisPort = 6379;

constexpr Key<ServiceDraft> kServiceKeys[] = {
    {"name", true,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       if (read_name(reader, node, "'name'", &out->service.name) && out->service.name == "test") {
         reader.error(node.offset, "'test' names the test itself; give the service another name");
       }
     }},
    {"command", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       read_command(reader, node, "'command'", out->draft, &out->service.command);
     }},
    {"env", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       read_environment(reader, node, out->draft, &out->service.env);
     }},
    {"directory", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       read_directory(reader, node, *out->draft, &out->service.directory);
     }},
    {"ports", false, read_ports},
    {"host", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       const auto host = reader.text(node, "'host'");
       if (!host) return;
       // An IPv6 address has at least two colons; one separates a port.
       if (host->empty() || host->find_first_of("/[] \t") != std::string::npos ||
           std::count(host->begin(), host->end(), ':') == 1) {
         reader.error(node.offset,
                      "'host': expected a host name or address without scheme and port");
       }
       out->service.host = *host;
     }},
    {"hosts", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       read_hosts(reader, node, &out->hosts);
     }},
    {"ready", false, read_ready},
    {"third_party", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       out->third_party = &node;
       if (const auto on = reader.flag(node, "'third_party'")) out->service.third_party = *on;
     }},
    {"protocol", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       if (const auto word = reader.word(node, "'protocol'", kProtocolWords)) {
         out->service.protocol = *word == 1 ? Protocol::kRedis : Protocol::kHttp;
       }
     }},
    {"interpose", false, read_interpose},
    {"attach", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       out->attach = &node;
       read_attach(reader, node, &out->service.attach);
     }},
    {"stubs", false,
     [](Reader&, const SourceNode& node, ServiceDraft* out) {
       out->stubs = &node;  // they are read when the protocol is known
       out->service.is_virtual = true;
     }},
    {"tls", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       out->tls = &node;
       if (const auto on = reader.flag(node, "'tls'")) out->service.tls = *on;
     }},
    {"restart", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       if (const auto word = reader.word(node, "'restart'", kRestartWords)) {
         out->service.restart = static_cast<ServiceConfig::Restart>(*word);
       }
     }},
    {"part_of", false,
     [](Reader& reader, const SourceNode& node, ServiceDraft* out) {
       out->part_of = &node;
       read_name(reader, node, "'part_of'", &out->service.part_of);
     }},
    {"sources", false, read_paths<&ServiceConfig::sources>},
    {"openapi", false, read_paths<&ServiceConfig::openapi>},
    {"proto", false, read_paths<&ServiceConfig::proto>},
};

// A Redis server is a third party: it carries no agent, and understands no header field of ours.
void finish_redis(Reader& reader, ServiceDraft* draft) {
  ServiceConfig& service = draft->service;
  const std::string speaks = ": service '" + service.name + "' speaks Redis";
  if (draft->third_party != nullptr && !service.third_party) {
    reader.error(draft->third_party->offset,
                 "'third_party'" + speaks + ", and is always outside the application");
  }
  if (service.ignored) {
    reader.error(draft->interpose->offset,
                 "'interpose'" + speaks +
                     ", and either its commands get faults (leave 'interpose' "
                     "out) or it is not followed (leave 'protocol' out)");
  }
  if (draft->ready_http != nullptr) {
    reader.error(draft->ready_http->offset, "'http'" + speaks +
                                                ", and answers no HTTP; expected "
                                                "'tcp' or 'log'");
  }
  if (service.is_attached()) {
    const SourceNode* const node = service.by_bpf ? draft->interpose : draft->attach;
    reader.error(
        node->offset,
        "'" + node->key + "'" + speaks +
            ", and its callers are followed, not the server itself: its address is all that is needed (\"ports\")");
  }
  service.third_party = true;
  if (!draft->has_ports && service.command.empty() && !service.is_virtual && !service.name.empty())
    service.ports[service.name] = kRedisPort;
}

// A service that runs already was started by somebody else, with the environment that it has.
void finish_attach(Reader& reader, const SourceNode& node, ServiceDraft* draft) {
  ServiceConfig& service = draft->service;
  constexpr std::string_view kOfAStart[] = {"command", "env",         "directory", "restart",
                                            "host",    "third_party", "interpose"};
  for (const SourceNode& child : node.children) {
    if (std::find(std::begin(kOfAStart), std::end(kOfAStart), child.key) == std::end(kOfAStart))
      continue;
    reader.error(child.offset, "'" + child.key + "': service '" + service.name +
                                   "' is attached to while it runs ('attach'); leave one of the "
                                   "two out");
  }
  // What is known of its ports without a look at the machine: they can be named, as in ${port:users}.
  if (service.attach.by == AttachConfig::By::kPort && !draft->has_ports && !service.name.empty())
    service.ports[service.name] = static_cast<uint16_t>(service.attach.number);
}

// The daemon listens in its place, so that nothing of a process is to be said.
void finish_stubs(Reader& reader, const SourceNode& node, ServiceDraft* draft) {
  ServiceConfig& service = draft->service;
  constexpr std::string_view kOfAProcess[] = {"command",     "env",    "directory", "restart",
                                              "host",        "ready",  "interpose", "attach",
                                              "third_party", "part_of"};
  for (const SourceNode& child : node.children) {
    if (std::find(std::begin(kOfAProcess), std::end(kOfAProcess), child.key) ==
        std::end(kOfAProcess))
      continue;
    reader.error(child.key_offset, "'" + child.key + "': service '" + service.name +
                                       "' has no process ('stubs'); leave one of the two out");
  }
  const bool is_redis = service.protocol == Protocol::kRedis;
  if (draft->stubs->kind == Kind::kObject && !is_redis) {
    service.contract = read_contract(reader, *draft->stubs, draft->draft);
  } else {
    read_stubs(reader, *draft->stubs, service.name, is_redis, &service.stubs);
  }
  service.ready.kind = ReadyCheck::Kind::kNone;
  if (!draft->has_ports && !service.name.empty()) service.ports[service.name] = 0;
  constexpr uint16_t kHttps = 443;
  const auto is_https = [&](const HostDraft& host) { return host.port == kHttps; };
  if (draft->tls == nullptr)
    service.tls = std::any_of(draft->hosts.begin(), draft->hosts.end(), is_https);
}

void finish_bpf(Reader& reader, const ServiceDraft& draft) {
  const std::string begin = "'interpose': \"bpf\": service '" + draft.service.name + "' ";
  if (draft.service.third_party) {
    reader.error(draft.interpose->offset, begin + "is a third party, and is not followed");
  } else if (draft.service.command.empty() && draft.attach == nullptr) {
    reader.error(draft.interpose->offset,
                 begin + "has no command; a program that runs already is named by 'attach'");
  }
}

// A replay starts it with the service that it is a part of.
void finish_part(Reader& reader, const ServiceDraft& draft) {
  if (!draft.service.command.empty()) return;
  reader.error(draft.part_of->offset,
               "'part_of': service '" + draft.service.name +
                   "' has no command, so that no replay can start it with '" +
                   draft.service.part_of + "'; give it a `command`, or leave 'part_of' out");
}

void finish(Reader& reader, const SourceNode& node, ServiceDraft* draft) {
  ServiceConfig& service = draft->service;
  if (draft->attach != nullptr) finish_attach(reader, node, draft);
  if (service.by_bpf) finish_bpf(reader, *draft);
  if (service.protocol == Protocol::kRedis) finish_redis(reader, draft);
  if (service.is_virtual) return finish_stubs(reader, node, draft);
  if (draft->tls != nullptr)
    reader.error(
        draft->tls->key_offset,
        "'tls': service '" + service.name +
            "' has a process, which decides that itself; the key is of services with 'stubs'");
  if (draft->part_of != nullptr) finish_part(reader, *draft);
  const bool by_hand = service.command.empty();
  // A service that somebody else starts gets no free port from us. Nothing is waited for by default if
  // there is no port, or no command.
  if (!draft->has_ports && !by_hand && !service.name.empty()) service.ports[service.name] = 0;
  if (!draft->has_ready && (service.ports.empty() || by_hand))
    service.ready.kind = ReadyCheck::Kind::kNone;
  if (by_hand) {
    for (const auto& [name, number] : service.ports) {
      if (number == 0) {
        reader.error(node.offset,
                     "port '" + name + "' of service '" + service.name +
                         "' needs its number: a service without a command is started by "
                         "someone else");
      }
    }
    if (service.ready.kind == ReadyCheck::Kind::kLog) {
      reader.error(node.offset, "'ready' cannot read the output of service '" + service.name +
                                    "', which has no command");
    }
  }
  const bool needs_port =
      service.ready.kind == ReadyCheck::Kind::kTcp || service.ready.kind == ReadyCheck::Kind::kHttp;
  if (draft->ready_port != nullptr && !service.ports.contains(service.ready.port)) {
    std::vector<std::string_view> names;
    for (const auto& [name, number] : service.ports) names.push_back(name);
    reader.error(draft->ready_port->offset,
                 "'port': service '" + service.name + "' has no port '" + service.ready.port + "'" +
                     (names.empty() ? "" : "; it has " + list_of(names)));
  } else if (needs_port && service.ports.empty()) {
    reader.error(node.offset, "'ready' needs a port, and service '" + service.name + "' has none");
  }
}

// Services are told apart by address and port: if two had the same, calls to one would be named after
// the other.
void check_addresses(Reader& reader, const SourceNode& node, const ServiceConfig& service,
                     std::map<std::string, std::string>* owners) {
  const bool here = service.host.empty() || service.host == "localhost" ||
                    service.host == "127.0.0.1" || service.host == "::1";
  const std::string host = here ? "localhost" : service.host;
  for (const auto& [name, number] : service.ports) {
    if (number == 0) continue;
    const std::string address = host + " port " + std::to_string(number);
    const auto [owner, added] = owners->emplace(address, service.name);
    if (added || owner->second == service.name) continue;
    reader.error(node.offset, "services '" + owner->second + "' and '" + service.name +
                                  "' both have " + address +
                                  "; give them other ports, or each the `host` where it listens");
  }
}

// What a service is a part of has to be there, and to be a part of nothing itself.
void check_parts(Reader& reader, const SourceNode& node, const std::vector<ServiceConfig>& all) {
  for (const SourceNode& row : node.children) {
    const auto key = std::find_if(row.children.begin(), row.children.end(),
                                  [](const SourceNode& each) { return each.key == "part_of"; });
    if (key == row.children.end() || key->text.empty()) continue;
    const auto whole = std::find_if(all.begin(), all.end(),
                                    [&](const auto& each) { return each.name == key->text; });
    if (whole == all.end()) {
      std::vector<std::string_view> names;
      for (const ServiceConfig& each : all) names.push_back(each.name);
      reader.error(key->offset, "'part_of': there is no service '" + key->text +
                                    "' (services: " + list_of(names) + ")");
    } else if (!whole->part_of.empty()) {
      reader.error(key->offset, "'part_of': '" + key->text + "' is a part of '" + whole->part_of +
                                    "' itself; expected a service that is a part of nothing");
    }
  }
}

}  // namespace

void read_services(Reader& reader, const SourceNode& node, Draft* draft) {
  if (!reader.expect(node, Kind::kArray, "'services'")) return;
  std::map<std::string, std::string> port_owner, address_owner;
  HostOwners host_owner;
  for (const SourceNode& child : node.children) {
    ServiceDraft service{.draft = draft, .service = {}};
    if (!read_object<ServiceDraft>(reader, child, "a service", kServiceKeys, &service)) continue;
    finish(reader, child, &service);
    const std::string& name = service.service.name;
    const auto same = [&](const ServiceConfig& other) { return other.name == name; };
    if (!name.empty() &&
        std::any_of(draft->config.services.begin(), draft->config.services.end(), same)) {
      reader.error(child.offset, "two services are named '" + name + "'");
      continue;
    }
    for (const auto& [port, number] : service.service.ports) {
      const auto [owner, added] = port_owner.emplace(port, name);
      if (!added) {
        reader.error(child.offset, "services '" + owner->second + "' and '" + name +
                                       "' both have a port named '" + port + "'");
      }
    }
    check_addresses(reader, child, service.service, &address_owner);
    finish_hosts(reader, service.hosts, &host_owner, &service.service);
    draft->config.services.push_back(std::move(service.service));
  }
  check_host_count(reader, node, host_owner);
  check_parts(reader, node, draft->config.services);
}

}  // namespace filibuster::config
