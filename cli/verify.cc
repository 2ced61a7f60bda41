#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/copies.h"
#include "cli/session.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

struct VerifyOptions {
  SessionOptions session;
  std::string cases;
  std::vector<std::string> only, mocked;
  bool update = false, real_time = false, real_gaps = false;
  Copy copies[3] = {{"junit", ""}, {"sarif", ""}, {"markdown", ""}};
};

Work declare_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyOptions>();
  declare_source_options(app, &options->session);
  app.add_option("CASES", options->cases, "the folder of the recorded cases")->required();
  app.add_option("--case", options->only,
                 "replay this one only, by the beginning of its name (as often as needed)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--mock", options->mocked,
                 "answer calls to this part of the service ('part_of'), and do not start it")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--update", options->update, "accept what differs: the files have it then");
  app.add_flag("--real-time", options->real_time,
               "show the service the time of now, not that of the recording");
  app.add_flag(
      "--real-gaps", options->real_gaps,
      "answers that were recorded in parts come as slowly as they did then (default: 100 ms a pause at most)");
  app.add_option("--junit", options->copies[0].file, "write JUnit XML here")->type_name("FILE");
  app.add_option("--sarif", options->copies[1].file, "write SARIF here")->type_name("FILE");
  app.add_option("--markdown", options->copies[2].file, "write Markdown here")->type_name("FILE");
  return [options](const Invocation&) {
    // Without a configuration nothing but the service is needed: the cases are the test.
    if (!options->session.command_line.services.empty()) {
      options->session.has_command = true;
      options->session.command_line.command = {"true"};
    }
    auto request = session_request("verify", options->session, this_client());
    if (!request) return complain(kUsage, request.error().message);
    const std::filesystem::path folder = std::filesystem::absolute(options->cases);
    std::string path = folder.lexically_normal().string();
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    std::error_code failed;
    const bool is_folder = std::filesystem::is_directory(path, failed);
    if (is_folder && std::filesystem::is_empty(path, failed) && !failed)
      return complain(kEnvironment, "the folder " + path +
                                        " is empty: there is no case to replay. `filibuster "
                                        "record` makes some");
    request.value()["verify"] = {{"cases", path},
                                 {"only", options->only},
                                 {"mock", options->mocked},
                                 {"update", options->update},
                                 {"real_time", options->real_time},
                                 {"real_gaps", options->real_gaps}};
    return run_session(options->session, request.value(),
                       [&](const Daemon& daemon, const std::string& id, int ended) {
                         return write_copies(options->copies, daemon, id, ended);
                       });
  };
}

}  // namespace

const Verb kVerifyVerb = {
    "verify", "recorded cases, replayed against one service alone",
    "  filibuster verify cases/                  # all cases of the folder\n"
    "  filibuster verify cases/ --case 9a1c2b3d4e5f\n"
    "  filibuster verify cases/ --update         # accepts what differs\n"
    "\nThe service is started alone, and what it calls is answered from the cases. Exit status: 0 all cases pass,\n"
    "1 some differ, 2 usage, configuration or a bad file, 3 no conclusion, environment or interrupted.\n",
    "", declare_verify};

}  // namespace filibuster::cli
