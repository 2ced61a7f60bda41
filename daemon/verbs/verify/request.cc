#include "daemon/verbs/verify/request.h"

#include <algorithm>

#include "core/text/nearest.h"
#include "daemon/cases/route.h"
#include "daemon/record/environment.h"
#include "daemon/replay/alone.h"

namespace filibuster {
namespace {

class VerifyVerb final : public Verb {
 public:
  VerifyVerb() : Verb("verify", {}) {}

  void begin(const nlohmann::json& json, RequestDraft* draft) const override {
    auto own = std::make_shared<VerifyRequest>();
    const nlohmann::json options = json.value("verify", nlohmann::json::object());
    own->set = replay::load_cases(options.value("cases", ""), &draft->errors);
    own->mocked = replay::mocked_in(options);
    own->updates = options.value("update", false);
    own->real_time = options.value("real_time", false);
    own->keeps_gaps = options.value("real_gaps", false);
    own->only = options.value("only", std::vector<std::string>());
    std::vector<std::string> names;
    for (const cases::Case& each : own->set.cases) names.push_back(cases::name_in_path(each.file));
    const std::vector<std::string_view> known(names.begin(), names.end());
    for (std::string& name : own->only) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      const auto begins = [&](const std::string& each) {
        return !name.empty() && each.starts_with(name);
      };
      const auto number = std::count_if(names.begin(), names.end(), begins);
      if (number == 1) {
        name = *std::find_if(names.begin(), names.end(), begins);
        continue;
      }
      if (number > 1) {
        draft->fail("'" + name + "' is the beginning of the names of " + std::to_string(number) +
                    " cases in " + own->set.folder);
        continue;
      }
      const std::string_view near = nearest(name, known);
      draft->fail("there is no case '" + name + "' in " + own->set.folder +
                  (near.empty() ? "; `filibuster cases list` shows them"
                                : "; did you mean '" + std::string(near) + "'?"));
    }
    draft->request.own = std::move(own);
  }

  void configure(RequestDraft* draft) const override {
    const auto& own = static_cast<const VerifyRequest&>(*draft->request.own);
    Config& config = draft->request.config;
    const std::string& service = own.set.set.service;
    const auto found =
        std::find_if(config.services.begin(), config.services.end(),
                     [&](const ServiceConfig& each) { return each.name == service; });
    if (found == config.services.end() || found->command.empty()) {
      draft->errors.push_back(
          {config.path, 0, 0,
           "the cases are of service '" + service +
               "', and the configuration has no service of that name with a command"});
      return;
    }
    record::restore_environment(own.set.set.environment, &*found);
    replay::check_mocked(own.mocked, config, &draft->errors);
    draft->tests.clear();
    // Who was answered for as the cases were recorded is so now, whatever has become a part of the service since.
    std::set<std::string> mocked = replay::called_in(own.set);
    mocked.insert(own.mocked.begin(), own.mocked.end());
    replay::leave_alone(service, replay::parts_of(config, service, mocked), &config);
  }

  std::unique_ptr<Mode> make(const SessionRequest& request) const override {
    return make_verify_mode(request);
  }
};

}  // namespace

const Verb& verify_verb() {
  static const VerifyVerb verb;
  return verb;
}

}  // namespace filibuster
