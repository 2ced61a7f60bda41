// Which RPCs of an exploration were tested, and why others were not. It tells what 'no failure found'
// is worth.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "daemon/model/tested_rpcs.h"

namespace filibuster {

// The reason for RPCs that an interrupted exploration did not reach.
inline constexpr std::string_view kInterruptedBefore = "the exploration was interrupted before";

// Of RPCs that could be tested: executions with a fault there were made, and none came as planned.
inline constexpr std::string_view kNoConclusionThere =
    "no execution with a fault at this RPC allowed a conclusion";

// "3 RPCs tested, 1 not (its cause is not known), 2 left out by the configuration, 4 not reached within the time or the bounds"
std::string to_line(const TestedRpcs& rpcs);

// Collects the RPCs over the executions of a test.
class RpcLedger {
 public:
  // Adds what one execution showed: the RPCs that may get faults, and the RPCs that the configuration
  // leaves out. True if there is something new.
  bool see(const std::set<std::string>& faulted, const std::set<std::string>& by_configuration);
  // `rpc` gets no fault although it should.
  void leave_out(const std::string& rpc, const std::string& reason);
  // An execution with a fault at `rpc` came as planned. True if that is new.
  bool injected(const std::string& rpc);
  // An execution with a fault at `rpc` had no conclusion. True if that is new.
  bool unconcluded(const std::string& rpc);
  // `rpc` comes in some executions only, and not in one that was to have a fault there.
  void did_not_come(const std::string& rpc);
  // An execution without faults has shown `rpc`, and those that the search knows do not: it is not tested unless one of them does.
  void came_once(const std::string& rpc, const std::string& reason);
  // Those that none has shown since, with the reasons.
  std::map<std::string, std::string> only_once() const;
  // It is left out no longer.
  void forget(const std::string& rpc) { left_out_.erase(rpc); }
  bool knows(const std::string& rpc) const;
  bool gets_faults(const std::string& rpc) const;
  static constexpr size_t kMaxRpcs = 10'000;  // of one kind; further RPCs are not kept
  bool full() const;

  // Why the exploration left scheduled executions open.
  enum class Rest : uint8_t {
    kNone,         // it left none: each was executed, or proved to be redundant
    kBound,        // a bound of the configuration ended it
    kInterrupted,  // it was interrupted; the same command goes on
    kNoConclusion,
  };
  TestedRpcs result(Rest rest) const;

  // The RPCs as text, which the store keeps so that a resumed session knows them. add_json() ignores
  // what it cannot read.
  std::string to_json() const;
  void add_json(std::string_view text);

 private:
  // Adds redacted names to `to` while there is room. `seen` has the names as they came: most come again,
  // and need not be redacted each time.
  struct Names {
    std::unordered_set<std::string> seen;
    bool add(const std::string& rpc, std::set<std::string>* to);
  };

  std::set<std::string> faulted_, injected_, unconcluded_, by_configuration_, did_not_come_;
  Names faulted_names_, injected_names_, unconcluded_names_, configured_names_;
  std::map<std::string, std::string> left_out_, once_;
};

}  // namespace filibuster
