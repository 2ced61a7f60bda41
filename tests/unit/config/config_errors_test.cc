// Every error of a configuration names its place and what was expected.
#include <gtest/gtest.h>

#include <string>

#include "daemon/config/config.h"

namespace filibuster {
namespace {

std::string errors_of(const std::string& text) {
  std::string all;
  for (const ConfigError& error : parse_config(text, "f.json", "/d").errors) {
    all += error.file + ":" + std::to_string(error.line) + ":" + std::to_string(error.column) +
           ": " + error.message + "\n";
  }
  return all;
}

// The error must be the only one.
void expect_error(const std::string& text, const std::string& where, const std::string& message) {
  const std::string errors = errors_of(text);
  EXPECT_TRUE(errors.starts_with("f.json:" + where + ": ")) << errors << text;
  EXPECT_NE(errors.find(message), std::string::npos) << errors << text;
  EXPECT_EQ(errors.find('\n'), errors.size() - 1) << errors;
}

// A valid configuration with `members` added on a second line.
std::string with(const std::string& members) {
  return R"({"version": 1, "tests": [{"name": "t", "command": "true"}],)"
         "\n" +
         members + "}";
}
std::string with_service(const std::string& members) {
  return with(R"("services": [{"name": "users")" + members + "}]");
}

TEST(ConfigErrors, AValidOneHasNone) {
  EXPECT_EQ(errors_of(with(R"("services": [])")), "");
}

TEST(ConfigErrors, SyntaxIsNamedWithItsPosition) {
  expect_error("{\"version\": 1,\n  \"tests\" []}", "2:11", "unexpected '['; expected ':'");
  expect_error("", "1:1", "unexpected end of input");
  expect_error("{\n\"version\": 1", "2:13", "unexpected end of input");
  expect_error("{\"version\": tru}", "1:13", "invalid literal");
  expect_error("{\"version\": 1} {}", "1:16", "unexpected '{'");
  expect_error("[1, \"a\nb\"]", "1:5", "control character");
  expect_error("[1\"a\"]", "1:3", "unexpected string literal");
  expect_error("[1 2]", "1:4", "unexpected number literal");
  expect_error("{\"a\",}", "1:5", "expected ':'");
}

TEST(ConfigErrors, ATrailingCommaIsCalledByItsName) {
  expect_error("{\"version\": 1,\n \"tests\": [],\n}", "2:13", "trailing comma");
  expect_error("{\"tests\": [1 ,\n ]}", "1:14", "trailing comma");
}

TEST(ConfigErrors, PlacesCountCommentsToo) {
  expect_error("{\n  // sérvices\n /* x */ tests}", "3:10", "invalid literal");
  expect_error("# hello\n{}", "1:1", "a comment begins with //");
}

TEST(ConfigErrors, WhatIsNotUtf8IsNamed) {
  expect_error("{\"a\": \"x\xFFy\"}", "1:9", "not UTF-8");
  expect_error(std::string("{}\0{", 4), "1:3", "zero byte");
}

TEST(ConfigErrors, ColumnsCountCharactersNotBytes) {
  expect_error(R"({"tests": [{"name": "Grüße", "command": 1}], "version": 1})", "1:41",
               "'command'");
}

TEST(ConfigErrors, AByteOrderMarkMovesNothing) {
  expect_error(
      "\xEF\xBB\xBF{\"version\": 2, \"tests\": [{\"name\": \"t\", \"command\": \"true\"}]}", "1:13",
      "'version': expected 1");
}

TEST(ConfigErrors, NestingHasABottom) {
  expect_error(std::string(200'000, '['), "1:33", "nested too deeply");
}

TEST(ConfigErrors, UnknownKeysNameTheNearestKnownOne) {
  expect_error(with(R"("servces": [])"), "2:1", "did you mean 'services'?");
  expect_error(with(R"("test": [])"), "2:1", "did you mean 'tests'?");
  expect_error(with_service(R"(, "comand": "x")"), "2:32", "did you mean 'command'?");
  expect_error(with(R"("hooks": {"before": "x"})"), "2:11", "did you mean 'before_execution'?");
  expect_error(with(R"("index": {"colour": true})"), "2:11",
               "known are 'payload', 'stack', 'count', 'path' or 'frames'");
}

TEST(ConfigErrors, MissingKeysAreNamedAtTheirObject) {
  expect_error(R"({"tests": [{"name": "t", "command": "true"}]})", "1:1", "needs 'version'");
  expect_error(R"({"version": 1})", "1:1", "needs 'tests'");
  expect_error(R"({"version": 1, "tests": [{"name": "t"}]})", "1:26", "a test needs 'command'");
  expect_error(with(R"("services": [{"command": "x"}])"), "2:14", "a service needs 'name'");
  expect_error(with(R"("faults": [{}])"), "2:12", "needs 'inject'");
}

TEST(ConfigErrors, WrongTypesSayWhatWasExpectedAndFound) {
  expect_error("[]", "1:1", "the configuration: expected an object, found an array");
  expect_error(with(R"("services": {})"), "2:13", "'services': expected an array, found an object");
  expect_error(with(R"("services": ["users"])"), "2:14",
               "a service: expected an object, found a string");
  expect_error(with_service(R"(, "command": 5)"), "2:43", "found a number");
  expect_error(with_service(R"(, "command": ["a", 5])"), "2:49",
               "expected a string, found a number");
  expect_error(with_service(R"(, "env": {"A": 1})"), "2:45", "variable 'A': expected a string");
  expect_error(with(R"("reduce": "no")"), "2:11",
               "'reduce': expected 'sound', 'published' or 'off'");
  expect_error(with(R"("reflection": "no")"), "2:15", "expected true or false, found a string");
  expect_error(with(R"("bounds": {"max_faults": 1.5})"), "2:26", "whole number");
  expect_error(with(R"("bounds": {"max_executions": -1})"), "2:30", "whole number");
  expect_error(with(R"("reflection": null)"), "2:15", "found null");
}

TEST(ConfigErrors, VersionsOtherThanOneAreRefused) {
  expect_error(R"({"version": "1", "tests": [{"name": "t", "command": "true"}]})", "1:13",
               "expected 1");
}

TEST(ConfigErrors, NamesAreUnique) {
  expect_error(with(R"("services": [{"name": "a"}, {"name": "a"}])"), "2:29",
               "two services are named 'a'");
  expect_error(R"({"version": 1, "tests": [{"name": "t", "command": "a"},
                                            {"name": "t", "command": "b"}]})",
               "2:45", "two tests are named 't'");
  expect_error(with("\"reduce\": true,\n\"reduce\": false"), "3:1", "'reduce' is given twice");
  expect_error(with(R"("services": [{"name": "a", "command": "x", "ports": ["p"]},
                    {"name": "b", "command": "x", "ports": ["p"]}])"),
               "3:21", "services 'a' and 'b' both have a port named 'p'");
}

TEST(ConfigErrors, NamesAreSafeInPathsAndVariables) {
  expect_error(with(R"("services": [{"name": "a/b"}])"), "2:23", "letters, digits");
  expect_error(with(R"("services": [{"name": ""}])"), "2:23", "letters, digits");
  expect_error(with(R"("services": [{"name": "test"}])"), "2:23", "the test itself");
  expect_error(with_service(R"(, "env": {"A=B": "x"})"), "2:40",
               "cannot be the name of a variable");
}

TEST(ConfigErrors, UnknownPortsAreNamedWhereTheyStand) {
  expect_error(with_service(R"(, "command": "./users --port ${port:user}")"), "2:59",
               "did you mean '${port:users}'?");
  expect_error(with_service(R"(, "command": "./users", "env": {"X": "${port:pay}"})"), "2:68",
               "unknown port 'pay'; known are 'users'");
  expect_error(with_service(R"(, "command": "./users ${port:users")"), "2:52",
               "without its closing '}'");
  expect_error(R"({"version": 1, "tests": [{"name": "t", "command": "./t ${port:x}"}]})", "1:56",
               "no service has a port");
}

TEST(ConfigErrors, CommandsAreNotEmpty) {
  expect_error(with_service(R"(, "command": " ")"), "2:43", "'command' is empty");
  expect_error(with_service(R"(, "command": [])"), "2:43", "'command' is empty");
  expect_error(with_service(R"(, "command": [""])"), "2:43", "'command' is empty");
}

TEST(ConfigErrors, PortsAreNumbersOfPorts) {
  expect_error(with_service(R"(, "command": "x", "ports": {"a": 70000})"), "2:63",
               "from 0 to 65535");
  expect_error(with_service(R"(, "command": "x", "ports": 80)"), "2:57", "array of names");
  expect_error(with_service(R"(, "command": "x", "ports": [8080])"), "2:58", "8080}");
  expect_error(with_service(R"(, "ports": ["a"])"), "2:14", "needs its number");
}

TEST(ConfigErrors, ReadinessHasFourForms) {
  expect_error(with_service(R"(, "command": "x", "ready": "soon")"), "2:57", "expected \"tcp\"");
  expect_error(with_service(R"(, "command": "x", "ready": {"http": "health"})"), "2:66", "a path");
  expect_error(with_service(R"(, "command": "x", "ready": {"http": "/", "log": "up"})"), "2:57",
               "only one of");
  expect_error(with_service(R"(, "command": "x", "ready": {"port": "admin"})"), "2:66",
               "has no port 'admin'; it has 'users'");
  expect_error(with_service(R"(, "ready": {"log": "up"})"), "2:14", "which has no command");
  expect_error(with_service(R"(, "command": "x", "ready": {"http": "/", "timeout": "5d"})"), "2:82",
               "\"500ms\"");
}

TEST(ConfigErrors, FaultsNameTheAcceptedForms) {
  const std::string errors = errors_of(with(R"("faults": [{"inject": ["explode"]}])"));
  EXPECT_TRUE(errors.starts_with("f.json:2:24: ")) << errors;
  for (const char* form : {"refused", "reset", "timeout", "status:", "grpc:UNAVAILABLE"}) {
    EXPECT_NE(errors.find(form), std::string::npos) << errors;
  }
  expect_error(with(R"("faults": [{"inject": [99]}])"), "2:24", "status:");
  expect_error(with(R"("faults": [{"inject": [{"status": 999}]}])"), "2:35", "100 to 599");
  expect_error(with(R"("faults": [{"inject": [{"body": "x"}]}])"), "2:24", "needs 'status'");
  expect_error(with(R"("faults": [{"inject": [true]}])"), "2:24", "found true or false");
  expect_error(with(R"("faults": [{"inject": ["503", 503]}])"), "2:31", "listed twice");
  expect_error(with(R"("faults": [{"on": {"servce": "a"}, "inject": []}])"), "2:20", "'service'?");
  expect_error(with(R"("faults": [{"on": {"path": ""}, "inject": []}])"), "2:28", "leave it out");
}

TEST(ConfigErrors, GrpcStatusesSayWhatWasMeant) {
  expect_error(with(R"("faults": [{"inject": ["grpc:UNAVAILBLE"]}])"), "2:24",
               "did you mean 'UNAVAILABLE'?");
  expect_error(with(R"("faults": [{"inject": ["grpc:OK"]}])"), "2:24", "the code of success");
  expect_error(with(R"("faults": [{"inject": [{"grpc": "Unavailable"}]}])"), "2:33",
               "'grpc': 'Unavailable' is no gRPC status code, did you mean 'UNAVAILABLE'?");
  expect_error(with(R"("faults": [{"inject": [{"grpc": 17}]}])"), "2:33", "1 to 16");
  expect_error(with(R"("faults": [{"inject": [{"grpc": 0}]}])"), "2:33", "the code of success");
  expect_error(with(R"("faults": [{"inject": [{"grpc": true}]}])"), "2:33", "found true or false");
  expect_error(with(R"("faults": [{"inject": [{"grpc": 14, "mesage": "x"}]}])"), "2:37",
               "did you mean 'message'?");
  expect_error(with(R"("faults": [{"inject": [{"grpc": 14, "body": "x"}]}])"), "2:37",
               "unknown key 'body' in a fault");
  expect_error(with(R"("faults": [{"inject": [{"grpc": 14, "status": 503}]}])"), "2:24",
               "either 'status' or 'grpc'");
  expect_error(with(R"("faults": [{"inject": [{"stream_reset": "CANCELED"}]}])"), "2:41",
               "did you mean 'CANCEL'?");
  expect_error(with(R"("faults": [{"inject": [{"latency": "2h"}]}])"), "2:36", "1ms to an hour");
  expect_error(with(R"("faults": [{"inject": [{"latency": "120m"}]}])"), "2:36", "1ms to an hour");
  expect_error(with(R"("faults": [{"inject": [{"latency": 0}]}])"), "2:36", "1ms to an hour");
  expect_error(with(R"("faults": [{"inject": [{"goaway": false}]}])"), "2:35", "expected true");
  EXPECT_NE(errors_of(with(R"("faults": [{"inject": [{"goawy": true}]}])")).find("'goaway'?"),
            std::string::npos);
  expect_error(with(R"("faults": [{"inject": [{"goaway": true, "after": true}]}])"), "2:41",
               "unknown key 'after'");
  expect_error(with(R"("faults": [{"inject": [{"grpc": 14, "after": true, "at_message": 2}]}])"),
               "2:24", "either 'after' or 'at_message'");
  expect_error(with(R"("faults": [{"inject": [{"grpc": 14, "at_message": 0}]}])"), "2:51",
               "from 1 to");
  expect_error(with(R"("faults": [{"inject": [{"grpc": 14, "details": "%"}]}])"), "2:48",
               "google.rpc.Status in base64");
  expect_error(with(R"("faults": [{"inject": [{"grpc": 14, "details": ")" + std::string(4100, 'A') +
                    R"("}]}])"),
               "2:48", "at most 3072 bytes");
  expect_error(with(R"("faults": [{"inject": [{"grpc": 14, "message": ")" + std::string(1025, 'x') +
                    R"("}]}])"),
               "2:48", "at most 1024 bytes");
  expect_error(with(R"("faults": [{"inject": ["grpc:14", {"grpc": "UNAVAILABLE"}]}])"), "2:35",
               "listed twice");
}

TEST(ConfigErrors, ErrorsOfRedisSayWhatWasMeant) {
  expect_error(with(R"("faults": [{"inject": ["redis:loading"]}])"), "2:24",
               "did you mean 'LOADING'?");
  expect_error(
      with(R"("faults": [{"inject": [{"redis": "Loading"}]}])"), "2:34",
      "'redis': 'Loading' is no code of an error of Redis (1 to 32 capital letters, digits, '_' or "
      "'-', as in LOADING), did you mean 'LOADING'?");
  expect_error(with(R"("faults": [{"inject": [{"redis": 5}]}])"), "2:34", "'redis'");
  expect_error(with(R"("faults": [{"inject": [{"redis": "OOM", "after": true}]}])"), "2:41",
               "unknown key 'after'");
  expect_error(with(R"("faults": [{"inject": [{"redis": "OOM", "grpc": 14}]}])"), "2:24",
               "either 'grpc' or 'redis'");
  expect_error(with(R"("faults": [{"inject": [{"redis": "nil", "message": "x"}]}])"), "2:24",
               "\"nil\" is a null");
  expect_error(with(R"("faults": [{"inject": [{"redis": "OOM", "message": ")" +
                    std::string(513, 'x') + R"("}]}])"),
               "2:52", "at most 512 bytes");
  expect_error(with(R"("faults": [{"inject": ["redis:OOM", {"redis": "OOM"}]}])"), "2:37",
               "listed twice");
}

TEST(ConfigErrors, OfAServiceThatSpeaksRedisSayWhatDoesNotGoWithIt) {
  expect_error(with_service(R"(, "protocol": "Redis")"), "2:44", "expected 'http' or 'redis'");
  expect_error(with_service(R"(, "protocol": "redis", "interpose": false)"), "2:66",
               "service 'users' speaks Redis");
  expect_error(with_service(R"(, "protocol": "redis", "third_party": false)"), "2:68",
               "always outside the application");
  expect_error(with_service(R"(, "protocol": "redis", "ready": {"http": "/"})"), "2:71",
               "answers no HTTP");
  expect_error(with_service(R"(, "protocol": "redis"}, {"name": "b", "protocol": "redis")"), "2:54",
               "both have localhost port 6379");
}

TEST(ConfigErrors, DescriptorsAreNamesOfFiles) {
  expect_error(with(R"("descriptors": 5)"), "2:16", "found a number");
  expect_error(with(R"("descriptors": ["a", ""])"), "2:22", "is empty");
  expect_error(with(R"("descriptor": "a")"), "2:1", "'descriptors'?");
}

TEST(ConfigErrors, NamesOfGrpcMethodsAreChecked) {
  expect_error(with(R"("faults": [{"on": {"grpc": ""}, "inject": []}])"), "2:28", "it is empty");
  expect_error(with(R"("faults": [{"on": {"grpc": "shop.CartService/"}, "inject": []}])"), "2:28",
               "the method is missing; expected package.Service/Method");
  expect_error(with(R"("faults": [{"on": {"grpc": "//GetCart"}, "inject": []}])"), "2:28",
               "the service is missing");
  expect_error(with(R"("faults": [{"on": {"grpc": "a b/c"}, "inject": []}])"), "2:28", "a blank");
  expect_error(with(R"("faults": [{"on": {"gprc": "a/b"}, "inject": []}])"), "2:20", "'grpc'?");
}

TEST(ConfigErrors, HeadersOfAFaultCannotBreakTheAnswer) {
  expect_error(with(R"("faults": [{"inject": {"status": 503, "headers": {"A B": "x"}}}])"), "2:51",
               "cannot be the name of a header");
  expect_error(with(R"("faults": [{"inject": {"status": 503, "headers": {"A": "x\r\nB: y"}}}])"),
               "2:56", "a line break");
  expect_error(
      with(R"("faults": [{"inject": {"status": 503, "headers": {"Content-Length": "1"}}}])"),
      "2:51", "by filibuster itself");
}

TEST(ConfigErrors, AllErrorsAreReportedInTheOrderOfTheFile) {
  const std::string errors = errors_of(R"({"version": 2,
 "tests": [],
 "services": [{"nam": "x"}]})");
  EXPECT_EQ(errors,
            "f.json:1:13: 'version': expected 1, the only version there is\n"
            "f.json:2:11: 'tests' is empty: name at least one test\n"
            "f.json:3:15: a service needs 'name'\n"
            "f.json:3:16: unknown key 'nam' in a service; did you mean 'name'?\n");
}

TEST(ConfigErrors, MessagesCannotSteerATerminal) {
  const std::string errors = errors_of(with("\"a\\u001b[2Jb\": 1"));
  EXPECT_EQ(errors.find('\x1b'), std::string::npos);
  EXPECT_NE(errors.find("a?[2Jb"), std::string::npos) << errors;
}

TEST(ConfigErrors, OfWhatAnalysisReads) {
  expect_error(with_service(R"(, "sources": 3)"), "2:43", "expected a path, or an array of paths");
  expect_error(with_service(R"(, "openapi": [""])"), "2:44", "a path is empty");
  expect_error(with(R"("faults": [{"inject": 404, "evidence": 3}])"), "2:40",
               "'evidence': expected text, or an array of texts, found a number");
}

TEST(ConfigErrors, AttachNamesTheProcessesInOneWay) {
  EXPECT_EQ(errors_of(with_service(R"(, "attach": {"pid": 4711})")), "");
  EXPECT_EQ(errors_of(with_service(R"(, "attach": {"port": 8080}, "ports": {"admin": 9})")), "");
  EXPECT_EQ(errors_of(with_service(R"(, "attach": {"cgroup": "/a.slice"})")), "");
  EXPECT_EQ(errors_of(with_service(R"(, "attach": {"name": "users*"})")), "");
  expect_error(with_service(R"(, "attach": {"name": "*"})"), "2:51", "every program");
  expect_error(with_service(R"(, "attach": {})"), "2:42", "expected one of 'pid', 'port'");
  expect_error(with_service(R"(, "attach": {"pid": 1, "port": 2})"), "2:42", "expected one of");
  expect_error(with_service(R"(, "attach": {"pid": 0})"), "2:50", "'pid'");
  expect_error(with_service(R"(, "attach": {"port": 65536})"), "2:51", "'port'");
  expect_error(with_service(R"(, "attach": {"cgroup": "a"})"), "2:53",
               "from the root of the cgroups");
  expect_error(with_service(R"(, "attach": {"name": "/usr/bin/users"})"), "2:51",
               "without its folder");
  expect_error(with_service(R"(, "attach": {"prot": 1})"), "2:43", "did you mean 'port'");
  expect_error(with_service(R"(, "attach": 4711)"), "2:42", "'attach'");
}

TEST(ConfigErrors, WhatRunsAlreadyIsNotStarted) {
  expect_error(with_service(R"(, "attach": {"pid": 1}, "command": "x")"), "2:65",
               "'command': service 'users' is attached");
  expect_error(with_service(R"(, "attach": {"pid": 1}, "restart": "each")"), "2:65", "'restart'");
  expect_error(with_service(R"(, "attach": {"pid": 1}, "interpose": true)"), "2:67", "'interpose'");
  expect_error(with_service(R"(, "attach": {"pid": 1}, "third_party": true)"), "2:69",
               "'third_party'");
  expect_error(with_service(R"(, "attach": {"pid": 1}, "protocol": "redis")"), "2:42",
               "speaks Redis");
  expect_error(with_service(R"(, "attach": {"pid": 1}, "ports": ["users"])"), "2:14",
               "needs its number");
}

TEST(ConfigErrors, InterposeByBpfNeedsACommand) {
  EXPECT_EQ(errors_of(with_service(R"(, "command": "x", "interpose": "bpf")")), "");
  expect_error(with_service(R"(, "interpose": "bpf")"), "2:45", "has no command");
  expect_error(with_service(R"(, "command": "x", "interpose": "ebpf")"), "2:61",
               "true, false or \"bpf\"");
  expect_error(with_service(R"(, "command": "x", "interpose": "bpf", "third_party": true)"), "2:61",
               "third party");
  expect_error(with_service(R"(, "command": "x", "interpose": "bpf", "protocol": "redis")"), "2:61",
               "speaks Redis");
}

TEST(ConfigErrors, APartBelongsToAServiceThatIsThere) {
  const auto with_part = [](const std::string& members) {
    return with(R"("services": [{"name": "users", "command": "u"}, {"name": "cache")" + members +
                "}]");
  };
  EXPECT_EQ(errors_of(with_part(R"(, "command": "c", "part_of": "users")")), "");
  expect_error(with_part(R"(, "command": "c", "part_of": "user")"), "2:94",
               "'part_of': there is no service 'user' (services: 'users' or 'cache')");
  expect_error(with_part(R"(, "command": "c", "part_of": "cache")"), "2:94",
               "'cache' is a part of 'cache' itself");
  expect_error(with_part(R"(, "ports": {"cache": 9}, "part_of": "users")"), "2:101",
               "'part_of': service 'cache' has no command, so that no replay can start it");
  expect_error(with_part(R"(, "stubs": [], "part_of": "users")"), "2:80",
               "'part_of': service 'cache' has no process");
}

}  // namespace
}  // namespace filibuster
