#include "daemon/verbs/suite/request.h"

namespace filibuster {
namespace {

void read_options(const nlohmann::json& json, SuiteRequest* options, RequestDraft* draft) {
  if (auto metric = retries::parse_metric(json.value("coverage", "C4"))) {
    options->metric = metric.value();
  } else {
    draft->fail("--coverage: " + metric.error().message);
  }
  auto policies = retries::choose_policies(retries::all_policies(draft->request.config.retries),
                                           json.value("policies", ""));
  if (policies) {
    options->policies = std::move(policies).value();
  } else {
    draft->fail("--policy: " + policies.error().message);
  }
  options->estimate = json.value("estimate", false);
  options->write_plan = json.value("write_plan", "");
  if (!json.contains("plan")) return;
  if (auto plan = retries::parse_plan(json.at("plan").get<std::string>())) {
    options->plan = std::move(plan).value();
  } else {
    draft->fail("--plan: " + plan.error().message);
  }
}

class SuiteVerb final : public Verb {
 public:
  SuiteVerb() : Verb("suite", {.lanes = true, .deadline = true}) {}

  void read(const nlohmann::json& json, RequestDraft* draft) const override {
    auto own = std::make_shared<SuiteRequest>();
    read_options(json.value("suite", nlohmann::json::object()), own.get(), draft);
    draft->request.own = std::move(own);
  }

  std::unique_ptr<Mode> make(const SessionRequest& request) const override {
    return make_suite_mode(request);
  }
};

}  // namespace

const Verb& suite_verb() {
  static const SuiteVerb verb;
  return verb;
}

}  // namespace filibuster
