#include "cli/init/draft.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>

namespace filibuster::init {
namespace {

using Json = nlohmann::ordered_json;

// Whether a name is that of what people ask first: "api-gateway", "front-end", "web", "apigateway".
bool is_in_front(const std::string& name) {
  constexpr std::string_view kWords[] = {"gateway", "front", "frontend", "edge", "proxy",
                                         "web",     "ui",    "ingress",  "bff",  "webapp"};
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find_first_of("-_.", at), name.size());
    const std::string_view word = std::string_view(name).substr(at, end - at);
    if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return true;
    at = end + 1;
  }
  return name.ends_with("gateway");
}

// The names by which programs of a compose file call the service, with the ports that they write there. `taken` are those
// of other services: behind such a name Docker chooses one of them.
Json hosts_of(const DraftService& service, std::set<std::string>* taken) {
  Json out = Json::array();
  if (service.worker || (!service.any_port && service.ports.empty())) return out;
  for (std::string host : service.hosts) {
    std::transform(host.begin(), host.end(), host.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool is_address = host.find_first_not_of("0123456789.") == std::string::npos;
    if (host == "localhost" || is_address || service_name(host) != host) continue;
    std::vector<uint16_t> ports{service.asked_at};
    if (!service.any_port && service.asked_at != 0)
      ports.insert(ports.end(), service.ports.begin() + 1, service.ports.end());
    for (const uint16_t port : ports) {
      std::string text = port == 0 ? host : host + ":" + std::to_string(port);
      if (taken->insert(text).second) out.push_back(std::move(text));
    }
  }
  return out;
}

Json row(const DraftService& service, std::set<std::string>* taken_hosts) {
  Json out{{"name", service.name}};
  if (service.redis) out["protocol"] = "redis";
  if (!service.command.empty()) out["command"] = service.command;
  if (!service.directory.empty()) out["directory"] = service.directory;
  if (!service.env.empty()) out["env"] = service.env;
  if (!service.any_port && !service.ports.empty()) {
    Json ports;
    for (const uint16_t port : service.ports) {
      const bool main = port == service.ports.front();
      ports[main ? service.name : service.name + "-" + std::to_string(port)] = port;
    }
    out["ports"] = std::move(ports);
  }
  if (Json hosts = hosts_of(service, taken_hosts); !hosts.empty()) out["hosts"] = std::move(hosts);
  if (!service.health.empty()) out["ready"] = {{"http", service.health}};
  if (service.worker) out["ready"] = "none";
  if (service.left_alone) {
    out["interpose"] = false;
    if (service.command.empty()) out["ready"] = "none";
  }
  return out;
}

}  // namespace

// The last one in front of the others, else the last one, since a gateway often stands behind what it
// depends on. Where somebody else starts all services, it is the first one that is no database.
const DraftService* asked_first(const Draft& draft) {
  const DraftService *own = nullptr, *front = nullptr, *others = nullptr, *others_front = nullptr;
  for (const DraftService& service : draft.services) {
    const bool in_front = is_in_front(service.name);
    if (!service.left_alone && !service.redis && !service.worker) {
      own = &service;
      if (in_front) front = &service;
    } else if (service.left_alone && service.server == nullptr && !service.ports.empty()) {
      if (others == nullptr) others = &service;
      if (in_front) others_front = &service;
    }
  }
  if (own != nullptr) return front != nullptr ? front : own;
  return others_front != nullptr ? others_front : others;
}

std::string with_exec(const std::string& command) {
  char quote = '\0';
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == '\0' && std::string_view("&;|<>()\n").find(c) != std::string_view::npos)
      return command;
    if (c == '\\' && quote != '\'') {
      ++i;
    } else if (quote == '\0' ? c == '"' || c == '\'' : c == quote) {
      quote = quote == '\0' ? c : '\0';
    }
  }
  if (command.starts_with("exec ") || command.starts_with("cd ")) return command;
  const bool assigns = command.substr(0, command.find(' ')).find('=') != std::string::npos;
  return (assigns ? "exec env " : "exec ") + command;
}

std::string service_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
    if (plain) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (out.ends_with('-')) out.pop_back();
  if (out.empty()) out = "service";
  return out == "test" ? "test-service" : out;  // 'test' is the functional test
}

std::string to_configuration(const Draft& draft) {
  Json out{{"version", 1}, {"services", Json::array()}, {"tests", Json::array()}};
  std::set<std::string> hosts;
  for (const DraftService& service : draft.services)
    out["services"].push_back(row(service, &hosts));
  std::string test = draft.test;
  std::vector<std::string> remarks = draft.remarks;
  if (test.empty()) {
    const DraftService* service = asked_first(draft);
    test = service == nullptr ? "true"
                              : "curl -fsS --max-time 10 http://127.0.0.1:${port:" + service->name +
                                    "}" + (service->health.empty() ? "/" : service->health);
    remarks.push_back(
        "the test is a guess: put the command of a functional test that passes in its place");
  }
  Json row_of_test{{"name", "functional test"}, {"command", test}};
  if (!draft.test_env.empty()) row_of_test["env"] = draft.test_env;
  out["tests"].push_back(std::move(row_of_test));
  std::string text = "// Written by `filibuster init` from " + draft.source + ".\n";
  for (std::string remark : remarks) {
    std::replace_if(
        remark.begin(), remark.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; },
        ' ');
    text += "// TODO: " + remark + "\n";
  }
  return text + out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace filibuster::init
