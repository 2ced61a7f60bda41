#include "daemon/api/session_request.h"

#include <algorithm>

#include "core/index/index_parts.h"
#include "core/text/json_depth.h"
#include "daemon/lane/application.h"
#include "daemon/lane/virtual_services.h"
#include "daemon/verbs/verbs.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;

// `--fault`: one rule for every RPC takes the place of all rules of the configuration.
void override_faults(const std::vector<std::string>& faults, RequestDraft* out) {
  if (faults.empty()) return;
  FaultRule rule;
  for (const std::string& text : faults) {
    auto fault = parse_fault_text(text);
    if (!fault) {
      out->fail("--fault " + text + ": " + fault.error().message);
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
void apply_overrides(const Json& overrides, RequestDraft* out) {
  Config* config = &out->request.config;
  if (const Json reduce = overrides.value("reduce", Json()); !reduce.is_null()) {
    const std::string name =
        reduce.is_boolean() ? (reduce.get<bool>() ? "sound" : "off") : reduce.get<std::string>();
    if (const auto known = parse_reduction(name)) {
      config->reduce = *known;
    } else {
      out->fail("--reduce " + name + ": expected " + reduction_names());
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
      out->fail("--max-time: " + known.error().message);
    } else if (known.value().count() == 0) {
      out->fail("--max-time " + time + ": expected more than nothing");
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

void load_descriptors(RequestDraft* out) {
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

struct KindWords {
  TestKind kind;
  const char* what;  // a test of it
  const char* verb;  // that runs it
};
constexpr KindWords kKinds[] = {
    {TestKind::kPlain, "a command", "run"},
    {TestKind::kPrincipled, "blocks ('principled')", "principled"},
    {TestKind::kProperty, "a model and a client ('property')", "property"},
};

const KindWords& words_of(TestKind kind) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [&](const KindWords& words) { return words.kind == kind; });
}

// Each verb runs the tests of its kind.
void choose_by_kind(RequestDraft* out) {
  const TestKind kind = out->request.verb->needs().tests;
  Config& config = out->request.config;
  const auto is_other = [&](const TestConfig& test) { return test.kind() != kind; };
  for (const std::string& name : out->tests) {
    const auto found = std::find_if(config.tests.begin(), config.tests.end(),
                                    [&](const TestConfig& test) { return test.name == name; });
    if (found == config.tests.end() || !is_other(*found)) continue;
    out->errors.push_back({config.path, 0, 0,
                           "test '" + name + "' has " + words_of(found->kind()).what +
                               ": run it by `filibuster " + words_of(found->kind()).verb + "`"});
  }
  const bool any = !config.tests.empty();
  const TestKind first = any ? config.tests.front().kind() : kind;
  std::erase_if(config.tests, is_other);
  if (!config.tests.empty() || !out->errors.empty()) return;
  std::string text = std::string("there is no test with ") + words_of(kind).what;
  if (any && first != kind)
    text += std::string("; run the others by `filibuster ") + words_of(first).verb + "`";
  out->errors.push_back({config.path, 0, 0, text});
}

void choose_tests(RequestDraft* out) {
  choose_by_kind(out);
  if (!out->errors.empty()) return;
  const std::vector<std::string>& names = out->tests;
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

}  // namespace

RequestDraft parse_session_request(const std::string& body) {
  RequestDraft out;
  SessionRequest& request = out.request;
  if (is_nested_too_deep(body)) {
    out.fail("the request is not valid: it is nested too deep");
    return out;
  }
  try {
    const Json json = Json::parse(body);
    const std::string mode = json.value("mode", "run");
    const Verb* verb = find_verb(mode);
    if (verb == nullptr) {
      out.fail("mode '" + mode + "': expected " + verb_names());
      return out;
    }
    request.verb = verb;
    out.path = json.value("config_path", "");
    out.text = json.value("config_text", "");
    out.directory = json.value("directory", "");
    out.tests = json.value("tests", std::vector<std::string>());
    verb->begin(json, &out);
    // What is replayed may be another verb's.
    verb = request.verb;
    if (!out.errors.empty()) return out;
    ParsedConfig parsed = parse_config(out.text, out.path, out.directory);
    if (!parsed.errors.empty()) {
      out.errors = std::move(parsed.errors);
      return out;
    }
    request.config = std::move(parsed.config);
    request.config.application = application_name(json.value("application", ""));
    if (request.config.application.empty())
      request.config.application = application_of(request.config.directory);
    // `--descriptors` beside a configuration adds to its own.
    const Json overrides = json.value("overrides", Json::object());
    for (const auto& file : overrides.value("descriptors", std::vector<std::string>()))
      request.config.descriptors.push_back({file, 0, 0});
    load_descriptors(&out);
    if (out.errors.empty()) {
      for (ConfigError& error : check_stubs(request.config, request.descriptors))
        out.errors.push_back(std::move(error));
    }
    verb->configure(&out);
    request.config_text = out.text;
    request.restart = json.value("restart", false);
    request.coverage = json.value("coverage", false);
    request.allow_untested = json.value("allow_untested", false);
    request.lanes = std::min(json.value("lanes", 1u), 256u);
    if (request.coverage && !verb->needs().coverage) out.fail("coverage is measured by a run only");
    request.client_pid = json.value("client_pid", 0);
    request.client_start_time = json.value("client_start_time", uint64_t{0});
    apply_overrides(overrides, &out);
    override_faults(overrides.value("faults", std::vector<std::string>()), &out);
    request.working_directory = json.value("working_directory", request.config.directory);
    request.command_line = json.value("command_line", "");
    verb->read(json, &out);
    // What is watched is nobody's test.
    if (request.watches) {
      request.tests.emplace_back();
      request.tests.back().name = "follow";
    } else {
      choose_tests(&out);
    }
  } catch (const Json::exception& error) {
    out.fail(std::string("the request is not valid: ") + error.what());
  }
  return out;
}

}  // namespace filibuster
