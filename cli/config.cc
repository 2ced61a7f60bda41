#include "daemon/config/config.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/configuration.h"
#include "cli/stray_ports.h"
#include "cli/verb.h"
#include "daemon/lane/virtual_services.h"
#include "daemon/retries/policies.h"
#include "daemon/verbs/principled/check.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;

std::string kind_of_service(const ServiceConfig& service) {
  if (service.contract)
    return "no process, the model of " + service.contract->file + " answers" +
           (service.tls ? ", also over TLS" : "");
  if (service.is_virtual)
    return "no process, " + std::to_string(service.stubs.size()) +
           (service.stubs.size() == 1 ? " stub" : " stubs") +
           (service.tls ? ", also over TLS" : "");
  if (service.protocol == Protocol::kRedis) return "Redis";
  if (service.third_party) return "third party";
  if (service.ignored) return "left alone";
  if (service.runs_already()) return "runs already, is attached by " + to_text(service.attach);
  if (service.by_bpf) return "started here, then attached";
  return service.command.empty() ? "started by somebody else" : "started here";
}

void print_config(const Config& config) {
  std::printf("services:\n");
  for (const ServiceConfig& service : config.services) {
    std::string ports;
    for (const auto& [name, number] : service.ports) {
      ports += (ports.empty() ? ", " : " ") + name + "=" +
               (number == 0 ? std::string("any") : std::to_string(number));
    }
    std::string hosts;
    for (const HostConfig& host : service.hosts) {
      hosts += (hosts.empty() ? ", called " : " ") + host.name +
               (host.port == 0 ? "" : ":" + std::to_string(host.port));
    }
    std::printf("  %s: %s%s%s\n", service.name.c_str(), kind_of_service(service).c_str(),
                ports.c_str(), hosts.c_str());
  }
  std::printf("tests:\n");
  for (const TestConfig& test : config.tests) {
    std::printf("  %s\n", test.suite
                              ? ((test.name.empty() ? "" : test.name + ": ") + "a suite").c_str()
                              : test.name.c_str());
  }
  std::printf("faults:\n");
  for (const std::string& line : describe_faults(config)) std::printf("  %s\n", line.c_str());
  const bool has_suite = std::any_of(config.tests.begin(), config.tests.end(),
                                     [](const TestConfig& test) { return test.suite.has_value(); });
  if (!has_suite) return;
  std::printf("faults of 'filibuster suite', one of them at a call and its retries:\n");
  for (const retries::Policy& policy : retries::all_policies(config.retries)) {
    std::printf("  %s: %s (%s)\n", policy.name.c_str(), to_text(policy.attempts).c_str(),
                policy.meaning.c_str());
  }
}

// What a session would refuse in stubs and in structured tests. Methods of gRPC are looked up where the configuration names descriptors
// that can be read.
std::vector<ConfigError> errors_of_statements(const Config& config) {
  auto descriptors = std::make_shared<DescriptorSet>();
  bool has_descriptors = !config.descriptors.empty();
  for (const DescriptorFile& each : config.descriptors)
    has_descriptors = has_descriptors && descriptors->add(each.path).ok();
  if (!has_descriptors) descriptors.reset();
  std::vector<ConfigError> out;
  if (descriptors) out = check_stubs(config, descriptors);
  for (ConfigError& error : check_statements(config, descriptors)) out.push_back(std::move(error));
  std::stable_sort(out.begin(), out.end(),
                   [](const ConfigError& a, const ConfigError& b) { return a.line < b.line; });
  return out;
}

int check_file(const std::string& file) {
  const Result<std::string> text = read_file(file);
  if (!text) return complain(kUsage, text.error().message);
  if (const auto error = utf8_error(text.value(), file)) {
    std::cerr << *error << "\n";
    return kUsage;
  }
  std::error_code failed;
  const std::string directory = fs::absolute(file, failed).parent_path().string();
  const ParsedConfig parsed = parse_config(text.value(), file, directory);
  const std::vector<ConfigError> errors =
      parsed.errors.empty() ? errors_of_statements(parsed.config) : parsed.errors;
  for (const ConfigError& error : errors) {
    std::cerr << error.file << ":" << error.line << ":";
    if (error.column > 0) std::cerr << error.column << ":";
    std::cerr << " " << error.message << "\n";
  }
  if (!errors.empty()) return kUsage;
  for (const std::string& line : stray_ports(file, text.value(), parsed.config))
    std::cerr << line << "\n";
  print_config(parsed.config);
  return kNothingFound;
}

Work declare_config(CLI::App& app) {
  auto file = std::make_shared<std::string>("filibuster.json");
  app.require_subcommand(1);
  CLI::App* const check_app = app.add_subcommand("check", "look for mistakes; nothing is started");
  CLI::Option* const by_place = check_app->add_option("FILE", *file, "the configuration")
                                    ->type_name("")
                                    ->capture_default_str();
  check_app->add_option("-c,--config", *file, "the same, as the other verbs name it")
      ->type_name("FILE")
      ->excludes(by_place);
  return [file](const Invocation&) { return check_file(*file); };
}

}  // namespace

const Verb kConfigVerb = {
    "config", "check a configuration and show what it says",
    "  filibuster config check\n"
    "  filibuster config check ci/filibuster.json        # or -c ci/filibuster.json\n"
    "\nIt warns where a port of this machine is named that no service has, since its\n"
    "service gets a free one.\n"
    "\nExit status: 0 valid, also with warnings, 2 not valid.\n",
    "", declare_config};

}  // namespace filibuster::cli
