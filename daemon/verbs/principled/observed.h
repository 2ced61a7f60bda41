// What the block `execute` of a principled test has shown: how the service under test answered, and what it called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/model/execution_record.h"
#include "daemon/model/injected_fault.h"
#include "daemon/principled/block.h"
#include "daemon/principled/channel.h"
#include "daemon/principled/counts.h"
#include "daemon/stubs/stub_board.h"

namespace filibuster {

// When a block ran; CLOCK_MONOTONIC, in nanoseconds.
struct BlockTime {
  principled::Block block;
  uint64_t begin_ns = 0, end_ns = 0;
};

// A call that the service under test has made, and what else is known of it.
struct ObservedCall {
  principled::DependencyCall call;
  InjectedFault rpc;              // without a fault, or with that which was injected
  std::string fault;              // to_text(FaultSpec) of it; "": none
  std::vector<FaultSpec> faults;  // that it may get
  std::string left_out;           // why it gets none; "": it gets some, or none are configured
  bool failed = false;            // it did not end well
  std::string ending;             // "200", `UNAVAILABLE "no stock"`
  std::string waited;  // how its caller waited for as long as the fault lasted; "": it did not
};

struct Observed {
  principled::Thrown outcome;
  std::string answer;                      // of a success, as it is shown: `200 "bought"`
  bool has_entry = false;                  // the block made a call
  std::string service, method;             // that it called last
  std::vector<ObservedCall> calls;         // in the order of issue
  std::vector<std::string> left_the_lane;  // calls to no service of the configuration
  std::vector<principled::DependencyCall> dependency_calls() const;
};

struct ObservedFrom {
  const Config& config;
  const ExecutionRecord& record;
  const std::vector<stubs::CallNote>& notes;  // of the stubs, since the block began
  BlockTime execute;
  const std::vector<principled::Interval>& intervals;
};
Observed observe_execute(const ObservedFrom& from);

// The faulted call for statements: as which code and message a caller sees the fault.
principled::FaultedCall faulted_call(const ObservedCall& call, const FaultSpec& fault);

}  // namespace filibuster
