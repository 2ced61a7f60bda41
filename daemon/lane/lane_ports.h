// The ports of a lane in one session. The automatic ones are kept for the next session in
// ROOT/ports.json: {"version": 1, "lanes": {"0": {"users": 21034}}}. `run`, `trace`, `lint` and
// `replay` take them again; a counterexample that is replayed brings ports of its own, which come first.
//
//   LanePorts ports(config, example.ports, "; ...", &lane);
//   ports.take();            // lane.ports, lane.automatic_ports, lane.port_notes
//   ... the services start ...
//   ports.keep(LanePorts::Keep::kAll);
#pragma once

#include <string>

#include "core/result.h"
#include "daemon/process/ports.h"
#include "daemon/process/session_lane.h"

namespace filibuster {

class LanePorts {
 public:
  // `brought`: former ports that take precedence over those in ROOT/ports.json. `meaning`: ends the
  // note on a port that has changed.
  LanePorts(const Config& config, const PortMap& brought, std::string meaning, SessionLane* lane);

  Result<void> take();
  bool moved() const { return !lane_->port_notes.empty(); }

  // Writes the automatic ports to ROOT/ports.json. With kNewNames, a port that the file has for a name
  // stays: an interrupted run found its results with that port.
  enum class Keep { kAll, kNewNames };
  Result<void> keep(Keep which) const;

 private:
  PortMap kept() const;

  const Config& config_;
  std::string meaning_;
  SessionLane* lane_;
  std::string path_;
  PortMap former_;
  PortClaims claims_;
};

}  // namespace filibuster
