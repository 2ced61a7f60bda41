// `filibuster run`: every test is explored.
#include <algorithm>

#include "daemon/explore/explorer.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/text.h"
#include "daemon/verbs/run/request.h"

namespace filibuster {
namespace {

// Why no execution with a fault was concluded, as the end of a note.
std::string why_nothing(const TestReport& test, const std::vector<FaultRule>& rules) {
  if (!test.without_cause.empty()) return "; why its RPCs were never faulted stands above";
  if (!test.skipped.empty()) return "; see what was not explored";
  const bool by_service = std::any_of(rules.begin(), rules.end(), [](const FaultRule& rule) {
    return !rule.service.empty() || !rule.caller.empty();
  });
  return by_service ? "; is every service of the rules spelled as it is in `services`?" : "";
}

class RunMode final : public Mode {
 public:
  explicit RunMode(const SessionRequest& request) : request_(request) {}

  const char* meaning_of_moved_port() const override {
    return "; if requests or answers carry the port, what an interrupted exploration found is no "
           "longer valid: begin anew with --restart-session";
  }

  std::optional<LanePorts::Keep> keeps_ports() const override { return LanePorts::Keep::kAll; }

  Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) override {
    return Explorer(session, lane, test).explore();
  }
  std::unique_ptr<Explorer> explorer(SessionContext* session, Lane* lane,
                                     const TestConfig& test) override {
    return std::make_unique<Explorer>(session, lane, test);
  }
  // The published prototype explores one test after the other.
  bool takes_turns() const override {
    return request_.config.reduce != Reduction::kPublished && request_.tests.size() > 1;
  }

  // A resumed session has not seen the RPCs of its earlier part.
  bool has_seen_all(const Exploration& exploration) const override {
    return exploration.report.finished && !exploration.resumed;
  }
  bool ended_at_bound(const Exploration& exploration) const override {
    return !exploration.stopped && !exploration.resumed && !exploration.error &&
           exploration.report.counts.executed > 0;
  }

  Outcome judge(SessionReport* report, const SessionEnd& end) const override {
    Outcome out;
    apply_baseline(request_.baseline, request_.day, report);
    out.failures = report->failing() > 0;
    // 'Nothing found' would be a lie where nothing was tried.
    if (!end.stopped && !end.failed) out.no_conclusion = note_what_was_not_tested(report);
    // Nor is 'nothing found' true if an execution had no conclusion, or an RPC could not be tested.
    report->allow_untested = request_.allow_untested;
    report->profile = request_.own_as<RunRequest>().profile;
    for (const TestReport& test : report->tests) {
      out.no_conclusion |= test.counts.abandoned > 0;
      // What a state that has built up hides was not tested, whatever the executions after it say.
      out.no_conclusion |= !test.again.drifts.empty();
      out.no_conclusion |= !request_.allow_untested && !test.rpcs.untested.empty();
      out.time_over |= test.time_over;
    }
    return out;
  }

  Document document(const SessionReport& report) override {
    Documents documents = make_documents(report);
    return {"report.json", documents.at("json"), std::move(documents)};
  }

  std::string summary(const SessionReport& report, const SessionEnd& end) const override {
    std::string out =
        to_text(report, end.coverage == nullptr ? "" : coverage::to_text(*end.coverage));
    if (const std::string tested = tested_text(report); !tested.empty()) out += "\n" + tested;
    if (!end.stopped) return out;
    out += "\nStopped. The same command continues where this one ended.\n";
    if (request_.coverage) {
      out +=
          "Coverage: what was counted is kept; coverage.json is written when the same command, "
          "with --coverage, comes to the end.\n";
    }
    return out;
  }

 private:
  // True: there is a test of which nothing was tested.
  bool note_what_was_not_tested(SessionReport* report) const {
    const bool any_explored =
        std::any_of(report->tests.begin(), report->tests.end(),
                    [](const TestReport& test) { return test.counts.executed > 1; });
    bool untested = false;
    for (TestReport& test : report->tests) {
      if (test.counts.executed > 1 || test.counts.open > 0 || test.counts.beyond_bound > 0)
        continue;
      if (test.time_over || (!test.nothing_to_explore.empty() && any_explored)) continue;
      untested = true;
      test.notes.push_back("nothing was tested: no execution with a fault was concluded" +
                           why_nothing(test, request_.config.faults));
    }
    return untested;
  }

  const SessionRequest& request_;
};

}  // namespace

std::unique_ptr<Mode> make_run_mode(const SessionRequest& request) {
  return std::make_unique<RunMode>(request);
}

}  // namespace filibuster
