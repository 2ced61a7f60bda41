// What the outcome of a test under faults says (Rainmaker, NSDI 2023, section 4.3). Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/execution_record.h"
#include "daemon/retries/groups.h"
#include "daemon/retries/origins.h"
#include "daemon/suite/failure.h"

namespace filibuster::retries {

enum class Ending : uint8_t {
  kPassed = 0,
  kFailed,  // the test says so
  kDied,    // a process of the application or the test ended by a signal, or a service exited
  kHung,    // the test did not end within its limit
};

struct OracleOptions : CodeOwners {
  // The third condition is dropped: transient faults are expected to be handled (system tests).
  bool any_exception_is_a_bug = false;
  std::vector<MutationRule> mutations = {};
};

// Which exceptions a fault may surface as, by the short type: what the client libraries were seen to raise for it, and
// what the user gave.
class SurfacesAs {
 public:
  void give(std::string_view fault, std::string_view type);
  // Takes what a client library raised under `fault` (the text of one outcome, "timeout:after"): of a chain of
  // exceptions the ones whose innermost frame is a library's.
  // `call_site`: of the faulted call, which the exception must have passed on its way; "": it is not known. What is of another call
  // says nothing of the fault.
  void learn(std::string_view fault, const suite::Failure& failure, std::string_view call_site = {},
             const OracleOptions& options = {},
             const std::function<bool(const suite::Raised&)>& is_of_another_call = {});
  bool has(std::string_view fault, std::string_view type) const;
  std::set<std::string> of(std::string_view fault) const;

 private:
  std::map<std::string, std::set<std::string>, std::less<>>
      types_;  // by the outcome, without ":after"
};

enum class Oracle : uint8_t {
  kNone = 0,               // the test passes, and nothing else is known
  kConsistentException,    // it fails by what the fault surfaces as: listed, and no bug by itself
  kInconsistentException,  // it fails by another exception, raised in application code
  kAnyException,  // it fails by an exception of application code, and that suffices (system tests)
  kTestCode,      // it fails by an exception that was raised in the test's own code
  kAssertion,     // one of its assertions does not hold
  kProcessDied,
  kHang,
  kPossibleSilentViolation,  // it passes although the server did something twice
  kUnreadable,               // it fails, and the runner did not say how
};
std::string_view oracle_name(Oracle oracle);
// Is it reported as a likely bug?
bool is_bug(Oracle oracle);

// The server's own error, where the last attempt of the call got one: what the caller raises is about it, and not about
// the injected fault. nullptr: there is none.
const RpcRecord* own_refusal(const ExecutionRecord& record, const RetryGroup& group);

// The newest call after this one that the server by itself answered with an error: an application that went on may have met
// what the fault has left. nullptr: there is none.
const RpcRecord* later_refusal(const ExecutionRecord& record, const RetryGroup& group);

// Was the call made after the group's last attempt, and got no fault?
bool is_later(const RpcRecord* rpc, const ExecutionRecord& record, const RetryGroup* group);

// A mutation that the server did more than once for one call.
struct Repeated {
  size_t group = 0;  // position in the groups
  std::vector<size_t>
      succeeded;  // positions in the record of the attempts that the server acted on
};
std::vector<Repeated> repeated_mutations(const ExecutionRecord& record,
                                         const std::vector<RetryGroup>& groups,
                                         const std::vector<MutationRule>& rules);

// How often servers acted on equal requests that must not be done twice, by caller and request.
using ActCounts = std::map<Hash128, size_t>;
ActCounts count_acts(const ExecutionRecord& record, const std::vector<MutationRule>& rules);
// Of `repeated`, what the servers did no more often without faults is left out: a client that orders two equal things does so.
void leave_out_usual(const ExecutionRecord& record, const std::vector<RetryGroup>& groups,
                     const std::vector<MutationRule>& rules, const ActCounts& usual,
                     std::vector<Repeated>* repeated);

// Takes out what is repeated of a call whose attempts went to different targets: names that vary make other calls look like
// its attempts, and where servers do no more than without faults they are.
void leave_out_others(const ExecutionRecord& record, std::optional<size_t> group,
                      std::vector<Repeated>* repeated);

// "cart -> orders  POST /orders succeeded at the server by attempt 1 and attempt 2 of one call"
std::string repetition_text(const ExecutionRecord& record, const Repeated& repeated);

// The positions of mutations that their client sent again, whatever came of them; each but the last of its call.
std::vector<size_t> sent_again(const ExecutionRecord& record, const std::vector<RetryGroup>& groups,
                               const std::vector<MutationRule>& rules);

// One execution under faults.
struct FaultedTest {
  Ending ending = Ending::kPassed;
  suite::Failure failure;  // of kFailed and kDied, as far as the runner said
  std::vector<std::string>
      outcomes;  // what was injected, attempt by attempt: "timeout:after", "status:503"
  std::vector<std::string> error_codes;        // of the injected answers: "ServerBusy"
  std::vector<std::string> error_bodies = {};  // of the same
  std::string call_site = {};                  // of the faulted call; "": it is not known
  std::optional<size_t> group = {};            // the faulted call's position in the groups
  // The server answers the faulted call with an error without any fault, and the application expects that.
  bool own_error = false;
  // Its server did no more of such calls than without any fault.
  bool usual_acts = false;
  std::string client = {};  // that makes the faulted call: "test -> blobs"
  std::string hang = {};    // of kHung: how long it was waited for
  // Who waits for an answer, and has no limit. What came after the hang limit had ended this wait is judged first.
  std::string endless = {};
  bool no_result = false;  // of kDied: the runner succeeded, and did not say how the test ended
  bool uncaught = false;   // its exception would have ended a process without this runner
};

struct Verdict {
  Oracle oracle = Oracle::kNone;
  std::string evidence;            // a sentence
  std::vector<Repeated> repeated;  // also where the test fails
};
Verdict judge(const FaultedTest& test, const ExecutionRecord& record,
              const std::vector<RetryGroup>& groups, const SurfacesAs& surfaces,
              const OracleOptions& options);

}  // namespace filibuster::retries
