#include "daemon/replay/alone.h"

#include <utility>

namespace filibuster::replay {
namespace {

constexpr char kTestName[] = "cases";

}  // namespace

void leave_alone(const std::string& service, Config* config) {
  for (ServiceConfig& each : config->services) {
    if (each.name == service) continue;
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
