#include <CLI/App.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/configuration.h"
#include "cli/findings.h"
#include "cli/session.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

struct Replay {
  SessionOptions session;
  std::string name;
};

// The path of the counterexample: a file, or that of a finding of the last report.
Result<std::string> counterexample_of(const Replay& options) {
  std::error_code ignored;
  if (std::filesystem::exists(options.name, ignored)) return options.name;
  const std::string& root = options.session.root;
  const bool is_path = options.name.find('/') != std::string::npos;
  const Result<nlohmann::json> report = last_report(root);
  // Those of a suite are in no report of a run, and have numbers of their own.
  const std::string by_number = root + "/counterexamples/" + options.name + ".json";
  const bool is_listed = report && find_finding(report.value(), options.name, root).ok();
  if (!is_path && !is_listed && std::filesystem::exists(by_number, ignored)) return by_number;
  if (is_path || !report) {
    return Error{
        "there is no file " + options.name +
        (is_path ? "" : ", and no report of a run in " + root) +
        " (expected the number or the id of a finding, or a counterexample that a run wrote, as " +
        root + "/counterexamples/1.json)"};
  }
  const Result<NamedFinding> found = find_finding(report.value(), options.name, root);
  if (!found) return found.error();
  if (found->counterexample.empty())
    return Error{"finding " + options.name + " has no counterexample"};
  return found->counterexample;
}

Work declare_replay(CLI::App& app) {
  auto options = std::make_shared<Replay>();
  app.add_option(
         "FINDING", options->name,
         "the number of a finding of a run or suite, or its id, as the last report has it; or the file of a "
         "counterexample")
      ->required()
      ->type_name("");
  declare_common_options(app, &options->session);
  app.add_flag("--real-timeouts", options->session.real_timeouts,
               "really wait where a timeout is injected");
  app.add_flag("--trust", options->session.trust,
               "execute the commands of the file, although it comes from elsewhere");
  return [options](const Invocation&) {
    const Result<std::string> file = counterexample_of(*options);
    if (!file) return complain(kUsage, file.error().message);
    const Result<std::string> text = read_file(file.value());
    if (!text) {
      return complain(kUsage, text.error().message +
                                  " (expected a counterexample that a run wrote, as " +
                                  options->session.root + "/counterexamples/1.json)");
    }
    const auto request =
        replay_request(file.value(), text.value(), options->session, this_client());
    if (!request) return complain(kUsage, request.error().message);
    options->session.counterexample = file.value();
    return run_session(options->session, request.value());
  };
}

}  // namespace

const Verb kReplayVerb = {
    "replay", "run one failing execution again, with the same faults",
    "  filibuster replay 3\n"
    "  filibuster replay .filibuster/counterexamples/3.json\n"
    "\nExit status: 0 it does not fail, 1 it fails again, 2 usage or counterexample,\n"
    "3 no conclusion; filibuster(1) has the table.\n"
    "\nA counterexample names the commands that a replay executes. A counterexample\n"
    "that does not lie in the root is refused, unless the configuration here has\n"
    "the same commands.\n",
    "", declare_replay};

}  // namespace filibuster::cli
