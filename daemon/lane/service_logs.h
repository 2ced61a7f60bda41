// What services write into their logs during one execution: an exception there tells what a fault did to its caller.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/process/session_lane.h"

namespace filibuster {

struct ServiceWrote {
  std::string name, text;
};

class ServiceLogs {
 public:
  // Both must outlive it.
  ServiceLogs(const Config& config, const SessionLane& lane) : config_(config), lane_(lane) {}
  void begin();
  // What was written since begin(), of each service the last kMostBytes; a service that wrote nothing is left out.
  std::vector<ServiceWrote> since() const;

  static constexpr uint64_t kMostBytes = 64 * 1024;

 private:
  const Config& config_;
  const SessionLane& lane_;
  std::map<std::string, uint64_t> sizes_;  // by service
};

}  // namespace filibuster
