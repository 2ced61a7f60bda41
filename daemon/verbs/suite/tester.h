// One test of a suite under retry-aware faults (`filibuster suite`): its reference executions, which say what it calls;
// then one execution for each planned fault. daemon/retries judges. Used by suite_mode.cc, on the thread of a lane.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/explore/case_source.h"
#include "daemon/explore/test_run.h"
#include "daemon/observe/observation.h"
#include "daemon/observe/unstable_rpcs.h"
#include "daemon/retries/oracles.h"
#include "daemon/retries/suite_results.h"
#include "daemon/session/request.h"

namespace filibuster {

// The first call of a test at a call site that may get a fault.
struct SuiteCall {
  InjectedFault rpc;       // without a fault
  RpcRecord reference;     // its first attempt in the reference execution
  bool sometimes = false;  // it comes in some executions only
  bool goes_on =
      false;  // its server answers with an error by itself, which the application expects
};

// Calls that the reference executions have shown, with the same frames of the application, that ask for the same.
struct SeenCalls {
  std::vector<std::string> frames;  // innermost first
  std::string kind;                 // retries::kind_of
  retries::SiteRow row;             // its call site has no name yet
  std::optional<SuiteCall> call;
};

// Why a test is left out that cannot pass begins so.
constexpr std::string_view kFailsAlone = "it fails without any fault";

// What is known of a test. Only the lane that explores it changes it.
struct SuiteTest {
  retries::SuiteTestRow row;
  uint32_t lane = 0;
  std::set<std::string> cases;  // that its runner writes of it to a file, without any fault
  bool hides_exceptions =
      false;  // without any fault, too, its runner keeps an exception from ending the process
  std::vector<NondeterminismRule> masks;
  // What the reference executions showed of RPCs, by their names with these masks.
  std::shared_ptr<const RpcMemory> rpcs;
  // How often servers act without any fault on calls that must not be done twice, by describe_rpc() with these masks.
  std::map<std::string, size_t> acts;
  std::vector<Hash128> given_up;  // RPCs that clients give up without any fault
  std::vector<SeenCalls> seen;
  std::map<std::string, SuiteCall> calls;  // by call site, of `seen` (suite_sites.h)
  std::vector<size_t> planned;             // positions in SuiteResults::faults
  // Under --max-time: those of each turn of the call sites (turns_of_sites); what no turn has comes after them.
  std::vector<std::vector<size_t>> turns;
  std::vector<size_t>
      unchecked;  // those that have failed since the test was last known to pass without faults
  bool checked = false;  // it was looked at once
  uint64_t executions = 0;
  std::vector<std::string> notes;
  std::string error;  // why its exploration ended too early, in this round; "": it did not
  // --- for its counterexamples ---
  std::string descriptors;  // Counterexample::descriptors
  PortMap ports;            // the automatic ones of its lane
};

// What executions have shown of a call site, whichever test reached it.
struct SiteKnowledge {
  std::optional<bool> retries;              // after a timeout
  std::optional<bool> retries_after_reset;  // after the end of a connection
  uint32_t attempts = 0;                    // the most that came when every attempt was faulted
  double silence_seconds = -1;              // what a silence took; below 0: not known
  double backoff_seconds = 0;  // what passed before each further attempt after an error
};

// An execution that is judged when it is known as what faults surface.
struct SuiteEvidence {
  retries::FaultedTest outcome;
  ExecutionRecord record;
  std::vector<retries::RetryGroup> groups;
  std::vector<InjectedFault> faults;
  std::string verdict;  // verdict_name of the execution
};

// Of a round, for people: how much of it is over. The lanes count together.
struct SuiteProgress {
  std::atomic<size_t> done{0}, planned{0};
  std::chrono::steady_clock::time_point began{};
  void begin(size_t all) {
    done = 0;
    planned = all;
    began = std::chrono::steady_clock::now();
  }
};

// What the lanes share.
struct SuiteMemory {
  SuiteProgress references, faults;  // tests; planned executions
  std::mutex mutex;
  std::map<std::string, SiteKnowledge> sites;
  std::map<std::string, retries::WaitingClient>
      clients;                   // that waited to the hang limit, by client
  bool has_reset_forms = false;  // the policies have forms without a silence
  retries::SurfacesAs surfaces;
  std::map<size_t, SuiteEvidence>
      evidence;  // by position in SuiteResults::faults; of those that are no plain pass
};

class SuiteTester final : public CaseRunner {
 public:
  // All arguments must outlive the tester.
  SuiteTester(SessionContext* session, Lane* lane, const TestConfig& test, SuiteMemory* memory);

  // Error: the environment is broken. A test that gets no faults says so in `out->row.left_out`.
  Result<void> reference(SuiteTest* out);
  // To be called before plan(), execute(), conclude(), control() and replay(). The test outlives the tester.
  Result<void> prepare(const SuiteTest& test);
  // The execution of a planned fault. nullopt: there is none, and `row->skipped` says why.
  std::optional<Case> plan(const retries::Policy& policy, size_t position, retries::FaultRow* row);
  // Runs it again, a few times at most, where it lost a race before its fault. Once its fault has come, it counts, whatever it
  // led to.
  Result<CaseOutcome> execute(const Case& one, CaseSource* source) override;
  // Fills the row of the fault, and keeps what is to be judged later.
  void conclude(const Case& one, const CaseOutcome& result, retries::FaultRow* row);
  // Runs the test without faults, after prepare(). Returns why it fails now, although its reference executions have passed;
  // "": it passes.
  Result<std::string> control(SuiteTest* test);
  double control_seconds() const { return control_seconds_; }
  struct Replay {
    std::optional<bool> reproduced;  // true: the same oracle speaks
    std::string no_conclusion;       // why there is none; "": there is, or the session was stopped
  };
  // Runs a fault again.
  Result<Replay> replay(const SuiteEvidence& evidence, const retries::FaultRow& row);
  // Notes what counterexamples of the test need, since a session that was stopped has no lane any more.
  void note_place(SuiteTest* test) const;
  bool stopped() const { return stopped_; }

 private:
  Result<void> make_run();
  // False: the test is left out. `earlier`: usable executions before this one.
  Result<bool> accept(const Attempt& attempt, size_t earlier, SuiteTest* out);
  enum class Which { kAll, kThatComeSometimes };
  void note_calls(const ExecutionRecord& record, const UnstableRpcs& unstable, Which which,
                  SuiteTest* out);
  // SuiteTest::acts of an execution.
  std::map<std::string, size_t> acts_of(const ExecutionRecord& record,
                                        const std::vector<NondeterminismRule>& masks) const;
  // `goes_on`: SuiteCall.
  std::string why_not(const RpcsById& rpcs, const RpcRecord& rpc, bool goes_on,
                      const UnstableRpcs& unstable) const;
  std::vector<std::string> frames_of(const RpcRecord& rpc) const;
  SuiteEvidence read(const Attempt& attempt, const Case& of) const;
  void tell_attempts(const SuiteEvidence& evidence, retries::FaultRow* row) const;
  std::set<std::string> written_cases() const;
  // The last execution was to write results of these cases, and has written none.
  bool says_nothing_of(const std::set<std::string>& cases) const;
  std::string failure_text(const Attempt& attempt) const;
  suite::Failure failure_of(const Attempt& attempt, bool* wrote) const;
  void note_uncaught(retries::FaultedTest* test) const;
  void learn(const SuiteEvidence& evidence, const FaultSpec& fault, double seconds,
             const std::string& site);
  void tell(const Attempt& attempt, const std::string& what) const;

  SessionContext& session_;
  Lane& lane_;
  const TestConfig& test_;
  SuiteMemory& memory_;
  Config config_;  // a copy: the test's calls get faults, and silences are waited for
  retries::OracleOptions oracle_options_;
  std::unique_ptr<TestRun> run_;
  const SuiteTest* prepared_ = nullptr;
  std::chrono::milliseconds hang_limit_{0};
  double control_seconds_ = 0;
  bool stopped_ = false;
  std::set<std::string>
      did_not_come_;  // call sites whose call did not come when it was to have a fault
};

// Did the client end the call before an answer began? (Calls that come after the test's end do not count.)
bool was_given_up(const RpcRecord& rpc);
retries::OracleOptions oracle_options(const Config& config);
// By the names of system tests in the configuration, or by words in the name.
bool is_system_test(const Config& config, const std::string& name);

}  // namespace filibuster
