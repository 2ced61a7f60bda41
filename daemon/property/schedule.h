// Orders of the calls that commands make at the same time, which are made to happen instead of being waited for: a command stops before one of
// its calls, another one goes on (a preemption; Musuvathi and Qadeer 2007 bound their number).
#pragma once

#include <cstdint>
#include <vector>

#include "core/fault/edge.h"
#include "daemon/property/program.h"
#include "daemon/property/random.h"

namespace filibuster::property {

// A call that a command made of a service.
struct CallOfCommand {
  Edge edge;            // without a path where paths differ from execution to execution
  std::string path;     // in this execution
  bool writes = false;  // it may change something there
};

// What a command of a block called, in its order.
struct CommandCalls {
  uint32_t command = 0;  // Item::number
  std::vector<CallOfCommand> calls;
};

// All single preemptions of a block that may matter: the other command, executed whole between two calls, conflicts with one before and with
// one behind. Two calls conflict if they go to the same path of the same service and one of them writes. Where no path has a conflict, the service
// alone counts. (A preemption without these conflicts is equivalent to one of the two commands after the other.)
std::vector<Hold> preemptions(const std::vector<CommandCalls>& block);

// Schedules of a program, in a random order: those with one preemption first, then those with two, where the command that goes on stops as well
// until the first one has ended. At most `bound` preemptions.
std::vector<std::vector<Hold>> schedules(const std::vector<std::vector<CommandCalls>>& blocks,
                                         uint64_t bound, Random* random);

}  // namespace filibuster::property
