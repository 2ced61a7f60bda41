// One property-based test with faults (docs/property.md): programs at random, executed one after the other, each compared with the model. The
// first one that violates the property is shrunk and replayed. Used by mode.cc, on the thread of a lane.
//
// A sequential program is compared command by command. One of several clients has blocks of commands at the same time; it is executed several times,
// and each time its history must be linearisable.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "daemon/explore/test_run.h"
#include "daemon/property/schedule.h"
#include "daemon/property/test_model.h"
#include "daemon/verbs/property/clients.h"
#include "daemon/verbs/property/request.h"
#include "daemon/verbs/property/results.h"

namespace filibuster {

// Names a status of HTTP or gRPC that a service answered.
std::string answer_key(const std::string& service, bool grpc, uint32_t code);

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
  Result<void> start_clients();
  Result<void> look_without_faults();
  void note_failures(const ExecutedProgram& program);
  // faults.cc
  using Method = std::array<std::string, 3>;  // caller, service, method
  static Method method_of(const RpcRecord& rpc);
  void look_at_calls(const ExecutionRecord& record);
  void learn_faults();
  Edge edge_of(const RpcRecord& rpc) const;
  bool fits_rule(const FaultRule& rule, const RpcRecord& rpc) const;
  std::vector<property::ArmableFault> faults_of(const RpcRecord& rpc) const;
  std::string injected_text(const RpcRecord& rpc) const;
  std::vector<std::string> invented_in(const property::Program& program) const;
  Result<void> search();
  Result<void> replay(const PropertyRequest::Replay& of);
  // `number`: of the program, from 1; 0: it has no faults. Shrinks and replays what `seen` shows.
  Result<void> report(uint64_t number, const property::Program& program,
                      const ExecutedProgram& seen);

  // Until it violates the property, or all repetitions have passed. Those of several clients get the holds of schedules, which `program` has then.
  Result<ExecutedProgram> execute_repeatedly(property::Program* program);
  Result<property::Program> with_schedule(const property::Program& program,
                                          const Violation& violation);
  Result<ExecutedProgram> execute(const property::Program& program);
  Result<void> run_items(const property::Program& program, ExecutedProgram* out);
  Result<void> run_command(const property::Item& item, ExecutedProgram* out);
  Result<void> count_labels(const ExecutedItem& executed, const nlohmann::json& state);
  // blocks.cc
  Result<void> run_blocks(const property::Program& program, ExecutedProgram* out);
  struct Asked;
  Result<void> run_block(std::span<const property::Item> block, const property::Program& program,
                         ExecutedProgram* out);
  std::vector<std::unique_ptr<Asked>> begin_block(std::span<const property::Item> block,
                                                  uint64_t begun, ExecutedProgram* out);
  void ask(Asked* command, const ExecutedProgram& program);
  Result<void> end_block(const std::vector<std::unique_ptr<Asked>>& commands, uint64_t begun,
                         ExecutedProgram* out);
  ExecutedProgram::Schedule follow(const property::Program& program,
                                   const std::vector<std::unique_ptr<Asked>>& commands,
                                   const ExecutedProgram& executed);
  std::vector<std::vector<property::Hold>> schedules_of(const property::Program& program);
  void learn_calls(const ExecutionRecord& record);
  Result<void> judge_history(ExecutedProgram* out);
  void arm(const property::Item& item, size_t at, size_t row, ExecutedProgram* out);
  // Faults that last no longer than up to the item `at`.
  void disarm(size_t at);
  void wait_for_background(const property::Program& program);
  std::vector<ServiceEnd> take_ended(const ExecutionResult& result);
  void read_record(const ExecutionResult& result, const property::Program& program,
                   ExecutedProgram* out);
  Result<void> restart();
  bool is_over();
  // How far the search is, for the command line. `shrunk`: the items that the program has by now, and how many smaller ones were tried.
  struct Shrinking {
    size_t items = 0;
    uint64_t tried = 0;
  };
  void tell(const std::optional<Shrinking>& shrunk = std::nullopt) const;

  SessionContext& session_;
  Lane& lane_;
  const TestConfig& test_;
  const PropertyRequest& request_;
  const uint64_t number_of_clients_;
  std::unique_ptr<ExecutionRunner> runner_;
  std::unique_ptr<property::TestModel> model_;
  Clients clients_;
  PropertyTest* out_ = nullptr;
  // Of the program that runs.
  nlohmann::json state_;
  std::vector<std::optional<nlohmann::json>> answers_;  // by number of the command
  std::vector<std::pair<size_t, size_t>> lasting_;      // rows of the plan, each up to an item
  property::History history_;                           // of blocks; `line` is the item, from 1 on
  // What its blocks called, if `learns_calls_`.
  struct CommandSeen {
    size_t block = 0, client = 0;
    uint32_t command = 0;
    uint64_t from_ns = 0, to_ns = 0;
  };
  std::vector<CommandSeen> seen_;
  std::vector<std::vector<property::CommandCalls>> calls_;
  std::chrono::nanoseconds longest_{0};         // block of those
  std::map<std::string, int> impossible_ = {};  // holds that could not happen, and how often
  bool learns_calls_ = false;
  bool learns_schedules_ = false;   // it is not known whether a schedule can happen
  std::atomic<int64_t> event_ = 0;  // of the history
  std::vector<size_t> processes_;   // of each client: the number of the process whose name it has
  std::vector<uint64_t> begun_ns_;  // when each item began, for what was injected
  std::vector<std::map<Method, std::map<std::string, RpcRecord>>>
      looks_;                           // calls of the programs without faults, by path
  std::set<Method> varying_;            // whose paths differ from program to program
  std::vector<PropertyFinding> once_;   // that did not happen again
  std::set<std::string> seen_answers_;  // statuses that services gave themselves
  std::string broken_;                  // why the program could not be executed; "": it was
  bool goes_on_ = true;
  bool in_blocks_ = false;  // programs are those of several clients
  bool learns_ = false;     // what it calls may get faults in later ones
  bool counts_ = false;     // its commands are for the statistics
  bool stopped_ = false;
  std::chrono::steady_clock::time_point began_;  // the search
  uint64_t seed_ = 0;                            // of the program that runs
};

}  // namespace filibuster
