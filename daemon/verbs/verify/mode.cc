// `filibuster verify`: recorded cases, replayed against the service alone (docs/record.md).
#include "daemon/redact/rules.h"
#include "daemon/verbs/verify/request.h"
#include "daemon/verbs/verify/results.h"
#include "daemon/verbs/verify/tester.h"

namespace filibuster {
namespace {

class VerifyMode final : public Mode {
 public:
  explicit VerifyMode(const SessionRequest& request)
      : own_(request.own_as<VerifyRequest>()),
        secrets_(SecretRules::compile(own_.set.set.redact)) {}

  std::optional<LanePorts::Keep> keeps_ports() const override { return std::nullopt; }

  // Before services start, since they may call while they do.
  Result<void> before_services(Lane* lane) override {
    auto places = std::make_shared<replay::Places>();
    Recordings& recordings = lane->hub().recordings();
    answers_ =
        std::make_shared<replay::CaseAnswers>(own_.set, &recordings, places, own_.keeps_gaps);
    lane->services().answer_by(answers_);
    replay::show_start_of_recording(own_.set, !own_.real_time, lane);
    return recordings.start(std::move(places), Recordings::What::kPlaces);
  }

  Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) override {
    results_.service = own_.set.set.service;
    results_.folder = own_.set.folder;
    VerifyTester tester(session, lane, test, own_, answers_.get());
    const Result<void> done = tester.run(&results_);
    // Services are not asked any more; nothing is to be said of their calls.
    lane->hub().recordings().stop();
    Exploration out;
    out.report.test = test.name;
    out.report.counts.executed = results_.cases.size();
    out.report.finished = done.ok() && !tester.stopped();
    out.stopped = tester.stopped();
    if (!done) {
      out.error = done.error();
      results_.error = done.error().message;
    }
    return out;
  }

  Outcome judge(SessionReport*, const SessionEnd&) const override {
    const cases::Judged judged = results_.judged();
    Outcome out;
    // What is in the files now is no difference any more.
    for (const VerifiedCase& each : results_.cases)
      out.failures |= each.verdict.judged == cases::Judged::kDiffers && !each.updated;
    out.no_conclusion = judged == cases::Judged::kNoConclusion;
    return out;
  }

  Document document(const SessionReport& report) override {
    results_.session = report.session;
    results_.config_path = report.config_path;
    results_.working_directory = report.working_directory;
    results_.exit_code = report.exit_code;
    results_.error = report.error;
    return {"verify.json",
            verify_json(results_),
            {{"junit", verify_junit(results_)},
             {"sarif", verify_sarif(results_)},
             {"markdown", verify_markdown(results_)}}};
  }

  std::string summary(const SessionReport&, const SessionEnd&) const override {
    return verify_text(results_);
  }

 private:
  const VerifyRequest& own_;
  // What is a secret in the cases is one in what is said of them.
  const RulesInForce secrets_;
  std::shared_ptr<replay::CaseAnswers> answers_;
  VerifyResults results_;
};

}  // namespace

std::unique_ptr<Mode> make_verify_mode(const SessionRequest& request) {
  return std::make_unique<VerifyMode>(request);
}

}  // namespace filibuster
