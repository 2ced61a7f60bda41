#include <unistd.h>

#include <CLI/App.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/analysis/documents.h"
#include "cli/configuration.h"
#include "cli/copies.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "cli/watched_files.h"
#include "daemon/config/config.h"

namespace filibuster::cli {
namespace {

struct PrincipledOptions {
  SessionOptions session;
  Copy copies[2] = {{"junit", ""}, {"sarif", ""}};
  bool keep_going = false, watch = false;
};

// What the OpenAPI documents of the configuration's services describe. Error: a document that cannot be read. What is wrong with the
// configuration itself is the daemon's to say.
Result<nlohmann::ordered_json> described_operations(const nlohmann::ordered_json& request) {
  auto out = nlohmann::ordered_json::array();
  const ParsedConfig parsed =
      parse_config(request.value("config_text", ""), "", request.value("directory", ""));
  for (const ServiceConfig& service : parsed.config.services) {
    for (const std::string& path : service.openapi) {
      const auto text = read_file(path);
      if (!text) return text.error();
      const auto document = analysis::read_openapi(path, text.value());
      if (!document) return document.error();
      for (const analysis::Endpoint& each : document->endpoints)
        out.push_back({{"service", service.name}, {"method", each.method}, {"path", each.path}});
    }
  }
  return out;
}

Work declare_principled(CLI::App& app) {
  auto options = std::make_shared<PrincipledOptions>();
  SessionOptions* const session = &options->session;
  declare_source_options(app, session);
  declare_index_options(app, session);
  app.add_option(
         "--fault", session->command_line.faults,
         "inject this at every call in place of the default set (repeatable): grpc:UNAVAILABLE, status:503, "
         "reset, timeout, latency:300ms, ...")
      ->type_name("FAULT")
      ->allow_extra_args(false);
  app.add_flag(
      "--keep-going", options->keep_going,
      "go on after the first execution that the test says nothing of, or something that is not so");
  declare_bound_options(app, session);
  app.add_option("--max-time", session->max_time,
                 "begin no execution after this time (90s, 10m, 1h)")
      ->type_name("TIME");
  app.add_option("--junit", options->copies[0].file, "write JUnit XML here")->type_name("FILE");
  app.add_option("--sarif", options->copies[1].file, "write SARIF here")->type_name("FILE");
  app.add_flag("--real-timeouts", session->real_timeouts,
               "really wait where a timeout is injected");
  app.add_flag(
      "--watch", options->watch,
      "run again whenever a file of the configuration's folder, or a program that it names, has changed, until Ctrl-C");
  app.add_flag(
      "--in-runner", session->in_runner,
      "for the helpers of test runners: prints what begins and ends as JSON lines, and nothing else");
  return [options, session](const Invocation& invocation) {
    // With a configuration, the command takes the place of its tests.
    const bool is_configured =
        !session->config_file.empty() ||
        (session->command_line.services.empty() && access("filibuster.json", F_OK) == 0);
    session->has_command = invocation.has_command && !is_configured;
    if (session->has_command) session->command_line.command = invocation.command;
    std::optional<WatchedFiles> files;
    while (true) {
      auto request = session_request("principled", *session, this_client());
      if (!request) return complain(kUsage, request.error().message);
      auto operations = described_operations(request.value());
      if (!operations) return complain(kUsage, operations.error().message);
      request.value()["principled"] = {{"keep_going", options->keep_going},
                                       {"watched", options->watch},
                                       {"operations", std::move(operations).value()}};
      if (invocation.has_command && is_configured)
        request.value()["principled"]["command"] = invocation.command;
      const std::string folder = request.value()["directory"].get<std::string>();
      // Before the session, so that what changes meanwhile makes it run again, too.
      if (options->watch && !files) files.emplace(folder, session->root);
      if (files) files->begin_run(request.value()["config_text"].get<std::string>());
      const int code = run_session(*session, request.value(),
                                   [&](const Daemon& daemon, const std::string& id, int ended) {
                                     return write_copies(options->copies, daemon, id, ended);
                                   });
      if (!files || is_interrupted()) return code;
      for (const std::string& product : files->end_run())
        std::fprintf(
            stderr,
            "%s changes in each run: it is taken for what the run itself writes, and makes it run again "
            "no longer, unless it changes between runs\n",
            product.c_str());
      std::fprintf(stderr, "waiting for a change in %s%s (Ctrl-C ends it)\n", folder.c_str(),
                   files->has_all() ? "" : ", of whose files some are not watched");
      const std::string changed = files->wait(is_interrupted);
      if (changed.empty()) return code;
      std::fprintf(stderr, "%s has changed\n", changed.c_str());
    }
  };
}

}  // namespace

const Verb kPrincipledVerb = {
    "principled",
    "a structured test of one service: what it does under each fault has to be stated",
    "  filibuster principled                             # the structured tests of filibuster.json\n"
    "  filibuster principled --test purchase --fault grpc:UNAVAILABLE\n"
    "  filibuster principled -c order.json -- python3 -m pytest -p filibuster_principled test_order.py\n"
    "\nIt stops at the first fault of which the test says nothing, or something that is not so, and says what\n"
    "can be written. Exit status: 0 all that is stated holds, 1 a diagnostic, 2 usage or configuration,\n"
    "3 environment or interrupted, 4 the bound of --max-time or --max-executions was reached before.\n",
    "[-- PROGRAM [ARG...]]", declare_principled};

}  // namespace filibuster::cli
