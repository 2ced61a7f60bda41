#include "daemon/verbs/lint/request.h"

#include <cmath>

namespace filibuster {
namespace {

constexpr double kLongestSilence = 3600;  // seconds

void read_options(const nlohmann::json& json, lint::Options* options, RequestDraft* draft) {
  options->probe = json.value("probes", true);
  options->max_probes = json.value("max_probes", uint64_t{0});
  const double silence = json.value("silence_seconds", 0.0);
  if (silence < 0 || silence > kLongestSilence) {
    draft->fail("--silence: expected seconds, at most " +
                std::to_string(static_cast<int>(kLongestSilence)));
  } else {
    options->silence = std::chrono::milliseconds(static_cast<int64_t>(std::ceil(silence * 1000)));
  }
  const auto severity = json.value("severity", "note");
  if (const auto least = lint::parse_severity(severity)) {
    options->least = *least;
  } else {
    draft->fail("--severity " + severity + ": expected note, warning or error");
  }
  for (const auto& name : json.value("without", std::vector<std::string>())) {
    if (const lint::LintRow* row = lint::find_lint(name)) {
      options->without.insert(row->lint);
      continue;
    }
    std::string known;
    for (const lint::LintRow& row : lint::lints())
      known += (known.empty() ? "" : ", ") + std::string(row.name);
    draft->fail("there is no lint '" + name + "' (lints: " + known + ")");
  }
}

class LintVerb final : public Verb {
 public:
  LintVerb() : Verb("lint", {}) {}

  void read(const nlohmann::json& json, RequestDraft* draft) const override {
    auto own = std::make_shared<LintRequest>();
    read_options(json.value("lint", nlohmann::json::object()), &own->options, draft);
    draft->request.own = std::move(own);
  }

  std::unique_ptr<Mode> make(const SessionRequest& request) const override {
    return make_lint_mode(request);
  }
};

}  // namespace

const Verb& lint_verb() {
  static const LintVerb verb;
  return verb;
}

}  // namespace filibuster
