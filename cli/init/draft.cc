#include "cli/init/draft.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace filibuster::init {
namespace {

using Json = nlohmann::ordered_json;

// Servers that applications use and do not build themselves.
constexpr std::string_view kServers[] = {
    "redis",      "valkey", "postgres",      "mysql",     "mysqld",     "mariadb",
    "mongo",      "mongod", "memcached",     "rabbitmq",  "kafka",      "zookeeper",
    "nats",       "consul", "etcd",          "cassandra", "clickhouse", "elasticsearch",
    "opensearch", "minio",  "mailhog",       "influxdb",  "prometheus", "grafana",
    "jaeger",     "zipkin", "otel-collector"};

// Chooses the service that the proposed test asks: the last one that listens and that is the
// application's own. A gateway often stands there, behind what it depends on.
const DraftService* asked(const Draft& draft) {
  const DraftService* out = nullptr;
  for (const DraftService& service : draft.services) {
    if (!service.left_alone && !service.redis && !service.worker) out = &service;
  }
  return out;
}

Json row(const DraftService& service) {
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
  if (!service.health.empty()) out["ready"] = {{"http", service.health}};
  if (service.worker) out["ready"] = "none";
  if (service.left_alone) {
    out["interpose"] = false;
    if (service.command.empty()) out["ready"] = "none";
  }
  return out;
}

}  // namespace

std::string with_exec(const std::string& command) {
  const bool one = command.find_first_of("&;|<>()\n") == std::string::npos &&
                   !command.starts_with("exec ") && !command.starts_with("cd ");
  if (!one) return command;
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

std::string_view known_server(std::string_view name) {
  name = name.substr(name.find_last_of('/') == name.npos ? 0 : name.find_last_of('/') + 1);
  name = name.substr(0, name.find(':'));
  for (const std::string_view server : kServers) {
    const bool same = name == server || name.starts_with(std::string(server) + "-") ||
                      name.ends_with("-" + std::string(server));
    if (same) return server;
  }
  return {};
}

std::string to_configuration(const Draft& draft) {
  Json out{{"version", 1}, {"services", Json::array()}, {"tests", Json::array()}};
  for (const DraftService& service : draft.services) out["services"].push_back(row(service));
  std::string test = draft.test;
  std::vector<std::string> remarks = draft.remarks;
  if (test.empty()) {
    const DraftService* service = asked(draft);
    test = service == nullptr ? "true"
                              : "curl -fsS --max-time 10 http://127.0.0.1:${port:" + service->name +
                                    "}" + (service->health.empty() ? "/" : service->health);
    remarks.push_back(
        "the test is a guess: put the command of a functional test that passes in its place");
  }
  out["tests"].push_back({{"name", "functional test"}, {"command", test}});
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
