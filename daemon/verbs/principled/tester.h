// One structured test under faults (dissertation 11.1): without faults first, then each fault alone, then sets of them. It stops at
// the first execution of which the test says nothing, or something that is not so. Used by mode.cc, on the thread of a lane.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/explore/test_run.h"
#include "daemon/principled/coaching.h"
#include "daemon/principled/ruling.h"
#include "daemon/verbs/principled/methods.h"
#include "daemon/verbs/principled/programs.h"
#include "daemon/verbs/principled/results.h"

namespace filibuster {

class PrincipledTester {
 public:
  struct Options {
    bool keep_going = false;  // further executions, too, after a diagnostic
    const std::vector<PrincipledOperation>& operations;
  };
  // All arguments must outlive the tester.
  PrincipledTester(SessionContext* session, Lane* lane, const TestConfig& test,
                   principled::BlockChannel* channel, Options options);
  ~PrincipledTester();

  // Error: the environment is broken.
  Result<void> run(PrincipledTest* out);
  bool stopped() const { return stopped_; }
  // Names of stubs of the configuration that were called.
  const std::set<std::string>& called_stubs() const { return called_stubs_; }

 private:
  struct Planned {
    principled::FaultedCall fault;
    FaultSpec spec;
  };
  struct Set {
    std::vector<Planned> faults;                     // in the order of their calls
    std::vector<principled::DependencyCall> before;  // of the execution without the last of them
  };
  // An execution while it runs.
  struct Run {
    const Set* set = nullptr;
    PrincipledExecution row;
    principled::Statements statements;
    Observed observed;
    std::vector<BlockTime> times;
    std::vector<principled::Interval> intervals;
    bool ahead = false, assertions_hold = false;
    std::string assertion;  // what they say where they do not hold
    std::string gone;       // why the program does not go on; "": it does
  };
  enum class Kind : uint8_t { kListed, kAhead };

  Result<void> prepare();
  bool is_time_over() const;
  void tell_finish();
  Result<Run> execute(const Set& set, Kind kind);
  void run_blocks(Run* run, ExecutionResult* result);
  std::optional<principled::BlockResult> run_block(const principled::Instruction& what, Run* run);
  bool state(const principled::BlockResult& result, principled::Block block, Run* run);
  bool install_stubs(Run* run);
  void look(Run* run);
  bool judge_happy_path(const principled::BlockResult& executed, Run* run);
  bool judge_under_faults(const principled::BlockResult& executed, Run* run);
  bool judge_calls(Run* run);
  bool judge_counts(Run* run);
  void learn_assertions(Run* run);
  static void add_what_was_answered(Run* run);
  void remember(const Run& run);
  void read_blocks(const ExecutionRecord& record, Run* run) const;
  void extend(const Set& set, const Run& run);
  Result<void> advise(Run* run);
  Result<void> end(Run run);
  void tell_event(nlohmann::json event) const;
  void check_statements();
  void cover(const Run& run);
  static void fail(Run* run, principled::Diagnostic diagnostic);

  SessionContext& session_;
  Lane& lane_;
  const TestConfig& test_;
  principled::BlockChannel& channel_;
  const Options options_;
  Config config_;
  std::unique_ptr<ExecutionRunner> runner_;
  std::unique_ptr<principled::Program> program_;
  RunnerProgram* in_runner_ = nullptr;  // program_, where it is one
  CommandProgram* commands_ = nullptr;
  PrincipledTest* out_ = nullptr;
  std::vector<Set> open_;  // by number of faults; the next one is at next_
  size_t next_ = 0;
  std::set<std::set<std::pair<Hash128, std::string>>> known_;
  std::vector<Planned> singles_;  // all faults of the calls without faults
  std::vector<principled::SingleOutcome> outcomes_;
  std::map<std::string, std::string> stated_;  // specifications by their text: where they stand
  std::map<std::string, int> names_;           // of executions
  MethodCoverage methods_;
  std::set<std::string> matched_, called_stubs_;
  std::vector<std::pair<std::string, std::string>> stub_names_;  // of the test: name, place
  bool stopped_ = false, bounded_ = false;
};

}  // namespace filibuster
