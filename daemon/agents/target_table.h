// Which service stands behind which address: rows of the configuration, and listening sockets that
// agents report. Pure; LaneWriter writes the rows into lane memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/protocol/events.h"
#include "core/protocol/lane_memory.h"
#include "daemon/agents/agent_hub.h"

namespace filibuster {

class TargetTable {
 public:
  // A row of the configuration; it wins over every report. True: the table changed. `*note` (when
  // not left empty) is something the report must say.
  bool configure(const TargetRow& row, std::string* note);
  // A listening socket of `agent`, whose service is `service`.
  bool report(const Listen& listen, uint32_t agent, const std::string& service, std::string* note);
  // The rows of the agent stay until their room is needed: a service that restarts listens there again.
  void agent_ended(uint32_t agent);

  // In the form of lane memory, at most kMaxTargets.
  std::vector<Target128> rows() const;
  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    Target128 target;
    bool configured = false;
    uint32_t agent = 0;  // the agent that reported the row; 0: none, or it ended
  };
  Row* find(const Target128& address);
  bool make_room();

  std::vector<Row> rows_;
};

}  // namespace filibuster
