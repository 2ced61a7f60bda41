#include "daemon/replay/alone.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace filibuster::replay {
namespace {

constexpr char kTestName[] = "cases";

}  // namespace

std::set<std::string> parts_of(const Config& config, const std::string& service,
                               const std::set<std::string>& mocked) {
  std::set<std::string> out;
  for (const ServiceConfig& each : config.services) {
    if (each.part_of == service && !mocked.contains(each.name)) out.insert(each.name);
  }
  return out;
}

std::set<std::string> mocked_in(const nlohmann::json& options) {
  const auto given = options.value("mock", std::vector<std::string>());
  return {given.begin(), given.end()};
}

void check_mocked(const std::set<std::string>& mocked, const Config& config,
                  std::vector<ConfigError>* errors) {
  std::string known;
  for (const ServiceConfig& each : config.services)
    known += (known.empty() ? "" : ", ") + each.name;
  for (const std::string& name : mocked) {
    const bool is_there = std::any_of(config.services.begin(), config.services.end(),
                                      [&](const auto& each) { return each.name == name; });
    if (!is_there)
      errors->push_back(
          {"", 0, 0, "--mock: there is no service '" + name + "' (services: " + known + ")"});
  }
}

std::set<std::string> called_in(const LoadedSet& set) {
  std::set<std::string> out;
  for (const cases::Case& each : set.cases) {
    for (const cases::Call& call : each.calls) out.insert(call.input.to);
  }
  for (const cases::Call& call : set.process.calls) out.insert(call.input.to);
  for (const auto& [service, openings] : set.process.openings) out.insert(service);
  return out;
}

void leave_alone(const std::string& service, const std::set<std::string>& parts, Config* config) {
  for (ServiceConfig& each : config->services) {
    if (each.name == service || parts.contains(each.name)) continue;
    ServiceConfig alone;
    alone.name = each.name;
    alone.ports = each.ports;
    alone.hosts = each.hosts;
    alone.protocol = each.protocol;
    alone.tls = each.tls;
    alone.is_virtual = true;
    alone.ready.kind = ReadyCheck::Kind::kNone;
    each = std::move(alone);
  }
  TestConfig test;
  test.name = kTestName;
  test.command.argv = {"/bin/true"};
  config->tests = {std::move(test)};
  config->hooks = {};
  config->faults.clear();
  config->default_faults = false;
  config->baseline.clear();
}

}  // namespace filibuster::replay
