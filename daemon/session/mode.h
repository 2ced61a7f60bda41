// What a verb of the command does with the tests of a session. Everything that verbs do differently stands in the classes behind this
// interface, in the folders of daemon/verbs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/coverage/report.h"
#include "daemon/explore/exploration.h"
#include "daemon/explore/explorer.h"
#include "daemon/lane/lane_ports.h"
#include "daemon/model/session_report.h"
#include "daemon/session/documents.h"
#include "daemon/session/request.h"

namespace filibuster {

// How a session ended.
struct SessionEnd {
  bool stopped = false;      // by the user
  bool failed = false;       // the environment is broken: nothing further could be concluded
  bool ports_moved = false;  // an automatic port is not that of the last session
  const coverage::Report* coverage = nullptr;  // null: coverage was not measured to the end
};

// What the tests have shown.
struct Outcome {
  bool failures = false;       // there are findings
  bool no_conclusion = false;  // something that was asked for could not be tested
  bool time_over = false;      // --max-time ended the exploration of a test
};

// The document of a session.
struct Document {
  std::string name;  // of its file under ROOT; "": it is not written
  std::string text;
  Documents others;  // what it is in other formats; of a run, they are written beside it
  // A page of its own: the name of its file under ROOT ("": there is none), what its script shows (daemon/page/src/principled), and a
  // text for a browser without JavaScript.
  struct Page {
    std::string name, json, plain;
  } page = {};
};

class Mode {
 public:
  virtual ~Mode() = default;

  // Ends the note about an automatic port that has changed: what that means for the user.
  virtual const char* meaning_of_moved_port() const;
  // Which automatic ports are kept for the next session; nullopt: none.
  virtual std::optional<LanePorts::Keep> keeps_ports() const { return LanePorts::Keep::kNewNames; }
  // The services of the lane are about to start. Error: the session ends.
  virtual Result<void> before_services(Lane*) { return {}; }
  virtual Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) = 0;
  // Where tests may take turns (turns.h), in the place of explore(). Null: each is explored to its end before the next one.
  virtual std::unique_ptr<Explorer> explorer(SessionContext*, Lane*, const TestConfig&);
  virtual bool takes_turns() const { return false; }
  // Called when every test was explored: are they to be explored once more, with what is known now? explore() is called
  // again for each then.
  virtual bool begins_another_round() { return false; }
  // Called when the application has ended: does another one follow, which the mode puts into the request? The verb stays.
  virtual bool begins_another_act(SessionRequest*) { return false; }
  // Called in the place of begins_another_round() where the session was stopped.
  virtual void stopped() {}
  // True: explore() is called also when the time of --max-time is over (SessionContext::deadline has passed then).
  virtual bool keeps_deadline() const { return false; }
  // True: under --max-time each test gets a part of the time that is left, by how many tests are left.
  virtual bool shares_time() const { return true; }
  // True: a test is explored by itself, on one lane, so that lanes are not compared; and the lane on which it has to be,
  // if it was explored in an earlier round.
  virtual bool tests_stand_alone() const { return false; }
  virtual std::optional<uint32_t> lane_of(const std::string&) const { return std::nullopt; }
  // True: every RPC of the test was seen, so that a question of the test that no RPC matched is named.
  virtual bool has_seen_all(const Exploration&) const { return false; }
  // All but what a bound kept from being executed.
  virtual bool ended_at_bound(const Exploration&) const { return false; }
  // May add notes to the tests of `report`.
  virtual Outcome judge(SessionReport* report, const SessionEnd& end) const = 0;
  // Called once, after judge(); `report` has the exit code.
  virtual Document document(const SessionReport& report) = 0;
  // What the command prints at the end.
  virtual std::string summary(const SessionReport& report, const SessionEnd& end) const = 0;
};

// --- for the classes ---
bool has_findings(const SessionReport& report);
bool has_skipped(const SessionReport& report);

}  // namespace filibuster
