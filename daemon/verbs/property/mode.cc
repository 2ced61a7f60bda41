// `filibuster property`: programs of commands and faults at random, compared with a model (docs/property.md).
#include <algorithm>

#include "daemon/explore/counterexample_files.h"
#include "daemon/model/verdict.h"
#include "daemon/property/program_json.h"
#include "daemon/verbs/property/request.h"
#include "daemon/verbs/property/results.h"
#include "daemon/verbs/property/tester.h"

namespace filibuster {
namespace {

class PropertyMode final : public Mode {
 public:
  explicit PropertyMode(const SessionRequest& request) : request_(request) {}

  Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) override {
    PropertyTester tester(session, lane, test, request_.own_as<PropertyRequest>());
    PropertyTest results;
    const Result<void> done = tester.run(&results);
    Exploration out;
    out.report.test = test.name;
    out.report.counts.executed = results.executed;
    out.report.finished = results.finished;
    out.report.time_over = results.time_over;
    out.stopped = tester.stopped();
    if (!done) {
      out.error = done.error();
      results.error = done.error().message;
    }
    results_.root = lane->place().root;
    for (PropertyFinding& each : results.findings) {
      if (!each.is_replay) write(&each, results, *session, *lane);
    }
    results_.tests.push_back(std::move(results));
    return out;
  }

  // What is not begun is named with its test.
  bool keeps_deadline() const override { return true; }

  Outcome judge(SessionReport*, const SessionEnd& end) const override {
    Outcome out;
    for (const PropertyTest& test : results_.tests) {
      out.failures |= !test.findings.empty();
      out.no_conclusion |= test.executed == 0 && test.findings.empty() && !test.time_over;
      out.time_over |= !end.stopped && test.time_over;
    }
    return out;
  }

  Document document(const SessionReport& report) override {
    results_.session = report.session;
    results_.config_path = report.config_path;
    results_.working_directory = report.working_directory;
    results_.exit_code = report.exit_code;
    results_.error = report.error;
    if (!results_.root.empty() && results_.root != report.working_directory + "/.filibuster")
      results_.root_option = " --root " + results_.root;
    results_.seed = request_.own_as<PropertyRequest>().seed;
    const bool is_replay = request_.own_as<PropertyRequest>().replay.has_value();
    return {is_replay ? "" : "property.json", property_json(results_), {}};
  }

  std::string summary(const SessionReport&, const SessionEnd&) const override {
    return property_text(results_);
  }

 private:
  // The counterexample's file.
  void write(PropertyFinding* finding, const PropertyTest& results, const SessionContext& session,
             const Lane& lane) const {
    const auto& own = request_.own_as<PropertyRequest>();
    const TestConfig& test =
        *std::find_if(request_.config.tests.begin(), request_.config.tests.end(),
                      [&](const TestConfig& each) { return each.name == results.test; });
    const std::string kind = finding->shrunk.violation ? finding->shrunk.violation->kind : "";
    Counterexample out;
    out.test = results.test;
    out.config_path = session.config.path;
    out.config_text = session.config_text;
    out.directory = session.config.directory;
    out.ports = lane.place().automatic_ports;
    out.verdict = verdict_name(Verdict::kFailed);
    out.detail = finding->shrunk.violation ? finding->shrunk.violation->text : "";
    out.output = finding->shrunk.output;
    const nlohmann::ordered_json property = {
        {"kind", kind},
        {"clients", own.clients.value_or(test.property->clients)},
        {"info_ends", own.info_ends},
        {"program", property::program_json(finding->program, results.faults)},
        {"holds", property::holds_json(finding->program.holds)}};
    out.property = property.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    CounterexampleFiles files(lane.place().root + "/counterexamples", results.test,
                              &session.counters.counterexamples);
    CounterexampleFiles::File file;
    if (auto written = files.write(out, &file); !written) session.warn(written.error().message);
    finding->number = file.number;
    finding->counterexample = file.path;
  }

  const SessionRequest& request_;
  PropertyResults results_;
};

}  // namespace

std::unique_ptr<Mode> make_property_mode(const SessionRequest& request) {
  return std::make_unique<PropertyMode>(request);
}

}  // namespace filibuster
