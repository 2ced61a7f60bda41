// Names of containers in addresses, and the ports at which they listen.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <set>

#include "cli/init/container.h"

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
    if (!one.draft.ports.empty()) continue;
    for (const Container& other : *containers) {
      for (const auto& [name, value] : other.draft.env) {
        if (const auto port = port_behind(value, one.draft.name)) add_port(*port, &one.draft);
      }
    }
  }
}

void localize(DraftService* service, const std::vector<Container>& containers) {
  localize_ports(service, containers);
  for (auto& [name, value] : service->env) value = localized(value, containers);
  service->command = localized(service->command, containers);
  free_port(service);  // last: another service may have the same number
}

void separate_ports(Draft* draft) {
  std::set<uint16_t> fixed;
  for (DraftService& service : draft->services) {
    if (service.any_port || service.ports.empty() || fixed.insert(service.ports.front()).second)
      continue;
    draft->remarks.push_back(
        "'" + service.name + "' listens at " + std::to_string(service.ports.front()) +
        ", as another service does: it gets a free port as PORT; see that it reads it");
    service.any_port = true;
    service.env["PORT"] = "${port:" + service.name + "}";
  }
}

}  // namespace filibuster::init
