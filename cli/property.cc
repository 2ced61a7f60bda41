#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/session.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

struct PropertyOptions {
  SessionOptions session;
  uint64_t seed = 0, tests = 100, clients = 0, repetitions = 0, schedules = 0;
  bool has_seed = false;
  std::string info = "fail";
};

Work declare_property(CLI::App& app) {
  auto options = std::make_shared<PropertyOptions>();
  declare_source_options(app, &options->session);
  CLI::Option* const seed = app.add_option("--seed", options->seed,
                                           "of the first program (default: another one each time)")
                                ->type_name("N");
  app.add_option("--tests", options->tests, "execute at most N programs")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  CLI::Option* const clients =
      app.add_option("--clients", options->clients,
                     "so many clients ask at the same time (default: as the configuration says)")
          ->type_name("N")
          ->check(CLI::Range(1, 5));
  CLI::Option* const repetitions =
      app.add_option("--repetitions", options->repetitions,
                     "of a program of several clients (default: as the configuration says)")
          ->type_name("N")
          ->check(CLI::Range(1, 1000));
  CLI::Option* const schedules =
      app.add_option(
             "--schedules", options->schedules,
             "so often an execution stops a command before a call, while another one goes on "
             "(default: as the configuration says)")
          ->type_name("N")
          ->check(CLI::Range(0, 2));
  app.add_option("--max-time", options->session.max_time,
                 "begin no program after this time (90s, 10m, 1h)")
      ->type_name("TIME");
  app.add_option(
         "--info", options->info,
         "a command whose outcome nobody knows violates the property (fail), or ends its program (end)")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"fail", "end"}))
      ->capture_default_str();
  return [options, seed, clients, repetitions, schedules](const Invocation&) {
    auto request = session_request("property", options->session, this_client());
    if (!request) return complain(kUsage, request.error().message);
    if (seed->count() == 0) options->seed = std::random_device()();
    request.value()["property"] = {
        {"seed", options->seed}, {"tests", options->tests}, {"info", options->info}};
    if (clients->count() > 0) request.value()["property"]["clients"] = options->clients;
    if (repetitions->count() > 0) request.value()["property"]["repetitions"] = options->repetitions;
    if (schedules->count() > 0) request.value()["property"]["schedules"] = options->schedules;
    return run_session(options->session, request.value());
  };
}

}  // namespace

const Verb kPropertyVerb = {
    "property", "programs of commands and faults at random, compared with a model",
    "  filibuster property                      # the tests with 'property' of filibuster.json\n"
    "  filibuster property --seed 7 --tests 1000\n"
    "\nThe first program that violates the property is shrunk and replayed. Exit status: 0 no violation, 1 a\n"
    "violation, 2 usage or configuration, 3 environment or interrupted, 4 the time of --max-time was over.\n",
    "", declare_property};

}  // namespace filibuster::cli
