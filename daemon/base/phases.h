// Where the time of one execution goes, in seconds.
#pragma once

namespace filibuster {

struct Phases {
  double prepare = 0;  // services that are started anew, the hook before it, the plan
  double start = 0;    // from the start of the test to its first RPC
  double rpcs = 0;     // while an RPC of the test is open
  double test = 0;     // the rest of the test, to the end of its process
  double quiet = 0;    // waiting until nothing is open any more
  double verdict = 0;  // the daemon's own: reading, judging, comparing, scheduling
  double store = 0;    // writing the search down
};

}  // namespace filibuster
