// One property-based test with faults (docs/property.md): programs at random, executed one after the other, each compared with the model. The
// first one that violates the property is shrunk and replayed. Used by mode.cc, on the thread of a lane.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/explore/test_run.h"
#include "daemon/process/dialogue.h"
#include "daemon/property/test_model.h"
#include "daemon/verbs/property/request.h"
#include "daemon/verbs/property/results.h"

namespace filibuster {

class PropertyTester {
 public:
  // All arguments must outlive the tester.
  PropertyTester(SessionContext* session, Lane* lane, const TestConfig& test,
                 const PropertyRequest& request);
  ~PropertyTester();

  // Error: the environment is broken: a service, the client or the model.
  Result<void> run(PropertyTest* out);
  bool stopped() const { return stopped_; }

 private:
  Result<void> prepare();
  Result<void> start_client();
  Result<void> look_without_faults();
  void learn_faults(const ExecutionRecord& record);
  Result<void> search();
  Result<void> report(uint64_t seed, const property::Program& program, const Violation& violation);

  Result<ExecutedProgram> execute(const property::Program& program);
  Result<void> run_items(const property::Program& program, ExecutedProgram* out);
  Result<void> run_command(const property::Item& item, ExecutedProgram* out);
  void wait_for_background(const property::Program& program);
  std::vector<ServiceEnd> take_ended(const ExecutionResult& result);
  void read_record(const ExecutionResult& result, ExecutedProgram* out);
  Result<nlohmann::json> ask_client(const nlohmann::json& question);
  Result<void> reset();
  Result<void> restart();
  bool is_over();

  SessionContext& session_;
  Lane& lane_;
  const TestConfig& test_;
  const PropertyRequest& request_;
  std::unique_ptr<ExecutionRunner> runner_;
  std::unique_ptr<property::TestModel> model_;
  std::optional<Dialogue> client_;
  PropertyTest* out_ = nullptr;
  // Of the program that runs.
  nlohmann::json state_;
  std::vector<std::optional<nlohmann::json>> answers_;  // by number of the command
  std::vector<uint64_t> begun_ns_;  // when each item began, for what was injected
  std::string broken_;              // why the program could not be executed; "": it was
  bool goes_on_ = true;
  bool learns_ = false;  // what it calls may get faults in later ones
  bool counts_ = false;  // its commands are for the statistics
  bool stopped_ = false;
};

}  // namespace filibuster
