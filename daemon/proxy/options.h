// What filibuster-proxy was asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/proxy/address.h"

namespace filibuster::proxy {

struct Options {
  int loader_fd = -1;
  std::vector<int32_t> pids;
  std::vector<uint16_t> ports;
  std::string program;  // of the attached process
  std::string service;  // FILIBUSTER_SERVICE
  uint32_t lane = 0;    // FILIBUSTER_LANE
  bool go = false;
  bool watch = false;  // inbound connections need not lead here

  // Without a loader (tests): where outbound connections lead, where inbound ones do, where to listen for each,
  // and a socket whose datagrams are events.
  std::optional<Address> fixed, inner;
  std::optional<Address> listen_outbound, listen_inbound;
  int events_fd = -1;
};

// The error is one sentence.
Result<Options> parse_options(int count, char** arguments);

// Field 22 of /proc/PID/stat; 0: there is no such process.
uint64_t start_time_of(int32_t pid);

}  // namespace filibuster::proxy
