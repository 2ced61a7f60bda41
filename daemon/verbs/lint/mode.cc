// `filibuster lint`: what the calls of every test show, and probes.
#include <algorithm>

#include "daemon/verbs/lint/linter.h"
#include "daemon/verbs/lint/request.h"

namespace filibuster {
namespace {

class LintMode final : public Mode {
 public:
  explicit LintMode(const SessionRequest& request) : request_(request) {}

  Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) override {
    Linting linting =
        Linter(session, lane, test, request_.own_as<LintRequest>().options, &memory_).lint();
    Exploration out;
    out.report.test = test.name;
    out.report.counts.executed = linting.result.rpcs > 0 ? 1 : 0;
    out.error = std::move(linting.error);
    out.stopped = linting.stopped;
    report_.tests.push_back(std::move(linting.result));
    return out;
  }

  Outcome judge(SessionReport*, const SessionEnd&) const override {
    return {std::any_of(report_.tests.begin(), report_.tests.end(),
                        [](const lint::TestLint& test) { return !test.findings.empty(); }),
            false};
  }

  Document document(const SessionReport& report) override {
    report_.session = report.session;
    report_.config_path = request_.config.path;
    report_.directory = request_.config.directory;
    report_.exit_code = report.exit_code;
    return {"lint.json", lint::to_json(report_), {{"sarif", lint::to_sarif(report_)}}};
  }

  std::string summary(const SessionReport&, const SessionEnd&) const override {
    return lint::to_text(report_);
  }

 private:
  const SessionRequest& request_;
  LintMemory memory_;
  lint::Report report_;
};

}  // namespace

std::unique_ptr<Mode> make_lint_mode(const SessionRequest& request) {
  return std::make_unique<LintMode>(request);
}

}  // namespace filibuster
