#include "daemon/verbs/principled/request.h"

namespace filibuster {
namespace {

class PrincipledVerb final : public Verb {
 public:
  PrincipledVerb() : Verb("principled", {.deadline = true, .tests = TestKind::kPrincipled}) {}

  // A command behind '--' is the program of a structured test. With a configuration, its variables are those of the configuration's
  // own structured test.
  void begin(const nlohmann::json& json, RequestDraft* draft) const override {
    auto own = std::make_shared<PrincipledRequest>();
    const nlohmann::json options = json.value("principled", nlohmann::json::object());
    own->keep_going = options.value("keep_going", false);
    own->watched = options.value("watched", false);
    own->command = options.value("command", std::vector<std::string>());
    for (const nlohmann::json& each : options.value("operations", nlohmann::json::array())) {
      own->operations.push_back(
          {each.value("service", ""), each.value("method", ""), each.value("path", "")});
    }
    own->directory = json.value("working_directory", "");
    draft->request.own = std::move(own);
  }

  void configure(RequestDraft* draft) const override {
    std::vector<TestConfig>& tests = draft->request.config.tests;
    for (TestConfig& test : tests) {
      if (!draft->path.empty() || test.principled || test.suite) continue;
      test.principled.emplace();
      test.principled->in_program = true;
    }
    const PrincipledRequest& own = draft->request.own_as<PrincipledRequest>();
    if (own.command.empty()) return;
    TestConfig test;
    test.name = own.command.back();
    test.command.argv = own.command;
    test.directory = own.directory;
    test.principled.emplace();
    test.principled->in_program = true;
    for (const TestConfig& other : tests) {
      if (!other.principled || !other.principled->in_program) continue;
      test.env = other.env;
      test.timeout = other.timeout;
      break;
    }
    tests = {test};
    draft->tests.clear();
  }

  void read(const nlohmann::json&, RequestDraft* draft) const override {
    // Each fault alone and each set of faults is executed: what is derived is compared with what happens.
    draft->request.config.reduce = Reduction::kOff;
  }

  std::unique_ptr<Mode> make(const SessionRequest& request) const override {
    return make_principled_mode(request);
  }
};

}  // namespace

const Verb& principled_verb() {
  static const PrincipledVerb verb;
  return verb;
}

}  // namespace filibuster
