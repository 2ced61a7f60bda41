#include "daemon/api/session_request.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/text/json_depth.h"
#include "daemon/report/counterexample_json.h"
#include "daemon/verbs/lint/request.h"
#include "daemon/verbs/replay/replayed_commands.h"
#include "daemon/verbs/replay/request.h"
#include "daemon/verbs/run/request.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;

constexpr char kConfig[] = R"({"version": 1,
  "services": [{"name": "users", "command": "./users"}],
  "tests": [{"name": "one", "command": "./one"}, {"name": "two", "command": "./two"}]})";

Json request() {
  return {
      {"mode", "run"}, {"config_path", "f.json"}, {"config_text", kConfig}, {"directory", "/d"}};
}

TEST(SessionRequestTest, TakesTheConfigurationAndAllItsTests) {
  const auto parsed = parse_session_request(request().dump());
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  EXPECT_EQ(parsed.request.tests.size(), 2u);
  EXPECT_TRUE(parsed.request.verb == &run_verb());
  EXPECT_EQ(parsed.request.config.reduce, Reduction::kSound);
}

TEST(SessionRequestTest, TakesOnlyTheNamedTests) {
  Json json = request();
  json["tests"] = {"two"};
  const auto parsed = parse_session_request(json.dump());
  ASSERT_EQ(parsed.request.tests.size(), 1u);
  EXPECT_EQ(parsed.request.tests[0].name, "two");
}

TEST(SessionRequestTest, ATestThatIsNotThereIsAnError) {
  Json json = request();
  json["tests"] = {"three"};
  const auto parsed = parse_session_request(json.dump());
  ASSERT_EQ(parsed.errors.size(), 1u);
  EXPECT_NE(parsed.errors[0].message.find("one, two"), std::string::npos);
}

TEST(SessionRequestTest, OverridesReplaceWhatTheyName) {
  Json json = request();
  json["overrides"] = {{"reduce", false},
                       {"max_executions", 7},
                       {"stop_at_first", true},
                       {"index", {{"stack", false}}}};
  const Config config = parse_session_request(json.dump()).request.config;
  EXPECT_EQ(config.reduce, Reduction::kOff);
  EXPECT_EQ(config.bounds.max_executions, 7u);
  EXPECT_TRUE(config.bounds.stop_at_first);
  EXPECT_TRUE(config.fast_timeouts);
  EXPECT_EQ(config.index_parts, kIndexAll & ~kIndexStack);
}

TEST(SessionRequestTest, TheReductionIsNamed) {
  Json json = request();
  json["overrides"] = {{"reduce", "published"}};
  EXPECT_EQ(parse_session_request(json.dump()).request.config.reduce, Reduction::kPublished);
  json["overrides"] = {{"reduce", "some"}};
  const auto parsed = parse_session_request(json.dump());
  ASSERT_EQ(parsed.errors.size(), 1u);
  EXPECT_EQ(parsed.errors[0].message, "--reduce some: expected 'sound', 'published' or 'off'");
}

TEST(SessionRequestTest, FaultsReplaceTheRulesOfTheFile) {
  Json json = request();
  json["overrides"] = {{"faults", {"503", "reset:after", "status:503"}}};
  const Config config = parse_session_request(json.dump()).request.config;
  ASSERT_EQ(config.faults.size(), 1u);
  EXPECT_EQ(describe_faults(config).front(), "all RPCs: status:503, reset:after");
  json["overrides"] = {{"faults", {"503", "teapot"}}};
  const auto parsed = parse_session_request(json.dump());
  ASSERT_EQ(parsed.errors.size(), 1u);
  EXPECT_NE(parsed.errors[0].message.find("--fault teapot"), std::string::npos);
}

TEST(SessionRequestTest, AConfigurationThatIsNotValidIsReportedWithItsPosition) {
  Json json = request();
  json["config_text"] = "{\"version\": 1,\n  \"nonsense\": 2}";
  const auto parsed = parse_session_request(json.dump());
  ASSERT_FALSE(parsed.errors.empty());
  EXPECT_EQ(parsed.errors[0].file, "f.json");
  EXPECT_GT(parsed.errors[0].line, 0);
}

TEST(SessionRequestTest, ALintTakesItsOptions) {
  Json json = request();
  json["mode"] = "lint";
  json["lint"] = {{"probes", false},
                  {"silence_seconds", 0.25},
                  {"max_probes", 9},
                  {"severity", "warning"},
                  {"without", {"call-chain"}}};
  const auto parsed = parse_session_request(json.dump());
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  const lint::Options& options = parsed.request.own_as<LintRequest>().options;
  EXPECT_TRUE(parsed.request.verb == &lint_verb());
  EXPECT_FALSE(options.probe);
  EXPECT_EQ(options.silence.count(), 250);
  EXPECT_EQ(options.max_probes, 9u);
  EXPECT_EQ(options.least, lint::Severity::kWarning);
  EXPECT_TRUE(options.without.contains(lint::Lint::kCallChain));
}

TEST(SessionRequestTest, ALintThatIsNotThereIsAnErrorThatNamesThem) {
  for (const Json& wrong : {Json{{"without", {"no-such"}}}, Json{{"severity", "fatal"}},
                            Json{{"silence_seconds", -1}}, Json{{"probes", "yes"}}}) {
    Json json = request();
    json["mode"] = "lint";
    json["lint"] = wrong;
    EXPECT_EQ(parse_session_request(json.dump()).errors.size(), 1u) << wrong;
  }
}

TEST(SessionRequestTest, GarbageIsAnErrorAndNothingElse) {
  for (const char* body : {"", "{", "[]", "7", "{\"mode\": 3}", "{\"mode\": \"dance\"}",
                           "{\"mode\":\"replay\",\"counterexample\":{}}"}) {
    EXPECT_FALSE(parse_session_request(body).errors.empty()) << body;
  }
}

TEST(SessionRequestTest, AReplayTakesWhatItNeedsFromTheCounterexample) {
  Counterexample example;
  example.test = "two";
  example.config_text = kConfig;
  example.config_path = "old.json";
  example.directory = "/old";
  InjectedFault fault;
  fault.fault = "refused";
  fault.index = Hash128{1, 2};
  example.faults = {fault};
  example.index_parts = kIndexAll & ~kIndexPayload;
  example.ports = {{"users", 21034}};
  example.hang_limit_ms = 6000;
  const Json json{
      {"mode", "replay"}, {"trusted", true}, {"counterexample", Json::parse(to_json(example))}};
  const auto parsed = parse_session_request(json.dump());
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  ASSERT_EQ(parsed.request.tests.size(), 1u);
  EXPECT_EQ(parsed.request.tests[0].name, "two");
  ASSERT_EQ(parsed.request.own_as<ReplayRequest>().faults.size(), 1u);
  EXPECT_EQ(parsed.request.own_as<ReplayRequest>().faults[0].index, (Hash128{1, 2}));
  EXPECT_EQ(parsed.request.config.index_parts, kIndexAll & ~kIndexPayload);
  EXPECT_EQ(parsed.request.ports, (PortMap{{"users", 21034}}));
  EXPECT_EQ(parsed.request.config.bounds.hang_limit, std::chrono::milliseconds(6000));
}

TEST(SessionRequestTest, AReplayOfACounterexampleFromElsewhereIsRefusedWithItsCommands) {
  Counterexample example;
  example.test = "two";
  example.config_text = kConfig;
  const Json json{{"mode", "replay"}, {"counterexample", Json::parse(to_json(example))}};
  const auto parsed = parse_session_request(json.dump());
  ASSERT_EQ(parsed.errors.size(), 1u);
  EXPECT_NE(parsed.errors[0].message.find("./two"), std::string::npos);
  EXPECT_EQ(parsed.errors[0].message.find("./one"), std::string::npos) << "that test does not run";
  EXPECT_NE(parsed.errors[0].message.find("--trust"), std::string::npos);
}

TEST(SessionRequestTest, AReplayReadsNoFileThatCannotBeAConfiguration) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name) {
    Counterexample example;
    example.test = "one";
    example.directory = folder.path();
    example.config_path = name;
    example.config_text = R"({"services": [{"name": "a", "env": {"DB_PASSWORD": "a secret"}}]})";
    const Json json{{"mode", "replay"}, {"counterexample", Json::parse(to_json(example))}};
    const auto parsed = parse_session_request(json.dump());
    return parsed.errors.size() == 1 &&
           parsed.errors[0].message.find(name + " cannot be read") != std::string::npos;
  };
  folder.write("empty", "");
  EXPECT_TRUE(refused("empty"));
  std::filesystem::resize_file(folder.write("large", "{}"), (16 << 20) + 1);
  ASSERT_TRUE(refused("large"));
  folder.write("small", "{}");
  EXPECT_FALSE(refused("small"));
  ASSERT_EQ(::mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(refused("pipe"));
  std::filesystem::create_symlink("/dev/zero", folder.path() + "/device");
  EXPECT_TRUE(refused("device"));
}

TEST(UnnamedCommandsTest, WhatTheUsersConfigurationHasToo) {
  const std::string own = R"({"services": [{"name": "a", "command": "./a"}],
      "tests": [{"name": "t", "command": "./t"}, {"name": "u", "command": "./u"}],
      "hooks": {"before_execution": "./reset"}})";
  using Texts = std::vector<std::string>;
  EXPECT_EQ(unnamed_commands(own, "t", own), Texts{});
  const std::string turned = R"({"services": [{"command": "./a", "name": "a"}]})";
  EXPECT_EQ(unnamed_commands(turned, "t", own), Texts{});
  const std::string more = R"({"services": [{"name": "a", "command": "./a", "env": {}}]})";
  EXPECT_EQ(unnamed_commands(more, "t", own),
            Texts{R"(service: {"command":"./a","env":{},"name":"a"})"});
  EXPECT_EQ(unnamed_commands(R"({"tests": [{"name": "u", "command": "x"}]})", "t", own), Texts{});
  EXPECT_EQ(unnamed_commands(R"({"tests": [{"name": "t", "command": "\u001b[2J"}]})", "t", own),
            Texts{R"(test: {"command":"\u001b[2J","name":"t"})"});
  EXPECT_EQ(unnamed_commands(R"({"hooks": {}})", "t", own), Texts{"hooks: {}"});
  EXPECT_EQ(unnamed_commands(own, "t", "").size(), 3u);
  EXPECT_EQ(unnamed_commands("[", "t", own), Texts{});
  EXPECT_EQ(unnamed_commands(R"({"services": 5, "tests": {}})", "t", own), Texts{});
}

TEST(JsonDepthTest, BracketsInTextsDoNotCount) {
  const std::string open(kMaxJsonDepth, '['), close(kMaxJsonDepth, ']');
  EXPECT_FALSE(is_nested_too_deep(open + close));
  EXPECT_TRUE(is_nested_too_deep("{\"a\":" + open));
  EXPECT_FALSE(is_nested_too_deep("[\"\\\"" + open + "\", {}]" + open.substr(1)));
  EXPECT_FALSE(is_nested_too_deep("[\"\\"));
}

TEST(SessionRequestTest, PortsOfACounterexampleAreCheckedAndMayBeAbsent) {
  Counterexample example;
  example.test = "two";
  example.config_text = kConfig;
  Json written = Json::parse(to_json(example));
  const auto problems = [&] {
    return parse_session_request(
               Json{{"mode", "replay"}, {"trusted", true}, {"counterexample", written}}.dump())
        .errors;
  };
  written.erase("ports");  // of an older program
  EXPECT_TRUE(problems().empty());
  for (const Json& wrong :
       {Json::array(), Json{{"users", "21034"}}, Json{{"users", 70000}}, Json{{"users", -1}}}) {
    written["ports"] = wrong;
    ASSERT_EQ(problems().size(), 1u) << wrong;
    EXPECT_NE(problems()[0].message.find("ports"), std::string::npos);
  }
}

}  // namespace
}  // namespace filibuster
