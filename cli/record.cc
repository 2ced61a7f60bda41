#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/session.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

struct RecordOptions {
  SessionOptions session;
  std::string out, duration, most_bytes;
  std::vector<std::string> mocked;
  bool no_admission = false;
  uint32_t most_cases = 1000, sample = 1;
};

// `--service NAME` says which service of the configuration is recorded; with NAME=COMMAND there is no configuration, and the first one is.
Result<std::string> take_service(SessionOptions* session) {
  std::vector<std::string>& given = session->command_line.services;
  if (given.empty())
    return Error{"name the service that is recorded: --service NAME, or --service NAME=COMMAND"};
  const auto is_described = [](const std::string& text) { return text.find('=') != text.npos; };
  const std::string name = given.front().substr(0, given.front().find('='));
  if (std::any_of(given.begin(), given.end(), is_described)) return name;
  if (given.size() > 1) return Error{"--service: one service is recorded at a time"};
  given.clear();
  return name;
}

int record(const std::shared_ptr<RecordOptions>& options, const Invocation& invocation) {
  SessionOptions& session = options->session;
  if (session.follow && invocation.has_command)
    return complain(kUsage, "--follow runs no traffic; leave out the command after '--'");
  const auto service = take_service(&session);
  if (!service) return complain(kUsage, service.error().message);
  // The traffic takes the place of the tests of a configuration, and is the test where there is none.
  const bool is_described = !session.command_line.services.empty();
  if (is_described) {
    session.has_command = invocation.has_command;
    session.command_line.command = invocation.command;
  }
  auto request = session_request("record", session, this_client());
  if (!request) return complain(kUsage, request.error().message);
  std::error_code failed;
  const auto folder = std::filesystem::absolute(options->out, failed).lexically_normal();
  std::string out = folder.string();
  if (out.size() > 1 && out.ends_with('/')) out.pop_back();
  request.value()["record"] = {
      {"service", service.value()},       {"out", failed ? options->out : out},
      {"for", options->duration},         {"admission", !options->no_admission},
      {"max_cases", options->most_cases}, {"sample", options->sample},
      {"max_size", options->most_bytes},  {"mock", options->mocked}};
  if (invocation.has_command) request.value()["record"]["traffic"] = invocation.command;
  return run_session(session, request.value());
}

Work declare_record(CLI::App& app) {
  auto options = std::make_shared<RecordOptions>();
  declare_source_options(app, &options->session);
  app.add_option("--out", options->out, "the folder for the cases; it has no recording yet")
      ->type_name("DIR")
      ->required();
  app.add_option("--for", options->duration, "end the traffic after this time: 30s, 5m")
      ->type_name("TIME");
  app.add_flag("--follow", options->session.follow,
               "run no traffic: record what comes until Ctrl-C, or until --for is over");
  app.add_option("--sample", options->sample, "take one request in N")
      ->type_name("N")
      ->check(CLI::Range(1u, 1'000'000u));
  app.add_option(
         "--max-cases", options->most_cases,
         "keep so many cases (1000): one of each route, sequence of calls and status, and the newest")
      ->type_name("N")
      ->check(CLI::Range(1u, 1'000'000u));
  app.add_option("--max-size", options->most_bytes,
                 "keep no new case once their files have so many bytes: 500K, 64M, 1G")
      ->type_name("SIZE");
  app.add_option("--mock", options->mocked,
                 "record calls to this part of the service ('part_of'), and answer them in replays")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--no-admission", options->no_admission,
               "keep all cases, without replaying them to see which ones pass");
  return [options](const Invocation& invocation) { return record(options, invocation); };
}

}  // namespace

const Verb kRecordVerb = {
    "record", "the requests that a service gets, with its answers and calls, as files of cases",
    "  filibuster record -c shop.json --service orders --out cases -- ./traffic.sh\n"
    "  filibuster record --service orders='./orders --port ${port:orders}' --out cases -- ./test\n"
    "  filibuster record --service orders --out cases --follow --for 5m\n"
    "\n--service NAME is one of the configuration, and the command after '--' takes the place of its\n"
    "tests. With NAME=COMMAND there is no configuration, and the first service is recorded.\n"
    "\nThen the service is started alone, and only cases that replay are kept.\n"
    "\nExit status: 0 cases were recorded, 2 usage or configuration, 3 nothing whole was recorded, no case replays,\n"
    "environment or interrupted; filibuster(1) has the table.\n",
    "[-- TRAFFIC [ARG...]]", declare_record};

}  // namespace filibuster::cli
