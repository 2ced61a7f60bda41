#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/session.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

struct LintOptions {
  SessionOptions session;
  std::string format = "text";
  bool no_probes = false;
  double silence = 0;  // seconds; 0: the session's hang limit
  uint64_t max_probes = 0;
  std::string severity = "note";
  std::vector<std::string> without;
};

nlohmann::ordered_json lint_member(const LintOptions& options) {
  return {{"probes", !options.no_probes},
          {"silence_seconds", options.silence},
          {"max_probes", options.max_probes},
          {"severity", options.severity},
          {"without", options.without}};
}

int print_document(const Daemon& daemon, const std::string& id, const std::string& format,
                   int code) {
  const Result<Answer> answer =
      daemon.client().get("/v1/sessions/" + id + "/report?format=" + format);
  if (!answer) return complain(kEnvironment, "the daemon: " + answer.error().message);
  if (answer->status != 200)
    return complain(kEnvironment, "the daemon has no report: " + answer->body);
  std::fwrite(answer->body.data(), 1, answer->body.size(), stdout);
  return code;
}

Work declare_lint(CLI::App& app) {
  auto options = std::make_shared<LintOptions>();
  declare_source_options(app, &options->session);
  app.add_option("--format", options->format, "text, json or sarif, on standard output")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json", "sarif"}))
      ->capture_default_str();
  app.add_flag("--no-probes", options->no_probes,
               "only one execution without faults; timeouts and retries are not looked at");
  app.add_option("--silence", options->silence,
                 "how long a silent service is waited for before a caller counts as one without a "
                 "timeout (default: the hang limit of the session, at least 6)")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  app.add_option("--max-probes", options->max_probes, "at most N executions with faults for a test")
      ->type_name("N");
  app.add_option("--severity", options->severity,
                 "only findings of this level or worse: note, warning or error")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"note", "warning", "error"}))
      ->capture_default_str();
  app.add_option("--without", options->without, "leave out the findings of this lint (repeatable)")
      ->type_name("LINT")
      ->allow_extra_args(false);
  return [options](const Invocation& invocation) {
    SessionOptions& session = options->session;
    session.has_command = invocation.has_command;
    session.command_line.command = invocation.command;
    session.document = options->format != "text";
    if (session.document && session.json)
      return complain(kUsage,
                      "--json and --format " + options->format + " both want standard output");
    auto request = session_request("lint", session, this_client());
    if (!request) return complain(kUsage, request.error().message);
    request.value()["lint"] = lint_member(*options);
    if (!session.document) return run_session(session, request.value());
    return run_session(session, request.value(),
                       [&](const Daemon& daemon, const std::string& id, int code) {
                         return print_document(daemon, id, options->format, code);
                       });
  };
}

}  // namespace

const Verb kLintVerb = {
    "lint",
    "what the calls of the application look like: redundant, chained, without a timeout, ...",
    "  filibuster lint                                  # filibuster.json in this directory\n"
    "  filibuster lint --format sarif > filibuster.sarif\n"
    "  filibuster lint --no-probes --severity warning -c shop.json --test checkout\n"
    "\nLints: no-timeout, retry-without-backoff, n-plus-one, redundant-rpc,\n"
    "redundant-across-services, call-chain, unknown-cause, forwarded-response (docs/lint.md).\n"
    "\nExit status: 0 nothing found, 1 findings, 2 usage or configuration, 3 environment or\n"
    "interrupted; filibuster(1) has the table.\n",
    "[-- TEST [ARG...]]", declare_lint};

}  // namespace filibuster::cli
