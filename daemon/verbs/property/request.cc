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

void replay_program(const std::string& property, RequestDraft* draft) {
  const auto json = nlohmann::ordered_json::parse(property, nullptr, false);
  const auto wrong = [&](const std::string& what) {
    draft->fail("counterexample: property: " + what +
                "; run `filibuster property` again to write it anew");
  };
  if (!json.is_object() || !json.contains("program") || !json.contains("holds"))
    return wrong("expected an object with program and holds");
  auto program = property::read_program(json["program"], json["holds"]);
  if (!program) return wrong(program.error().message);
  const auto clients = json.find("clients");
  const auto kind = json.find("kind");
  if (clients == json.end() || !clients->is_number_unsigned() || *clients < 1 ||
      *clients > kMostPropertyClients)
    return wrong("clients: expected a number from 1 to " + std::to_string(kMostPropertyClients));
  if (kind == json.end() || !kind->is_string()) return wrong("kind: expected a text");
  for (size_t at = 0, size = 0; at < program->program.items.size(); at += size) {
    size = block_size(program->program, at);
    if (*clients < size) return wrong("clients: expected one for each command of a block");
  }
  auto own = std::make_shared<PropertyRequest>();
  own->info_ends = json.value("info_ends", nlohmann::ordered_json(false)) == true;
  own->clients = clients->get<uint64_t>();
  own->replay = PropertyRequest::Replay{std::move(program).value(), kind->get<std::string>(),
                                        clients->get<uint64_t>()};
  draft->request.verb = &property_verb();
  draft->request.own = std::move(own);
}

const Verb& property_verb() {
  static const PropertyVerb verb;
  return verb;
}

}  // namespace filibuster
