#include "daemon/verbs/property/programs.h"

#include "daemon/base/own_files.h"
#include "daemon/property/history.h"
#include "daemon/property/program_model.h"
#include "daemon/property/ready_model.h"

namespace filibuster {

using property::TestModel;

namespace {

constexpr std::chrono::seconds kClientBegins{30};

// What it is to do, as cli/property_client.cc reads it.
Result<std::string> client_settings(const nlohmann::json& configured, const SessionLane& place,
                                    const property::ProgramModel& model) {
  nlohmann::json settings = configured;
  nlohmann::json& reads = settings["reads"] = nlohmann::json::array();
  for (const auto& [f, command] : configured["commands"].items()) {
    if (model.only_reads(f)) reads.push_back(f);
  }
  return substitute(place, property::json_text(settings));
}

}  // namespace

Result<std::unique_ptr<TestModel>> make_property_model(const TestConfig& test,
                                                       const ExecutionRunner& runner,
                                                       const SessionLane& place) {
  if (test.property->ready_model) {
    auto ready = property::make_ready_model(*test.property->ready_model);
    if (!ready) return Error{"the model of test '" + test.name + "': " + ready.error().message};
    return ready;
  }
  auto spawn = runner.spawn_options(test.property->model);
  if (!spawn) return spawn.error();
  spawn->log_path = place.log_path("model");
  auto program = property::ModelProgram::start(std::move(spawn).value());
  if (!program) return program.error();
  return property::make_program_model(std::move(program).value());
}

Result<Dialogue> start_property_client(const TestConfig& test, const ExecutionRunner& runner,
                                       const SessionLane& place,
                                       const property::ProgramModel& model, size_t number) {
  const nlohmann::json& configured = test.property->http_client;
  Command command = test.property->client;
  if (!configured.is_null()) command.argv = {own_directory() + "/filibuster", "property-client"};
  auto spawn = runner.spawn_options(command);
  if (!spawn) return spawn.error();
  spawn->log_path = place.log_path(number == 0 ? "client" : "client-" + std::to_string(number));
  auto client = Dialogue::start(std::move(spawn).value());
  if (!client || configured.is_null()) return client;
  const auto settings = client_settings(configured, place, model);
  if (!settings) return settings.error();
  auto begun = client->ask(settings.value(), kClientBegins, place.wake_fd);
  if (!begun) return begun.error();
  return client;
}

}  // namespace filibuster
