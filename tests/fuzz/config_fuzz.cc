// A configuration text. Reading it must survive anything; every error stands within the text; what
// is valid keeps the promises that the rest of the daemon relies on.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/config/config.h"
#include "daemon/property/http_commands.h"
#include "daemon/property/ready_model.h"

namespace {

// A model that is valid makes programs, and what is configured for their commands makes requests of them.
void check_property(const filibuster::PropertyConfig& config) {
  using namespace filibuster::property;
  if (!config.ready_model) return;
  const auto model = make_ready_model(*config.ready_model);
  if (!model) std::abort();
  Random random(1);
  const GeneratorOptions options{.fault_weight = 0, .request_weight = 1, .shows_all = true};
  const auto program = generate(model.value().get(), {}, options, &random);
  if (!program || program->items.empty()) std::abort();
  const auto valid = is_valid(program.value(), model.value().get());
  if (!valid || !valid.value()) std::abort();
  if (config.http_client.is_null()) return;
  for (const Item& item : program->items) {
    const nlohmann::json& json = config.http_client["commands"][item.f];
    const HttpCommand command(json, config.http_client["headers"], false);
    // A value with control characters is none for a header field.
    (void)command.request(item.value, "0");
    (void)command.meaning(200, R"({"value": [1]})");
    (void)command.meaning(404, "");
  }
}

}  // namespace

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
    if (test.suite) continue;
    if (test.name.empty()) std::abort();
    if (test.kind() == TestKind::kPlain && test.command.empty()) std::abort();
    if (test.property) check_property(*test.property);
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
