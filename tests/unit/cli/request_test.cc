#include "cli/request.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace filibuster::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

const Client kClient{.pid = 12, .start_time = 345, .directory = "/work", .application = "shop"};

SessionOptions with_command(std::vector<std::string> command) {
  SessionOptions options;
  options.has_command = true;
  options.command_line.command = std::move(command);
  return options;
}

TEST(SessionRequest, ACommandAloneIsAConfigurationOfOneTest) {
  const auto request = session_request("run", with_command({"./a/their_test", "-v"}), kClient);
  ASSERT_TRUE(request.ok()) << request.error().message;
  const OrderedJson& json = request.value();
  EXPECT_EQ(json["mode"], "run");
  EXPECT_EQ(json["client_pid"], 12);
  EXPECT_EQ(json["client_start_time"], 345);
  EXPECT_EQ(json["directory"], "/work");
  EXPECT_EQ(json["application"], "shop");
  EXPECT_EQ(json["config_path"], "");
  EXPECT_EQ(json["tests"], OrderedJson::array());
  EXPECT_EQ(json["restart"], false);
  EXPECT_EQ(json["overrides"], OrderedJson::object());
  EXPECT_EQ(OrderedJson::parse(json["config_text"].get<std::string>()),
            OrderedJson::parse(R"({"version": 1, "services": [],
                "tests": [{"name": "their_test", "command": ["./a/their_test", "-v"]}]})"));
}

TEST(SessionRequest, OnlyWhatIsGivenOverridesTheConfiguration) {
  SessionOptions options = with_command({"t"});
  options.stop_at_first = options.real_timeouts = options.restart = true;
  options.reduce = "off";
  options.max_executions = 9;
  options.max_faults = 2;
  options.index_without = {"payload", "path"};
  options.tests = {"t"};
  const auto request = session_request("run", options, kClient);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request.value()["overrides"],
            OrderedJson::parse(
                R"({"reduce": "off", "max_executions": 9, "max_faults": 2, "stop_at_first": true,
                "fast_timeouts": false, "index": {"payload": false, "path": false}})"));
  EXPECT_EQ(request.value()["restart"], true);
  EXPECT_EQ(request.value()["tests"], OrderedJson::array({"t"}));
}

TEST(SessionRequest, AFileIsSentAsItIsWithItsDirectory) {
  char directory[] = "/tmp/filibuster-request-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string file = std::string(directory) + "/shop.json";
  FILE* const out = std::fopen(file.c_str(), "w");
  ASSERT_NE(out, nullptr);
  std::fputs("{ not even JSON", out);
  std::fclose(out);
  SessionOptions options;
  options.config_file = file;
  const auto request = session_request("trace", options, kClient);
  std::remove(file.c_str());
  rmdir(directory);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request.value()["mode"], "trace");
  EXPECT_EQ(request.value()["config_text"], "{ not even JSON");
  EXPECT_EQ(request.value()["config_path"], file);
  EXPECT_EQ(request.value()["directory"], directory);
}

TEST(SessionRequest, FaultsReplaceTheRulesOfAFile) {
  SessionOptions options;
  options.config_file = "/dev/null";
  options.command_line.faults = {"503", "reset:after"};
  const auto request = session_request("run", options, kClient);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request.value()["overrides"]["faults"],
            OrderedJson::parse(R"(["503", "reset:after"])"));
}

TEST(SessionRequest, ContradictionsAreErrorsOfUsage) {
  SessionOptions both = with_command({"t"});
  both.config_file = "f.json";
  EXPECT_FALSE(session_request("run", both, kClient).ok());
  SessionOptions service;
  service.config_file = "/dev/null";
  EXPECT_TRUE(session_request("run", service, kClient).ok());
  service.command_line.services = {"users=./users"};
  EXPECT_FALSE(session_request("run", service, kClient).ok());
  SessionOptions no_test;
  no_test.command_line.services = {"users=./users"};
  EXPECT_FALSE(session_request("run", no_test, kClient).ok());
  EXPECT_FALSE(session_request("run", with_command({}), kClient).ok());
}

TEST(Configuration, ServicesKeepWhateverTheirCommandsHold) {
  const auto text = configuration_text({.services = {"a=x --y=${port:a} 'q'", "b", "c="},
                                        .ports = {},
                                        .third_parties = {},
                                        .faults = {},
                                        .command = {"t"}});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(
      OrderedJson::parse(text.value())["services"],
      OrderedJson::parse(
          R"([{"name": "a", "command": "x --y=${port:a} 'q'"}, {"name": "b"}, {"name": "c"}])"));
  EXPECT_FALSE(
      configuration_text(
          {.services = {"=x"}, .ports = {}, .third_parties = {}, .faults = {}, .command = {}})
          .ok());
}

TEST(Configuration, WordsOfASuiteArePathsAndThenOptionsOfItsRunner) {
  const auto suites = [](const char* runner, std::vector<std::string> words) -> std::string {
    CommandLineConfiguration line;
    line.runner = runner;
    line.command = std::move(words);
    const auto text = configuration_text(line);
    return text.ok() ? OrderedJson::parse(text.value())["tests"].dump() : text.error().message;
  };
  EXPECT_EQ(suites("mocha", {}), R"([{"runner":"mocha"}])");
  EXPECT_EQ(suites("mocha", {"a", "b"}),
            R"([{"runner":"mocha","path":"a"},{"runner":"mocha","path":"b"}])");
  EXPECT_EQ(suites("mocha", {"test", "--timeout", "5000"}),
            R"([{"runner":"mocha","program":"npx mocha --timeout 5000","path":"test"}])");
  EXPECT_EQ(suites("pytest", {"-k", "not slow"}),
            R"([{"runner":"pytest","program":"pytest -k 'not slow'"}])");
  EXPECT_NE(suites("gtest", {"tests/unit", "--x"}).find("put them into 'program'"),
            std::string::npos);
}

TEST(Configuration, DescriptorsAreNamedAsTheyWere) {
  CommandLineConfiguration line;
  line.command = {"t"};
  EXPECT_FALSE(OrderedJson::parse(configuration_text(line).value()).contains("descriptors"));
  line.descriptors = {"shop.pb"};
  EXPECT_EQ(OrderedJson::parse(configuration_text(line).value())["descriptors"],
            OrderedJson({"shop.pb"}));
}

TEST(Configuration, AServiceMayHaveAFixedPort) {
  const auto services = [](std::vector<std::string> ports) -> std::string {
    const auto text = configuration_text({.services = {"users=./users 8080", "mail"},
                                          .ports = std::move(ports),
                                          .third_parties = {},
                                          .faults = {},
                                          .command = {"t"}});
    return text.ok() ? OrderedJson::parse(text.value())["services"].dump() : text.error().message;
  };
  EXPECT_EQ(services({"users=8080", "mail=25"}),
            R"([{"name":"users","command":"./users 8080","ports":{"users":8080}},)"
            R"({"name":"mail","ports":{"mail":25}}])");
  EXPECT_EQ(services({"movies=80"}), "--port movies=80: there is no --service movies");
  EXPECT_EQ(services({"users=1", "users=2"}), "--port users=2: service 'users' has a port already");
  for (const char* bad : {"users", "users=", "=80", "users=0", "users=65536", "users=80x", "80"})
    EXPECT_NE(services({bad}).find("expected NAME=NUMBER"), std::string::npos) << bad;
}

TEST(Configuration, AServiceThatRunsAlreadyIsNamedInOneOfFourWays) {
  const auto services = [](const char* attached) -> std::string {
    CommandLineConfiguration line;
    line.command = {"t"};
    line.attached = {attached};
    const auto text = configuration_text(line);
    return text.ok() ? OrderedJson::parse(text.value())["services"].dump() : text.error().message;
  };
  EXPECT_EQ(services("users=pid:4711"), R"([{"name":"users","attach":{"pid":4711}}])");
  EXPECT_EQ(services("users=port:8080"), R"([{"name":"users","attach":{"port":8080}}])");
  EXPECT_EQ(services("users=cgroup:/a/b:c"), R"([{"name":"users","attach":{"cgroup":"/a/b:c"}}])");
  EXPECT_EQ(services("users=name:users*"), R"([{"name":"users","attach":{"name":"users*"}}])");
  for (const char* bad : {"users", "users=", "users=4711", "=pid:1", "users=pid:", "users=pid:x",
                          "users=port:80x", "users=socket:1", "users:pid=1"})
    EXPECT_NE(services(bad).find("expected NAME=pid:PID"), std::string::npos) << bad;
}

TEST(SessionRequest, WhatIsFollowedNeedsNoTest) {
  SessionOptions options;
  options.command_line.attached = {"users=pid:4711"};
  EXPECT_FALSE(session_request("trace", options, kClient).ok());
  options.follow = true;
  const auto request = session_request("trace", options, kClient);
  ASSERT_TRUE(request.ok());
  EXPECT_TRUE(request.value()["follow"].get<bool>());
}

TEST(Configuration, ThirdPartiesHaveAHostAndAPort) {
  const auto services = [](const char* party) -> std::string {
    const auto text = configuration_text(
        {.services = {}, .ports = {}, .third_parties = {party}, .faults = {}, .command = {"t"}});
    return text.ok() ? OrderedJson::parse(text.value())["services"].dump() : "error";
  };
  EXPECT_EQ(services("pay=pay.example.com:443"),
            R"([{"name":"pay","third_party":true,"host":"pay.example.com","ports":{"pay":443}}])");
  EXPECT_EQ(services("six=[::1]:80"),
            R"([{"name":"six","third_party":true,"host":"::1","ports":{"six":80}}])");
  for (const char* bad : {"pay", "pay=host", "=host:1", "pay=:1", "pay=host:", "pay=host:0",
                          "pay=host:65536", "pay=host:1x", "p:ay=host"}) {
    EXPECT_EQ(services(bad), "error") << bad;
  }
}

TEST(TestNames, AreShortAndHoldNoPath) {
  EXPECT_EQ(test_name({"/usr/bin/pytest", "-q", "./tests/test_it.py", "x"}), "pytest test_it.py");
  EXPECT_EQ(test_name({"./their_test"}), "their_test");
  EXPECT_EQ(test_name({"a/"}), "test");
  EXPECT_EQ(test_name({}), "test");
  EXPECT_EQ(test_name({std::string(100, 'x')}).size(), 60u);
  EXPECT_EQ(test_name({"..", "/"}), "test");
}

TEST(TestNames, OfURLsSayWhatIsAskedAndNoSecret) {
  EXPECT_EQ(test_name({"curl", "-s", "http://127.0.0.1:4000/"}), "curl 127.0.0.1-4000");
  EXPECT_EQ(test_name({"curl", "-X", "POST", "http://me:secret@shop/users/1?token=x#y"}),
            "curl shop-users-1");
  EXPECT_EQ(test_name({"sh", "-c", "curl -sf http://127.0.0.1:${port:users}/home"}),
            "sh 127.0.0.1-port-users-home");
}

TEST(TestNames, AreSafeAsFileNames) {
  EXPECT_EQ(test_name({"./t", "../a b/c;d\n|e"}), "t a");
  EXPECT_EQ(test_name({"prüfung", "\xFFx*?"}), "prüfung x");
  EXPECT_EQ(test_name({"xx" + std::string(40, 'y'), "\n"}).find('\n'), std::string::npos);
  std::string umlauts;
  for (int i = 0; i < 50; ++i) umlauts += "ü";
  EXPECT_EQ(test_name({"x" + umlauts}), "x" + umlauts.substr(0, 58));
}

TEST(Utf8, ErrorsHaveALineAndAColumnInCharacters) {
  EXPECT_FALSE(utf8_error("{\"a\": \"Grüße \xF0\x9F\x98\x80\"}\n", "f"));
  EXPECT_EQ(utf8_error("ü\n\xC3\xBC\xFF", "f")->substr(0, 7), "f:2:2: ");
  for (const char* bad : {"\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80",
                          "\xC3", "\xE2\x82", "\xF0\x9F\x98"}) {
    EXPECT_TRUE(utf8_error(bad, "f")) << bad;
  }
}

TEST(ReplayRequest, TakesEverythingFromTheCounterexample) {
  const std::string text =
      R"({"version": 1, "test": "t", "config_path": "f.json", "config_text": "{}",
      "directory": "/there", "faults": []})";
  const auto request = replay_request("3.json", text, {}, kClient);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request.value()["mode"], "replay");
  EXPECT_EQ(request.value()["config_path"], "f.json");
  EXPECT_EQ(request.value()["config_text"], "{}");
  EXPECT_EQ(request.value()["directory"], "/there");
  EXPECT_EQ(request.value()["counterexample"], OrderedJson::parse(text));
}

TEST(ReplayRequest, NamesAFileThatIsNoCounterexample) {
  const auto message = [](const char* text) {
    const auto request = replay_request("3.json", text, {}, kClient);
    return request.ok() ? std::string() : request.error().message;
  };
  EXPECT_TRUE(message("{\n \"a\": ]").starts_with("3.json:2:7: ")) << message("{\n \"a\": ]");
  for (const char* text : {"[]", "{}", R"({"version": 1})", R"({"version": 1, "test": "t"})"}) {
    EXPECT_TRUE(message(text).starts_with("3.json: not a counterexample; expected ")) << text;
  }
  EXPECT_TRUE(message("").starts_with("3.json:1:1: "));
  EXPECT_TRUE(message("\xFF").starts_with("3.json:1:1: "));
}

}  // namespace
}  // namespace filibuster::cli
