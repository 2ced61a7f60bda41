#include "daemon/verbs/property/request.h"

namespace filibuster {
namespace {

class PropertyVerb final : public Verb {
 public:
  PropertyVerb() : Verb("property", {.deadline = true, .tests = TestKind::kProperty}) {}

  void begin(const nlohmann::json& json, RequestDraft* draft) const override {
    auto own = std::make_shared<PropertyRequest>();
    const nlohmann::json options = json.value("property", nlohmann::json::object());
    own->seed = options.value("seed", uint64_t{0});
    own->programs = options.value("tests", uint64_t{100});
    if (options.contains("clients")) own->clients = options.value("clients", uint64_t{1});
    if (options.contains("repetitions"))
      own->repetitions = options.value("repetitions", uint64_t{1});
    if (options.contains("schedules")) own->schedules = options.value("schedules", uint64_t{0});
    own->info_ends = options.value("info", "fail") == "end";
    draft->request.own = std::move(own);
  }

  std::unique_ptr<Mode> make(const SessionRequest& request) const override {
    return make_property_mode(request);
  }
};

}  // namespace

const Verb& property_verb() {
  static const PropertyVerb verb;
  return verb;
}

}  // namespace filibuster
