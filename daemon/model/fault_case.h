// What came of each RPC with each of its faults: the cases of junit.xml (docs/ci.md), and what an
// exploration that ran out of time has left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster {

enum class CaseState : uint8_t {
  kPassed,        // an execution with this fault as its newest one passed, or is proved to pass
  kFailed,        // a finding has this fault
  kInconclusive,  // executed without a conclusion
  kSkipped,       // not judged, for the reason that the case has
};
std::string_view case_state_name(CaseState state);

// One fault at one RPC of a test, or the faults of a finding that needs several.
struct FaultCase {
  // finding_id() of the faults: a case that fails alone has the id of its finding. It stays the
  // same when lines of the program move.
  std::string id;
  // "users -> movies GET /movies/* at users.py get_movie: timeout": without line numbers and
  // without secrets, so that it stays the same, too.
  std::string name;
  std::string call_site;  // of the newest fault: "users.py:31 (get_movie)"; "": not known
  CaseState state = CaseState::kSkipped;
  bool redundant = false;             // kPassed without an execution: others prove it
  std::string reason;                 // kInconclusive, kSkipped
  std::vector<std::string> findings;  // ids of the findings that have this fault; kFailed
  uint64_t executions = 0;            // executions whose newest fault is this one
  double seconds = 0;                 // of all of them
};

// What was scheduled and not executed at one place, which is a call site with the service that it calls: executions
// whose newest fault is there.
struct LeftPlace {
  std::string caller, service;
  std::string call_site;  // "users.py:31 (get_movie)"; "": not known
  bool tried = false;     // a fault of it was executed
  struct Single {
    std::string fault;        // "timeout"
    uint64_t executions = 0;  // of several calls that are made there
  };
  std::vector<Single>
      singles;         // executions with one fault, by its kind, in the order of the configuration
  uint64_t pairs = 0;  // with two faults
  uint64_t more = 0;   // with more than two
};

// What was scheduled and not executed, by the newest fault of the executions.
struct LeftFault {
  std::string rpc;          // "users -> movies GET /movies/*"
  std::string fault;        // "timeout"
  bool alone = false;       // the execution with this fault alone is among them
  uint64_t executions = 0;  // further ones may follow from them
};

}  // namespace filibuster
