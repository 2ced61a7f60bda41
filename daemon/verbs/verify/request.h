// What a request of `verify` has besides.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "daemon/replay/case_set.h"
#include "daemon/session/verb.h"

namespace filibuster {

struct VerifyRequest final : VerbRequest {
  replay::LoadedSet set;
  std::vector<std::string> only;  // names of cases; empty: all
  std::set<std::string> mocked;   // parts of the service that are answered for all the same
  bool updates = false;           // what differs is accepted, and written
  bool real_time = false;         // the service is shown the time of the machine
  bool keeps_gaps = false;        // parts of answers come as slowly as they were recorded
};

const Verb& verify_verb();
std::unique_ptr<Mode> make_verify_mode(const SessionRequest& request);

}  // namespace filibuster
