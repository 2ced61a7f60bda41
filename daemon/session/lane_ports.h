// The ports of a lane in one session, and those that its root keeps for the next one in
// ROOT/ports.json: {"version": 1, "lanes": {"0": {"users": 21034}}}, the automatic ones. A session
// that resumes, a run anew, `trace`, `lint` and `replay` take them again; a counterexample that is
// replayed brings its own.
//
//   LanePorts ports(config, example.ports, "; ...", &lane);
//   ports.take();            // lane.ports, lane.automatic_ports, lane.port_notes
//   ... the services start ...
//   ports.keep(LanePorts::Keep::kAll);
#pragma once

#include <string>

#include "core/result.h"
#include "daemon/session/ports.h"
#include "daemon/session/session_lane.h"

namespace filibuster {

class LanePorts {
 public:
  // `brought`: those to take before what the root keeps. `meaning`: ends the note on a port that is
  // not the one of before.
  LanePorts(const Config& config, const PortMap& brought, std::string meaning, SessionLane* lane);

  Result<void> take();
  bool moved() const { return !lane_->port_notes.empty(); }

  // With kNewNames, ports that the root has for a name stay: what an interrupted run knows was
  // found with these.
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
