#include "daemon/api/session_request.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/index/index_parts.h"
#include "core/text/json_depth.h"
#include "daemon/api/replayed_commands.h"
#include "daemon/lane/application.h"
#include "daemon/model/counterexample.h"
#include "daemon/process/session_lane.h"
#include "daemon/redact/config_secrets.h"
#include "daemon/report/counterexample_json.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr double kLongestSilence = 3600;        // seconds
constexpr uintmax_t kLargestConfig = 16 << 20;  // bytes

struct ModeRow {
  const char* name;
  SessionRequest::Verb verb;
};
constexpr ModeRow kModes[] = {{"run", SessionRequest::Verb::kRun},
                              {"replay", SessionRequest::Verb::kReplay},
                              {"trace", SessionRequest::Verb::kTrace},
                              {"lint", SessionRequest::Verb::kLint},
                              {"suite", SessionRequest::Verb::kSuite}};

// `--fault`: one rule for every RPC takes the place of all rules of the configuration.
void override_faults(const std::vector<std::string>& faults, ParsedRequest* out) {
  if (faults.empty()) return;
  FaultRule rule;
  for (const std::string& text : faults) {
    auto fault = parse_fault_text(text);
    if (!fault) {
      out->errors.push_back({"", 0, 0, "--fault " + text + ": " + fault.error().message});
    } else if (std::find(rule.inject.begin(), rule.inject.end(), fault.value()) ==
               rule.inject.end()) {
      rule.inject.push_back(std::move(fault).value());
    }
  }
  const size_t replaced = out->request.config.faults.size();
  if (replaced > 0) {
    out->request.remarks.push_back(
        "--fault takes the place of " +
        (replaced == 1 ? std::string("the rule") : "the " + std::to_string(replaced) + " rules") +
        " in 'faults' of " + out->request.config.path);
  }
  out->request.config.faults = {std::move(rule)};
}

// Options of the command line take precedence over the configuration. A bound of 0 means 'not given'.
void apply_overrides(const Json& overrides, ParsedRequest* out) {
  Config* config = &out->request.config;
  if (const Json reduce = overrides.value("reduce", Json()); !reduce.is_null()) {
    const std::string name =
        reduce.is_boolean() ? (reduce.get<bool>() ? "sound" : "off") : reduce.get<std::string>();
    if (const auto known = parse_reduction(name)) {
      config->reduce = *known;
    } else {
      out->errors.push_back({"", 0, 0, "--reduce " + name + ": expected " + reduction_names()});
    }
  }
  config->fast_timeouts = overrides.value("fast_timeouts", config->fast_timeouts);
  if (const Json wanted = overrides.value("snapshots", Json()); wanted.is_boolean())
    config->snapshots = wanted.get<bool>() ? Snapshots::kAlways : Snapshots::kNever;
  config->resets = overrides.value("resets", config->resets);
  BoundsConfig& bounds = config->bounds;
  bounds.stop_at_first = overrides.value("stop_at_first", false) || bounds.stop_at_first;
  if (const auto most = overrides.value("max_executions", uint64_t{0}); most != 0) {
    bounds.max_executions = most;
  }
  if (const auto most = overrides.value("max_faults", 0u); most != 0) bounds.max_faults = most;
  if (const auto times = overrides.value("reference_executions", 0u); times != 0) {
    bounds.reference_executions = std::min(times, 100u);
  }
  if (const auto time = overrides.value("max_time", std::string()); !time.empty()) {
    if (const auto known = parse_duration_text(time); !known) {
      out->errors.push_back({"", 0, 0, "--max-time: " + known.error().message});
    } else if (known.value().count() == 0) {
      out->errors.push_back({"", 0, 0, "--max-time " + time + ": expected more than nothing"});
    } else {
      bounds.max_time = known.value();
    }
  }
  if (const auto path = overrides.value("baseline", std::string()); !path.empty())
    config->baseline = path;
  const Json parts = overrides.value("index", Json::object());
  for (const IndexPartName& row : kIndexPartNames) {
    if (!parts.contains(row.name)) continue;
    if (parts.at(row.name).get<bool>()) {
      config->index_parts |= row.bit;
    } else {
      config->index_parts &= ~row.bit;
    }
  }
}

void read_lint_options(const Json& json, ParsedRequest* out) {
  lint::Options& options = out->request.lint;
  options.probe = json.value("probes", true);
  options.max_probes = json.value("max_probes", uint64_t{0});
  const double silence = json.value("silence_seconds", 0.0);
  if (silence < 0 || silence > kLongestSilence) {
    out->errors.push_back({"", 0, 0,
                           "--silence: expected seconds, at most " +
                               std::to_string(static_cast<int>(kLongestSilence))});
  } else {
    options.silence = std::chrono::milliseconds(static_cast<int64_t>(std::ceil(silence * 1000)));
  }
  const auto severity = json.value("severity", "note");
  if (const auto least = lint::parse_severity(severity)) {
    options.least = *least;
  } else {
    out->errors.push_back(
        {"", 0, 0, "--severity " + severity + ": expected note, warning or error"});
  }
  for (const auto& name : json.value("without", std::vector<std::string>())) {
    if (const lint::LintRow* row = lint::find_lint(name)) {
      options.without.insert(row->lint);
      continue;
    }
    std::string known;
    for (const lint::LintRow& row : lint::lints())
      known += (known.empty() ? "" : ", ") + std::string(row.name);
    out->errors.push_back({"", 0, 0, "there is no lint '" + name + "' (lints: " + known + ")"});
  }
}

void read_suite_options(const Json& json, ParsedRequest* out) {
  SuiteOptions& options = out->request.suite;
  const auto fail = [&](const std::string& text) { out->errors.push_back({"", 0, 0, text}); };
  if (auto metric = retries::parse_metric(json.value("coverage", "C4"))) {
    options.metric = metric.value();
  } else {
    fail("--coverage: " + metric.error().message);
  }
  auto policies = retries::choose_policies(retries::all_policies(out->request.config.retries),
                                           json.value("policies", ""));
  if (policies) {
    options.policies = std::move(policies).value();
  } else {
    fail("--policy: " + policies.error().message);
  }
  options.estimate = json.value("estimate", false);
  options.write_plan = json.value("write_plan", "");
  if (!json.contains("plan")) return;
  if (auto plan = retries::parse_plan(json.at("plan").get<std::string>())) {
    options.plan = std::move(plan).value();
  } else {
    fail("--plan: " + plan.error().message);
  }
}

void load_descriptors(ParsedRequest* out) {
  const Config& config = out->request.config;
  if (config.descriptors.empty()) return;
  auto descriptors = std::make_shared<DescriptorSet>();
  for (const DescriptorFile& file : config.descriptors) {
    if (auto added = descriptors->add(file.path); !added) {
      out->errors.push_back(
          {config.path, file.line, file.column, "'descriptors': " + added.error().message});
    }
  }
  out->request.descriptors = std::move(descriptors);
}

// What only a run has: the baseline, the day, and what has changed.
void read_run_options(const Json& json, ParsedRequest* out) {
  SessionRequest& request = out->request;
  const std::string pretended = json.value("day", "");
  if (!pretended.empty() && !is_date(pretended)) {
    out->errors.push_back({"", 0, 0, "FILIBUSTER_TODAY: expected a day such as 2026-12-31"});
  }
  request.day = today(pretended);
  request.changed_files = json.value("changed_files", std::vector<std::string>());
  if (request.config.baseline.empty()) return;
  ParsedBaseline parsed = read_baseline(request.config.baseline);
  out->errors.insert(out->errors.end(), parsed.errors.begin(), parsed.errors.end());
  request.baseline = std::move(parsed.baseline);
}

void choose_tests(const std::vector<std::string>& names, ParsedRequest* out) {
  const Config& config = out->request.config;
  const std::string file = config.path;
  // The tests of a suite are not known before the session lists them, so the session checks the names.
  if (std::any_of(config.tests.begin(), config.tests.end(),
                  [](const TestConfig& test) { return test.suite.has_value(); })) {
    out->request.tests = config.tests;
    out->request.only = names;
    return;
  }
  std::string known;
  for (const TestConfig& test : config.tests) known += (known.empty() ? "" : ", ") + test.name;
  for (const std::string& name : names) {
    const auto is_it = [&](const TestConfig& test) { return test.name == name; };
    const auto found = std::find_if(config.tests.begin(), config.tests.end(), is_it);
    if (found == config.tests.end()) {
      out->errors.push_back({file, 0, 0, "there is no test '" + name + "' (tests: " + known + ")"});
    } else {
      out->request.tests.push_back(*found);
    }
  }
  if (names.empty()) out->request.tests = config.tests;
  if (out->request.tests.empty() && out->errors.empty()) {
    out->errors.push_back({file, 0, 0, "there is no test: expected `tests` with at least one"});
  }
}

// Reads a configuration that a counterexample names. A counterexample from somebody else may name a
// device or a pipe, which could be read without end: only regular files are read.
Result<std::string> read_named_config(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return Error{path + " is not a regular file"};
  const uintmax_t size = fs::file_size(path, failed);
  if (failed || size == 0 || size > kLargestConfig)
    return Error{path + " is empty, or larger than a configuration can be"};
  return read_file(path);
}

// A counterexample leaves secrets out. They are taken from the configuration's file. False: some are
// not there.
bool restore_secrets(const std::string& config_path, const std::string& directory,
                     std::string* text, ParsedRequest* out) {
  // The path is relative to where the exploration was started. `directory` is the folder of the file.
  const auto name = fs::path(config_path).filename();
  const std::string file = (fs::path(directory) / name).string();
  const auto now = config_path.empty() ? Result<std::string>("") : read_named_config(file);
  RestoredConfig restored = restore_config(*text, now.ok() ? now.value() : "");
  *text = std::move(restored.text);
  for (const std::string& what : restored.missing) {
    const std::string why =
        config_path.empty()
            ? std::string(
                  "its exploration had no configuration file to take it from: write "
                  "one, or name a variable of the environment in the command ($TOKEN)")
        : now.ok()
            ? file + " has nothing that fits: put it there" +
                  std::string(
                      what.starts_with("variable") ? ", or into the environment of the replay" : "")
            : file + " cannot be read, and its value would be taken from there: put that file back";
    out->errors.push_back(
        {"", 0, 0, "the counterexample leaves out " + what + ", which holds a secret, and " + why});
  }
  return restored.missing.empty();
}

// A counterexample that does not lie in this ROOT may execute only what the user's own configuration
// names, unless the request says `trusted`.
bool is_allowed(const Json& request, const std::string& text, const std::string& test,
                ParsedRequest* out) {
  if (request.value("trusted", false)) return true;
  const std::string file = request.value("own_config", "");
  const auto own = file.empty() ? Result<std::string>("") : read_file(file);
  const auto unnamed = unnamed_commands(text, test, own.ok() ? own.value() : "");
  if (unnamed.empty()) return true;
  std::string message =
      file.empty()
          ? "the counterexample does not lie in the root of this session, and no configuration of "
            "yours at, above or below this directory has the commands that it executes"
          : "the counterexample does not lie in the root of this session, and executes commands that " +
                file + " does not have";
  message += ". Read them, and add --trust to execute them:";
  for (const std::string& what : unnamed) message += "\n  " + what;
  out->errors.push_back({"", 0, 0, message});
  return false;
}

}  // namespace

ParsedRequest parse_session_request(const std::string& body) {
  using Verb = SessionRequest::Verb;
  ParsedRequest out;
  SessionRequest& request = out.request;
  if (is_nested_too_deep(body)) {
    out.errors.push_back({"", 0, 0, "the request is not valid: it is nested too deep"});
    return out;
  }
  try {
    const Json json = Json::parse(body);
    const std::string mode = json.value("mode", "run");
    const auto* const row = std::find_if(std::begin(kModes), std::end(kModes),
                                         [&](const ModeRow& each) { return each.name == mode; });
    if (row == std::end(kModes)) {
      out.errors.push_back(
          {"", 0, 0, "mode '" + mode + "': expected run, replay, trace, lint or suite"});
      return out;
    }
    request.verb = row->verb;
    std::string path = json.value("config_path", "");
    std::string text = json.value("config_text", "");
    std::string directory = json.value("directory", "");
    auto tests = json.value("tests", std::vector<std::string>());
    uint32_t index_parts = kIndexAll;
    uint32_t hang_limit_ms = 0;
    std::optional<std::vector<NondeterminismRule>> nondeterminism;
    if (request.verb == Verb::kReplay) {
      const auto parsed = parse_counterexample(json.value("counterexample", Json::object()).dump());
      if (!parsed) {
        out.errors.push_back({"", 0, 0, parsed.error().message});
        return out;
      }
      const Counterexample& example = parsed.value();
      request.faults = example.faults;
      request.found_as = example.verdict;
      if (text.empty()) text = example.config_text;
      if (path.empty()) path = example.config_path;
      if (directory.empty()) directory = example.directory;
      if (is_nested_too_deep(text)) {
        out.errors.push_back({"", 0, 0, "counterexample: its config_text is nested too deep"});
        return out;
      }
      if (!restore_secrets(path, directory, &text, &out)) return out;
      if (!is_allowed(json, text, example.test, &out)) return out;
      tests = {example.test};
      index_parts = example.index_parts;
      request.learnt_descriptors = example.descriptors;
      request.ports = example.ports;
      hang_limit_ms = example.hang_limit_ms;
      if (!example.nondeterminism.empty()) {
        auto masks = parse_nondeterminism(example.nondeterminism, true);
        if (!masks) {
          out.errors.push_back({"", 0, 0, "counterexample: " + masks.error().message});
          return out;
        }
        nondeterminism = std::move(masks).value();
      }
    }
    ParsedConfig parsed = parse_config(text, path, directory);
    if (!parsed.errors.empty()) {
      out.errors = std::move(parsed.errors);
      return out;
    }
    request.config = std::move(parsed.config);
    request.config.application = application_name(json.value("application", ""));
    if (request.config.application.empty())
      request.config.application = application_of(request.config.directory);
    // `--descriptors` beside a configuration adds to its own.
    const Json more = json.value("overrides", Json::object()).value("descriptors", Json::array());
    for (const auto& file : more.get<std::vector<std::string>>())
      request.config.descriptors.push_back({file, 0, 0});
    load_descriptors(&out);
    if (request.verb == Verb::kReplay) {
      request.config.index_parts = index_parts;
      // A replay has no execution without faults, from whose length the limit would follow.
      auto& limit = request.config.bounds.hang_limit;
      if (!limit && hang_limit_ms != 0) limit = std::chrono::milliseconds(hang_limit_ms);
      if (nondeterminism) request.config.nondeterminism = std::move(*nondeterminism);
    }
    request.config_text = text;
    request.restart = json.value("restart", false);
    request.coverage = json.value("coverage", false);
    request.allow_untested = json.value("allow_untested", false);
    request.profile = json.value("profile", false);
    request.follow = request.verb == Verb::kTrace && json.value("follow", false);
    request.lanes = std::min(json.value("lanes", 1u), 256u);
    if (request.coverage && request.verb != Verb::kRun) {
      out.errors.push_back({"", 0, 0, "coverage is measured by a run only"});
    }
    const auto representation = json.value("representation", "compact");
    if (const auto known = parse_representation(representation)) {
      request.representation = *known;
    } else {
      out.errors.push_back(
          {"", 0, 0,
           "--representation " + representation + ": expected debugging, verbose or compact"});
    }
    request.client_pid = json.value("client_pid", 0);
    request.client_start_time = json.value("client_start_time", uint64_t{0});
    const Json overrides = json.value("overrides", Json::object());
    apply_overrides(overrides, &out);
    override_faults(overrides.value("faults", std::vector<std::string>()), &out);
    request.working_directory = json.value("working_directory", request.config.directory);
    request.command_line = json.value("command_line", "");
    if (request.verb == Verb::kRun) read_run_options(json, &out);
    if (request.verb == Verb::kLint) read_lint_options(json.value("lint", Json::object()), &out);
    if (request.verb == Verb::kSuite) read_suite_options(json.value("suite", Json::object()), &out);
    // What is followed is nobody's test.
    if (request.follow) {
      request.tests.emplace_back();
      request.tests.back().name = "follow";
    } else {
      choose_tests(tests, &out);
    }
  } catch (const Json::exception& error) {
    out.errors.push_back({"", 0, 0, std::string("the request is not valid: ") + error.what()});
  }
  return out;
}

}  // namespace filibuster
