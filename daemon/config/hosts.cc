// `hosts` of a service: names, with or without a port, as they are written in programs.
#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/protocol/lane_memory.h"
#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;

// "redis:6379" without scheme; nothing of it is wrong but what the error says.
void read_host(Reader& reader, size_t offset, const std::string& text, std::string leads_to,
               std::vector<HostDraft>* out) {
  HostDraft host{offset, text, std::nullopt, std::move(leads_to)};
  const auto wrong = [&](const std::string& what) {
    reader.error(offset, "'hosts': " + what +
                             "; expected a name as programs write it, with a port or without: "
                             "\"redis\", \"users.internal:8080\"");
  };
  if (const size_t colon = text.rfind(':'); colon != std::string::npos) {
    host.name = text.substr(0, colon);
    const char* const end = text.data() + text.size();
    uint16_t port = 0;
    const auto [rest, failed] = std::from_chars(text.data() + colon + 1, end, port);
    if (failed != std::errc() || rest != end || port == 0)
      return wrong("'" + text + "' has no port of 1 to 65535 behind its colon");
    host.port = port;
  }
  if (host.name.ends_with('.')) host.name.pop_back();  // a name that is complete (RFC 1034 §3.1)
  std::transform(host.name.begin(), host.name.end(), host.name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto in_name = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  in_addr address;
  if (host.name.empty() || !std::all_of(host.name.begin(), host.name.end(), in_name))
    return wrong("'" + text + "' is no host name");
  if (host.name.size() > sizeof(HostRow::name))
    return wrong("'" + text + "' is longer than " + std::to_string(sizeof(HostRow::name)) +
                 " characters");
  if (::inet_aton(host.name.c_str(), &address) != 0)
    return wrong("'" + host.name + "' is an address, and only names are led to a service");
  if (host.name == "localhost") return wrong("'localhost' is this machine for every program");
  out->push_back(std::move(host));
}

std::string to_text(const std::string& name, uint16_t port) {
  return port == 0 ? "'" + name + "'" : "'" + name + ":" + std::to_string(port) + "'";
}

// Names lead to an IPv4 address, since sockets of that family connect to them, too.
bool can_be_led_to(const std::string& host) {
  in_addr address;
  return host.empty() || host == "localhost" || ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

}  // namespace

void read_hosts(Reader& reader, const SourceNode& node, std::vector<HostDraft>* out) {
  if (node.kind == Kind::kArray) {
    for (const SourceNode& child : node.children) {
      if (const auto text = reader.text(child, "a name of 'hosts'"))
        read_host(reader, child.offset, *text, "", out);
    }
    return;
  }
  if (node.kind != Kind::kObject) {
    reader.error(node.offset,
                 "'hosts': expected an array of names as in [\"redis\", \"redis:6379\"], or an "
                 "object with the name of the port to which each leads, found " +
                     std::string(kind_name(node.kind)));
    return;
  }
  for (const SourceNode& child : node.children) {
    if (const auto port = reader.text(child, "the port of '" + child.key + "'"))
      read_host(reader, child.key_offset, child.key, *port, out);
  }
}

void finish_hosts(Reader& reader, const std::vector<HostDraft>& hosts, HostOwners* owners,
                  ServiceConfig* service) {
  const std::string of_service = " of service '" + service->name + "'";
  const auto add = [&](const HostDraft& draft, uint16_t port, const std::string& leads_to) {
    const auto [owner, added] = owners->emplace(std::pair(draft.name, port), service->name);
    if (added) {
      service->hosts.push_back({draft.name, port, leads_to});
      return;
    }
    if (owner->second != service->name) {
      reader.error(draft.offset, "'hosts': " + to_text(draft.name, port) +
                                     " is a name of the services '" + owner->second + "' and '" +
                                     service->name + "'");
      return;
    }
    const auto same = std::find_if(
        service->hosts.begin(), service->hosts.end(),
        [&](const HostConfig& one) { return one.name == draft.name && one.port == port; });
    if (same == service->hosts.end() || same->leads_to == leads_to) return;
    reader.error(draft.offset, "'hosts': " + to_text(draft.name, port) + " leads to two ports" +
                                   of_service + ": '" + same->leads_to + "' and '" + leads_to +
                                   "'");
  };
  for (const HostDraft& draft : hosts) {
    if (service->ports.empty()) {
      reader.error(draft.offset, "'hosts': service '" + service->name +
                                     "' has no port to which a name could lead");
      return;
    }
    if (!can_be_led_to(service->host)) {
      reader.error(draft.offset,
                   "'hosts': names lead to this machine or to an IPv4 address, and the "
                   "'host'" +
                       of_service + " is '" + service->host + "'");
      return;
    }
    if (!draft.leads_to.empty()) {
      if (service->ports.contains(draft.leads_to)) {
        add(draft, draft.port.value_or(0), draft.leads_to);
        continue;
      }
      std::vector<std::string_view> names;
      for (const auto& [name, number] : service->ports) names.push_back(name);
      reader.error(draft.offset, "'hosts': service '" + service->name + "' has no port '" +
                                     draft.leads_to + "'; it has " + list_of(names));
      continue;
    }
    // A port with a fixed number is reached under that number, and every other number leads to the first.
    std::string leads_to = service->ports.begin()->first;
    for (const auto& [name, number] : service->ports) {
      if (number == 0) continue;
      if (!draft.port) add(draft, number, name);
      if (draft.port == number) leads_to = name;
    }
    add(draft, draft.port.value_or(0), leads_to);
  }
}

void check_host_count(Reader& reader, const SourceNode& services, const HostOwners& owners) {
  if (owners.size() <= kMaxHosts) return;
  reader.error(services.offset, "'hosts': the services have " + std::to_string(owners.size()) +
                                    " names with their ports, and at most " +
                                    std::to_string(kMaxHosts) + " can be led");
}

}  // namespace filibuster::config
