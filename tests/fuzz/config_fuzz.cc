// A configuration text. Reading it must survive anything; every error stands within the text; what
// is valid keeps the promises that the rest of the daemon relies on.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/config/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace filibuster;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const ParsedConfig parsed = parse_config(text, "f.json", "/d");
  for (const ConfigError& error : parsed.errors) {
    if (error.line < 1 || error.column < 1 || error.message.empty()) std::abort();
    if (static_cast<size_t>(error.line) + static_cast<size_t>(error.column) > size + 2)
      std::abort();
  }
  if (!parsed.errors.empty()) return 0;
  const Config& config = parsed.config;
  if (config.tests.empty()) std::abort();
  for (const TestConfig& test : config.tests) {
    if (test.name.empty() || test.command.empty()) std::abort();
  }
  for (const ServiceConfig& service : config.services) {
    if (service.name.empty()) std::abort();
    for (const auto& [name, number] : service.ports) {
      if (number == 0 && service.command.empty()) std::abort();
    }
    (void)faults_for(config, "test", service.name, "GET", "/a/b");
    (void)faults_for(config, service.name, service.name, "GET", "/a/b?c=d");
  }
  (void)describe_faults(config);
  return 0;
}
