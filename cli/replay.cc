#include <CLI/App.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/session.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

struct Replay {
  SessionOptions session;
  std::string file;
};

Work declare_replay(CLI::App& app) {
  auto options = std::make_shared<Replay>();
  app.add_option("FILE", options->file, "a counterexample that a run wrote")
      ->required()
      ->type_name("");
  declare_common_options(app, &options->session);
  app.add_flag("--real-timeouts", options->session.real_timeouts,
               "really wait where a timeout is injected");
  app.add_flag("--trust", options->session.trust,
               "execute the commands of the file, although it comes from elsewhere");
  return [options](const Invocation&) {
    const Result<std::string> text = read_file(options->file);
    if (!text) {
      return complain(kUsage, text.error().message +
                                  " (expected a counterexample that a run wrote, as " +
                                  options->session.root + "/counterexamples/1.json)");
    }
    const auto request =
        replay_request(options->file, text.value(), options->session, this_client());
    if (!request) return complain(kUsage, request.error().message);
    options->session.counterexample = options->file;
    return run_session(options->session, request.value());
  };
}

}  // namespace

const Verb kReplayVerb = {
    "replay", "run one failing execution again, with the same faults",
    "  filibuster replay .filibuster/counterexamples/3.json\n"
    "\nExit status: 0 it does not fail, 1 it fails again, 2 usage or counterexample,\n"
    "3 no conclusion; filibuster(1) has the table.\n"
    "\nA counterexample names the commands that a replay executes. A counterexample\n"
    "that does not lie in the root is refused, unless the configuration here has\n"
    "the same commands.\n",
    "", declare_replay};

}  // namespace filibuster::cli
