// `filibuster trace`: one execution without faults, shown as a tree of RPCs.
#include "daemon/explore/single_execution.h"
#include "daemon/report/json.h"
#include "daemon/report/text.h"
#include "daemon/verbs/trace/request.h"

namespace filibuster {
namespace {

class TraceMode final : public Mode {
 public:
  explicit TraceMode(const SessionRequest& request) : request_(request) {}

  Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) override {
    return run_single_execution(session, lane, test, {});
  }

  Outcome judge(SessionReport* report, const SessionEnd&) const override {
    return {has_findings(*report), has_skipped(*report)};
  }

  Document document(const SessionReport& report) override { return {"", to_json(report), {}}; }

  std::string summary(const SessionReport& report, const SessionEnd&) const override {
    std::string out;
    for (const TestReport& test : report.tests) {
      out += (request_.tests.size() > 1 ? test.test + ":\n" : "") +
             trace_text(test.reference, request_.own_as<TraceRequest>().representation,
                        request_.config.index_parts);
      for (const Finding& finding : test.findings) {
        const Execution& traced = finding.minimal_execution;
        out += "\nthe test failed: " + traced.detail + "\n" + traced.output + "\n";
      }
      for (const Skipped& skipped : test.skipped) {
        out += "\nno conclusion: " + skipped.reason + "\n";
      }
      if (const std::string limits = limits_text(test); !limits.empty()) out += "\n" + limits;
    }
    return out;
  }

 private:
  const SessionRequest& request_;
};

}  // namespace

std::unique_ptr<Mode> make_trace_mode(const SessionRequest& request) {
  return std::make_unique<TraceMode>(request);
}

}  // namespace filibuster
