// What a request of `record` has besides.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "daemon/cases/model.h"
#include "daemon/process/session_lane.h"
#include "daemon/record/case_writer.h"
#include "daemon/session/verb.h"

namespace filibuster {

struct RecordRequest final : VerbRequest {
  std::string service;                     // whose requests become cases
  std::string folder;                      // absolute
  std::chrono::milliseconds duration{0};   // 0: until the traffic ends
  bool admits = true;                      // only cases that replay are kept
  size_t most_cases = 1000;                // that are replayed and kept
  uint32_t sample = 1;                     // one request in so many becomes a case
  uint64_t most_bytes = record::kAnySize;  // of the files of cases
  std::set<std::string> mocked;  // parts of the service that are answered for all the same
};

const Verb& record_verb();
std::unique_ptr<Mode> make_record_mode(const SessionRequest& request);

// What the program of the service is made of (builds.cc).
std::vector<cases::Build> builds_of(const Config& config, const SessionLane& lane,
                                    const ServiceConfig& service);

}  // namespace filibuster
