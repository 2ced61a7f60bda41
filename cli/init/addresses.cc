// Names of containers in addresses, and the ports at which they listen.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>

#include "cli/init/container.h"
#include "cli/init/peers.h"

namespace filibuster::init {
namespace {

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

std::string own_port(const DraftService& service) {
  return "${port:" + service.name + "}";
}

// "http://users/a" and "postgres://user:password@db/shop", where no port stands: the main one.
std::string with_main_port(const std::string& text, const std::string& host,
                           const DraftService& service) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t found = text.find(host, at);
    if (found == std::string::npos) return out + text.substr(at);
    const size_t end = found + host.size();
    const bool begins = found > 0 && ((found > 2 && text.compare(found - 3, 3, "://") == 0) ||
                                      (text[found - 1] == '@' && text.find("://") < found));
    const bool ends =
        end == text.size() || std::string_view("/\"'?, ").find(text[end]) != std::string_view::npos;
    out += text.substr(at, found - at) +
           (begins && ends ? "127.0.0.1:" + own_port(service) : text.substr(found, host.size()));
    at = end;
  }
  return out;
}

// "Host=db;Port=5432" and "host=db user=x": a list of settings, of which one names the host.
std::string with_setting(std::string text, const std::string& host) {
  constexpr std::string_view kKeys[] = {"host",        "hostname", "server",
                                        "data source", "addr",     "address"};
  if (text.find('=') == std::string::npos) return text;
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view key : kKeys) {
    const std::string begin = std::string(key) + "=" + host;
    const size_t at = text.find("=" + host, lower.find(std::string(key) + "="));
    const size_t end = at + 1 + host.size();
    if (at == std::string::npos || at < key.size() ||
        lower.compare(at - key.size(), key.size(), key) != 0)
      continue;
    const bool first = at == key.size() || !is_word_char(text[at - key.size() - 1]);
    if (first && (end == text.size() || text[end] == ';' || text[end] == ' ' || text[end] == ','))
      return text.substr(0, at + 1) + "127.0.0.1" + text.substr(end);
  }
  return text;
}

std::string localized(std::string text, const std::vector<Container>& containers) {
  for (const Container& one : containers) {
    const DraftService& service = one.draft;
    for (const std::string& host : one.hosts) {
      if (text.find(host) == std::string::npos) continue;
      for (const uint16_t port : service.ports) {
        const bool main = port == service.ports.front();
        text = replaced_words(text, host + ":" + std::to_string(port),
                              "127.0.0.1:" + (main ? own_port(service) : std::to_string(port)));
      }
      if (!service.ports.empty()) text = with_main_port(text, host, service);
      text = with_setting(std::move(text), host);
    }
  }
  return text;
}

// Whether the value of a variable of this name is a host, if it is the name of a service: DB_HOST,
// REDIS, not SERVICE_NAME.
bool names_host(const std::string& name, const std::vector<Container>& containers) {
  constexpr std::string_view kWords[] = {
      "host",     "hosts", "hostname", "addr",   "address",  "addresses",  "url",   "uri",
      "endpoint", "ip",    "server",   "node",   "upstream", "bootstrap",  "nodes", "servers",
      "broker",   "dsn",   "brokers",  "target", "backend",  "connection", "peer"};
  for (const std::string& word : small_words(name)) {
    if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return true;
  }
  if (name.ends_with("HOST")) return true;  // DBHOST
  return std::any_of(containers.begin(), containers.end(), [&](const Container& one) {
    std::string own = one.draft.name;
    std::transform(own.begin(), own.end(), own.begin(), [](unsigned char c) {
      return std::isalnum(c) != 0 ? static_cast<char>(std::toupper(c)) : '_';
    });
    return own == name;
  });
}

const Container* container_of(const std::string& host, const std::vector<Container>& containers) {
  const auto found = std::find_if(containers.begin(), containers.end(), [&](const Container& one) {
    return std::find(one.hosts.begin(), one.hosts.end(), host) != one.hosts.end();
  });
  return found == containers.end() ? nullptr : &*found;
}

// The value of the variable that names the host to which the port of `name` belongs: DB_HOST for
// DB_PORT.
std::optional<std::string> host_beside(const std::string& name, const DraftService& service) {
  const std::string stem = name.substr(0, name.rfind("PORT"));
  for (const char* const word : {"HOST", "ADDR", "HOSTNAME", "SERVER"}) {
    if (const auto found = service.env.find(stem + word); found != service.env.end())
      return found->second;
  }
  // FLAGD_UI_PORT beside FLAGD_HOST is another port of that host.
  const size_t last = stem.size() < 2 ? std::string::npos : stem.rfind('_', stem.size() - 2);
  if (last == std::string::npos) return std::nullopt;
  const auto found = service.env.find(stem.substr(0, last + 1) + "HOST");
  return found == service.env.end() ? std::nullopt : std::optional(found->second);
}

bool is_everywhere(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || host == "::" || host == "localhost" ||
         host == "127.0.0.1" || host == "*";
}

// DB_HOST=db and DB_PORT=5432: the number is the port of the service that the other variable names.
void localize_ports(DraftService* service, const std::vector<Container>& containers) {
  for (auto& [name, value] : service->env) {
    if (!name.ends_with("PORT")) continue;
    const auto host = host_beside(name, *service);
    const Container* const other = host ? container_of(*host, containers) : nullptr;
    if (other == nullptr || other->draft.ports.empty()) continue;
    if (value == std::to_string(other->draft.ports.front())) value = own_port(other->draft);
  }
}

// "http://+:80", "http://*:80;http://..", "0.0.0.0:80", "[::]:80", ":80": where a service is told
// to listen.
std::string listening_at(const std::string& text, const std::string& number,
                         const std::string& free) {
  std::string out = text;
  for (const char* const host : {"*:", "+:", "0.0.0.0:", "[::]:"})
    if (size_t at = out.find(host + number); at != std::string::npos) {
      at += std::string_view(host).size();
      const size_t end = at + number.size();
      if (end == out.size() || !is_word_char(out[end])) out.replace(at, number.size(), free);
    }
  return out == ":" + number ? ":" + free : out;
}

// Puts ${port:NAME} wherever the service itself is told its main port. `hosts` has what its
// variables said before they became addresses of this machine.
void free_port(DraftService* service, const DraftService& before) {
  if (service->ports.empty()) return;
  const std::string number = std::to_string(service->ports.front());
  const std::string free = own_port(*service);
  for (auto& [name, value] : service->env) {
    const bool names_port = name == "PORT" || name.ends_with("_PORT") || name.ends_with("_PORTS");
    const auto host = host_beside(name, before);
    const bool of_other = host && !is_everywhere(*host) && *host != service->name;
    std::string changed =
        names_port && value == number && !of_other ? free : listening_at(value, number, free);
    if (changed == value) continue;
    value = std::move(changed);
    service->any_port = true;
  }
  const std::string command = replaced_words(service->command, number, free);
  service->any_port = service->any_port || command != service->command;
  service->command = command;
}

// The number behind "NAME:" in `text`, where NAME is a word of its own.
std::optional<uint16_t> port_behind(const std::string& text, const std::string& name) {
  const std::string begin = name + ":";
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    if (at > 0 && is_word_char(text[at - 1])) continue;
    const size_t digits = at + begin.size();
    const size_t end = std::min(text.find_first_not_of("0123456789", digits), text.size());
    if (const auto port = port_of(std::string_view(text).substr(digits, end - digits))) return port;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint16_t> port_of(std::string_view text) {
  uint16_t port = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failed != std::errc() || rest != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

void add_port(uint16_t port, DraftService* out) {
  if (std::find(out->ports.begin(), out->ports.end(), port) == out->ports.end())
    out->ports.push_back(port);
}

std::string health_path(std::string_view command) {
  constexpr std::string_view kHosts[] = {"localhost", "127.0.0.1", "0.0.0.0", "[::1]"};
  for (size_t at = command.find("://"); at != command.npos; at = command.find("://", at + 1)) {
    std::string_view rest = command.substr(at + 3);
    const auto host = std::find_if(std::begin(kHosts), std::end(kHosts),
                                   [&](std::string_view one) { return rest.starts_with(one); });
    if (host == std::end(kHosts)) continue;
    rest.remove_prefix(host->size());
    if (rest.starts_with(':'))
      rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
    if (!rest.starts_with('/')) return "/";
    return std::string(rest.substr(0, rest.find_first_of(" \t\n'\"|;)")));
  }
  return "";
}

void find_ports(std::vector<Container>* containers) {
  for (Container& one : *containers) {
    for (const Container& other : *containers) {
      for (const auto& [name, value] : other.draft.env) {
        for (const std::string& host : one.hosts) {
          if (const auto port = port_behind(value, host)) add_port(*port, &one.draft);
        }
      }
    }
  }
  // CART_HOST=cart and CART_PORT=7070
  for (const Container& other : *containers) {
    for (const auto& [name, value] : other.draft.env) {
      const auto host = name.ends_with("_PORT")
                            ? other.draft.env.find(name.substr(0, name.size() - 4) + "HOST")
                            : other.draft.env.end();
      if (host == other.draft.env.end()) continue;
      for (Container& one : *containers) {
        const bool named =
            std::find(one.hosts.begin(), one.hosts.end(), host->second) != one.hosts.end();
        if (const auto port = port_of(value); named && port) add_port(*port, &one.draft);
      }
    }
  }
}

void localize(DraftService* service, const std::vector<Container>& containers) {
  const DraftService before = *service;
  localize_ports(service, containers);
  for (auto& [name, value] : service->env) {
    const Container* const named =
        names_host(name, containers) ? container_of(value, containers) : nullptr;
    if (named != nullptr) service->host_only[name] = named->draft.name;
    value = named != nullptr ? "127.0.0.1" : localized(value, containers);
  }
  service->command = localized(service->command, containers);
  free_port(service, before);  // last: another service may have the same number
}

void separate_servers(Draft* draft) {
  std::set<uint16_t> taken;
  std::vector<uint16_t*> again;
  for (DraftService& service : draft->services) {
    if (service.left_alone && !service.ports.empty() && !taken.insert(service.ports.front()).second)
      again.push_back(&service.ports.front());
  }
  for (uint16_t* const port : again) {
    while (*port < UINT16_MAX && !taken.insert(*port).second) ++*port;
  }
}

void separate_ports(Draft* draft) {
  std::set<uint16_t> taken;
  for (const DraftService& service : draft->services) {
    if (service.left_alone && !service.ports.empty()) taken.insert(service.ports.front());
  }
  for (DraftService& service : draft->services) {
    if (service.any_port || service.left_alone || service.ports.empty()) continue;
    const uint16_t port = service.ports.front();
    if (taken.insert(port).second) continue;
    draft->remarks.push_back("'" + service.name + "' listens at " + std::to_string(port) +
                             ", as another service does: it gets a free port as " +
                             service.port_variable + "; see that it reads it");
    service.any_port = true;
    service.env[service.port_variable] =
        (service.port_variable.ends_with("URLS") ? "http://127.0.0.1:" : "") + own_port(service);
  }
  // One number cannot be had twice, so a further port that somebody has is not listed again.
  for (DraftService& service : draft->services) {
    if (service.any_port) continue;
    for (size_t i = 1; i < service.ports.size();) {
      const uint16_t port = service.ports[i];
      if (taken.insert(port).second) {
        ++i;
        continue;
      }
      draft->remarks.push_back("'" + service.name + "' also listens at " + std::to_string(port) +
                               ", as another service does: give one of them another port");
      service.ports.erase(service.ports.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

}  // namespace filibuster::init
