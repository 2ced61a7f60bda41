// `filibuster principled`: structured tests, whose behaviour under each fault has to be stated (docs/principled.md).
#include <algorithm>

#include "daemon/verbs/principled/document.h"
#include "daemon/verbs/principled/request.h"
#include "daemon/verbs/principled/tester.h"

namespace filibuster {
namespace {

class PrincipledMode final : public Mode {
 public:
  explicit PrincipledMode(const SessionRequest& request) : request_(request) {}

  Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) override {
    const PrincipledRequest& own = request_.own_as<PrincipledRequest>();
    PrincipledTester tester(session, lane, test, session->blocks, {own.keep_going, own.operations});
    PrincipledTest results;
    const Result<void> done = tester.run(&results);
    Exploration out;
    out.report.test = test.name;
    out.report.counts.executed = results.executions.size();
    out.report.finished = results.finished;
    out.report.time_over = results.time_over;
    out.stopped = tester.stopped();
    if (!done) {
      out.error = done.error();
      results.error = done.error().message;
    }
    called_stubs_.insert(tester.called_stubs().begin(), tester.called_stubs().end());
    results_.tests.push_back(std::move(results));
    return out;
  }

  // What is not begun is named with its test.
  bool keeps_deadline() const override { return true; }

  Outcome judge(SessionReport*, const SessionEnd& end) const override {
    note_stubs_never_called();
    Outcome out;
    out.failures = !results_.diagnostics.empty();
    for (const PrincipledTest& test : results_.tests) {
      out.failures |= std::any_of(test.executions.begin(), test.executions.end(),
                                  [](const auto& each) { return each.diagnostic.has_value(); });
      out.failures |= !test.diagnostics.empty();
      out.no_conclusion |= test.executions.empty() && !test.time_over;
      // Or the bound of executions was reached.
      out.time_over |= !end.stopped && (test.time_over || (test.passed() && !test.finished));
    }
    return out;
  }

  Document document(const SessionReport& report) override {
    results_.session = report.session;
    results_.config_path = report.config_path;
    results_.working_directory = report.working_directory;
    results_.exit_code = report.exit_code;
    results_.error = report.error;
    const std::string json = principled_json(results_);
    const bool watched = request_.own_as<PrincipledRequest>().watched;
    return {"principled.json",
            json,
            {{"junit", principled_junit(results_)}, {"sarif", principled_sarif(results_)}},
            {"principled.html",
             std::string("{\"watched\": ") + (watched ? "true" : "false") +
                 ", \"principled\": " + json + "}",
             principled_text(results_)}};
  }

  std::string summary(const SessionReport&, const SessionEnd&) const override {
    return principled_text(results_);
  }

 private:
  // The stubs of services are for all tests of the session.
  void note_stubs_never_called() const {
    const bool all =
        !results_.tests.empty() &&
        std::all_of(results_.tests.begin(), results_.tests.end(),
                    [](const PrincipledTest& test) { return test.finished && test.passed(); });
    if (!all || results_.tests.size() != all_tests()) return;
    for (const ServiceConfig& service : request_.config.services) {
      for (const stubs::Stub& stub : service.stubs) {
        if (called_stubs_.contains(stub.name)) continue;
        results_.diagnostics.push_back({principled::DiagnosticKind::kStubNeverCalled,
                                        stub.name + " was called in no execution",
                                        "",
                                        "",
                                        {},
                                        {}});
      }
    }
  }

  size_t all_tests() const {
    const std::vector<TestConfig>& tests = request_.config.tests;
    return static_cast<size_t>(
        std::count_if(tests.begin(), tests.end(),
                      [](const TestConfig& test) { return test.principled.has_value(); }));
  }

  const SessionRequest& request_;
  std::set<std::string> called_stubs_;
  mutable PrincipledResults results_;
};

}  // namespace

std::unique_ptr<Mode> make_principled_mode(const SessionRequest& request) {
  return std::make_unique<PrincipledMode>(request);
}

}  // namespace filibuster
