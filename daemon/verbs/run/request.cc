#include "daemon/verbs/run/request.h"

namespace filibuster {
namespace {

class RunVerb final : public Verb {
 public:
  RunVerb()
      : Verb("run", {.lanes = true,
                     .deadline = true,
                     .suspects = true,
                     .documents = true,
                     .page = true,
                     .coverage = true}) {}

  // The baseline, the day, and what has changed.
  void read(const nlohmann::json& json, RequestDraft* draft) const override {
    SessionRequest& request = draft->request;
    auto own = std::make_shared<RunRequest>();
    own->profile = json.value("profile", false);
    request.own = std::move(own);
    const std::string pretended = json.value("day", "");
    if (!pretended.empty() && !is_date(pretended))
      draft->fail("FILIBUSTER_TODAY: expected a day such as 2026-12-31");
    request.day = today(pretended);
    request.changed_files = json.value("changed_files", std::vector<std::string>());
    if (request.config.baseline.empty()) return;
    ParsedBaseline parsed = read_baseline(request.config.baseline);
    draft->errors.insert(draft->errors.end(), parsed.errors.begin(), parsed.errors.end());
    request.baseline = std::move(parsed.baseline);
  }

  std::unique_ptr<Mode> make(const SessionRequest& request) const override {
    return make_run_mode(request);
  }
};

}  // namespace

const Verb& run_verb() {
  static const RunVerb verb;
  return verb;
}

}  // namespace filibuster
