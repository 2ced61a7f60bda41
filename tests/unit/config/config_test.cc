#include "daemon/config/config.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

using std::chrono::milliseconds;

constexpr char kEverything[] = R"({
  "$schema": "filibuster.schema.json",
  "version": 1,
  "services": [
    {"name": "users", "command": "exec ./users --port ${port:users}",
     "env": {"BOOKINGS": "http://127.0.0.1:${port:admin}"}, "directory": "src/../users",
     "ready": {"http": "/health", "timeout": "0.5h"}, "restart": "each"},
    {"name": "bookings", "command": ["./bookings", "-x"], "ports": {"bookings": 0, "admin": 5001},
     "ready": {"log": "listening", "port": "admin", "timeout": 1.5}},
    {"name": "db", "command": "./db", "interpose": false, "ready": "none", "restart": "never"},
    {"name": "pay", "third_party": true, "host": "pay.example.com", "ports": {"pay": 443}},
    {"name": "byhand"}
  ],
  "tests": [{"name": "a", "command": ["./a"], "timeout": "500ms", "env": {"U": "${port:users}"}},
            {"name": "b", "command": "./b", "directory": "/abs"}],
  "faults": [
    {"on": {"service": "bookings", "method": "GET", "path": "/bookings/*"},
     "inject": ["404", 503, "timeout:after", {"status": 429, "body": "slow", "headers": {"Retry-After": "1"},
                                              "after": true}]},
    {"on": {"service": "db"}, "inject": []}
  ],
  "default_faults": false, "fault_test_calls": true,
  "hooks": {"before_execution": "./reset.sh", "after_execution": ["./check"]},
  "bounds": {"max_executions": 100, "max_faults": 2, "quiesce_timeout": "250ms", "hang_limit": 7,
             "test_timeout": "1m", "stop_at_first": true},
  "index": {"payload": false, "stack": true},
  "reduce": false, "fast_timeouts": false
})";

Config parsed(const std::string& text) {
  ParsedConfig result = parse_config(text, "f.json", "/project");
  for (const ConfigError& error : result.errors) {
    ADD_FAILURE() << error.line << ":" << error.column << ": " << error.message;
  }
  return std::move(result.config);
}

Config config_of(const std::string& members) {
  return parsed(R"({"version": 1, "tests": [{"name": "t", "command": "true"}])" +
                (members.empty() ? "" : "," + members) + "}");
}

TEST(Config, ReadsEveryMember) {
  const Config config = parsed(kEverything);
  ASSERT_EQ(config.services.size(), 5u);
  const ServiceConfig& users = config.services[0];
  EXPECT_EQ(users.command.argv,
            (std::vector<std::string>{"/bin/sh", "-c", "exec ./users --port ${port:users}"}));
  EXPECT_EQ(users.env.at("BOOKINGS"), "http://127.0.0.1:${port:admin}");
  EXPECT_EQ(users.directory, "/project/users");
  EXPECT_EQ(users.ports, (std::map<std::string, uint16_t>{{"users", 0}}));
  EXPECT_EQ(users.ready.kind, ReadyCheck::Kind::kHttp);
  EXPECT_EQ(users.ready.http_path, "/health");
  EXPECT_EQ(users.ready.timeout, milliseconds(1'800'000));
  EXPECT_EQ(users.restart, ServiceConfig::Restart::kEach);

  const ServiceConfig& bookings = config.services[1];
  EXPECT_EQ(bookings.command.argv, (std::vector<std::string>{"./bookings", "-x"}));
  EXPECT_EQ(bookings.ports, (std::map<std::string, uint16_t>{{"admin", 5001}, {"bookings", 0}}));
  EXPECT_EQ(bookings.ready.kind, ReadyCheck::Kind::kLog);
  EXPECT_EQ(bookings.ready.log_pattern, "listening");
  EXPECT_EQ(bookings.ready.port, "admin");
  EXPECT_EQ(bookings.ready.timeout, milliseconds(1500));
  EXPECT_EQ(bookings.restart, ServiceConfig::Restart::kCrash);

  EXPECT_TRUE(config.services[2].ignored);
  EXPECT_EQ(config.services[2].ready.kind, ReadyCheck::Kind::kNone);
  EXPECT_EQ(config.services[2].restart, ServiceConfig::Restart::kNever);

  EXPECT_TRUE(config.services[3].third_party);
  EXPECT_EQ(config.services[3].host, "pay.example.com");
  EXPECT_EQ(config.services[3].ports.at("pay"), 443);
  EXPECT_EQ(config.services[3].ready.kind, ReadyCheck::Kind::kNone);

  ASSERT_EQ(config.tests.size(), 2u);
  EXPECT_EQ(config.tests[0].timeout, milliseconds(500));
  EXPECT_EQ(config.tests[1].directory, "/abs");
  EXPECT_FALSE(config.tests[1].timeout);

  ASSERT_EQ(config.faults.size(), 2u);
  ASSERT_EQ(config.faults[0].inject.size(), 4u);
  EXPECT_EQ(to_text(config.faults[0].inject[0]), "status:404");
  EXPECT_EQ(to_text(config.faults[0].inject[1]), "status:503");
  EXPECT_EQ(to_text(config.faults[0].inject[2]), "timeout:after");
  const FaultSpec& slow = config.faults[0].inject[3];
  EXPECT_EQ(slow.status, 429);
  EXPECT_EQ(slow.body, "slow");
  EXPECT_TRUE(slow.after_effect);
  EXPECT_EQ(slow.headers[0].first, "Retry-After");
  EXPECT_EQ(config.faults[0].line, 17);

  EXPECT_FALSE(config.default_faults);
  EXPECT_TRUE(config.fault_test_calls);
  EXPECT_EQ(config.hooks.after_execution.argv, std::vector<std::string>{"./check"});
  EXPECT_EQ(config.bounds.max_executions, 100u);
  EXPECT_EQ(config.bounds.max_faults, 2u);
  EXPECT_EQ(config.bounds.quiesce_timeout, milliseconds(250));
  EXPECT_EQ(config.bounds.hang_limit, milliseconds(7000));
  EXPECT_EQ(config.bounds.test_timeout, milliseconds(60'000));
  EXPECT_TRUE(config.bounds.stop_at_first);
  EXPECT_EQ(config.index_parts, kIndexStack | kIndexCount | kIndexPath);
  EXPECT_EQ(config.reduce, Reduction::kOff);
  EXPECT_FALSE(config.fast_timeouts);
}

TEST(Config, AServiceWithoutACommandHasNoPortAndNothingToWaitFor) {
  const ServiceConfig service = config_of(R"("services": [{"name": "byhand"}])").services.at(0);
  EXPECT_TRUE(service.command.empty());
  EXPECT_TRUE(service.ports.empty());
  EXPECT_EQ(service.ready.kind, ReadyCheck::Kind::kNone);
}

TEST(Config, PortsAsNamesMeanAnyFreeOnes) {
  const Config config =
      config_of(R"("services": [{"name": "a", "command": "x", "ports": ["b", "c"]}])");
  EXPECT_EQ(config.services[0].ports, (std::map<std::string, uint16_t>{{"b", 0}, {"c", 0}}));
}

TEST(Config, OtherDollarBracesAreLeftToTheProgram) {
  config_of(R"("services": [{"name": "a", "command": "echo ${HOME} $PORT ${portable}"}])");
}

std::vector<std::string> texts(const std::vector<FaultSpec>& faults) {
  std::vector<std::string> out;
  for (const FaultSpec& fault : faults) out.push_back(to_text(fault));
  return out;
}
using Texts = std::vector<std::string>;

TEST(FaultRules, TheDefaultSetIsUsedWithoutRules) {
  const Config config = config_of("");
  EXPECT_EQ(texts(faults_for(config, "users", "movies", "GET", "/")),
            (Texts{"refused", "timeout", "status:500", "status:502", "status:503"}));
}

TEST(FaultRules, TheFirstRuleThatMatchesDecides) {
  const Config config = config_of(R"("faults": [
      {"on": {"service": "movies", "method": "GET", "path": "/movies/?"}, "inject": "404"},
      {"on": {"service": "movies", "caller": "users"}, "inject": "refused"},
      {"on": {"service": "movies"}, "inject": []}])");
  EXPECT_EQ(texts(faults_for(config, "users", "movies", "GET", "/movies/1?full=1")),
            Texts{"status:404"});
  EXPECT_EQ(texts(faults_for(config, "users", "movies", "GET", "/movies/12")), Texts{"refused"});
  EXPECT_EQ(texts(faults_for(config, "users", "movies", "POST", "/movies/1")), Texts{"refused"});
  EXPECT_EQ(texts(faults_for(config, "other", "movies", "POST", "/")), Texts{});
  EXPECT_EQ(faults_for(config, "other", "bookings", "POST", "/").size(), 5u);
}

TEST(FaultRules, WithoutTheDefaultSetOnlyRulesCount) {
  const Config config = config_of(
      R"("default_faults": false, "faults": [{"on": {"service": "a"}, "inject": "reset"}])");
  EXPECT_EQ(texts(faults_for(config, "x", "a", "GET", "/")), Texts{"reset"});
  EXPECT_EQ(texts(faults_for(config, "x", "b", "GET", "/")), Texts{});
}

TEST(FaultRules, TheTestsOwnCallsAreFaultedOnlyIfAskedFor) {
  EXPECT_TRUE(faults_for(config_of(""), "test", "users", "GET", "/").empty());
  EXPECT_TRUE(faults_for(config_of(""), "", "users", "GET", "/").empty());
  EXPECT_TRUE(faults_for(config_of(R"("faults": [{"inject": "503"}])"), "test", "users", "GET", "/")
                  .empty());
  EXPECT_EQ(
      faults_for(config_of(R"("fault_test_calls": true)"), "test", "users", "GET", "/").size(), 5u);
  const Config named = config_of(R"("faults": [{"on": {"caller": "test"}, "inject": "503"}])");
  EXPECT_EQ(texts(faults_for(named, "test", "users", "GET", "/")), Texts{"status:503"});
  EXPECT_EQ(faults_for(named, "users", "movies", "GET", "/").size(), 5u);
}

TEST(FaultRules, ServicesThatAreNotInterposedGetNone) {
  const Config config =
      config_of(R"("services": [{"name": "db", "command": "x", "interpose": false}])");
  EXPECT_TRUE(faults_for(config, "users", "db", "GET", "/").empty());
}

TEST(FaultRules, PathsMatchAsGlobs) {
  struct Row {
    const char* pattern;
    const char* path;
    bool matches;
  };
  for (const Row& row :
       {Row{"*", "/a/b", true}, Row{"/a", "/a", true}, Row{"/a", "/a/b", false},
        Row{"/a/*", "/a/b/c", true}, Row{"/*/c", "/a/b/c", true}, Row{"/?/c", "/a/c", true},
        Row{"/?/c", "/ab/c", false}, Row{"*a*b*", "/xaxbx", true}, Row{"*a*b", "/ab/a", false},
        Row{"**", "/", true}, Row{"/a?", "/a", false}}) {
    const Config config = config_of(R"("default_faults": false, "faults": [{"on": {"path": ")" +
                                    std::string(row.pattern) + R"("}, "inject": "503"}])");
    EXPECT_EQ(!faults_for(config, "x", "y", "GET", row.path).empty(), row.matches)
        << row.pattern << " " << row.path;
  }
}

TEST(Config, DescriptorsAreFilesBesideTheConfiguration) {
  const Config config = config_of(R"("descriptors": ["shop.pb", "/abs/user.pb"])");
  ASSERT_EQ(config.descriptors.size(), 2u);
  EXPECT_EQ(config.descriptors[0].path, "/project/shop.pb");
  EXPECT_EQ(config.descriptors[1].path, "/abs/user.pb");
  EXPECT_GT(config.descriptors[1].column, config.descriptors[0].column);
  EXPECT_EQ(config_of(R"("descriptors": "shop.pb")").descriptors.size(), 1u);
  EXPECT_TRUE(config.reflection);
  EXPECT_FALSE(config_of(R"("reflection": false)").reflection);
}

Texts grpc_faults(const Config& config, const std::string& path) {
  return texts(faults_for(config, "gateway", "cart", "POST", path, Protocol::kGrpc));
}

TEST(Config, WhatAnalysisReadsBeginsAtTheConfiguration) {
  const ParsedConfig parsed =
      parse_config(R"({"version": 1, "tests": [{"name": "t", "command": "true"}],
      "services": [{"name": "a", "sources": ["src", "/abs/x.py"], "openapi": "../api.yaml", "proto": []}]})",
                   "f.json", "/d/e");
  ASSERT_TRUE(parsed.errors.empty());
  const ServiceConfig& service = parsed.config.services[0];
  EXPECT_EQ(service.sources, (std::vector<std::string>{"/d/e/src", "/abs/x.py"}));
  EXPECT_EQ(service.openapi, std::vector<std::string>{"/d/api.yaml"});
  EXPECT_TRUE(service.proto.empty());
}

TEST(FaultRules, EvidenceIsForPeopleAlone) {
  const auto faults = [](const std::string& evidence) {
    const ParsedConfig parsed =
        parse_config(R"({"version": 1, "tests": [{"name": "t", "command": "true"}],
            "faults": [{"on": {"service": "a"}, "inject": [404])" +
                         evidence + "}]}",
                     "f.json", "/d");
    EXPECT_TRUE(parsed.errors.empty());
    return faults_for(parsed.config, "b", "a", "GET", "/");
  };
  EXPECT_EQ(faults(R"(, "evidence": "app.py:3")"), faults(""));
  EXPECT_EQ(faults(R"(, "evidence": ["app.py:3", ""])"), faults(""));
}

TEST(FaultRules, TheDefaultSetIsThatOfTheProtocol) {
  EXPECT_EQ(grpc_faults(config_of(""), "/shop.CartService/GetCart"),
            (Texts{"grpc:UNAVAILABLE", "grpc:DEADLINE_EXCEEDED", "grpc:INTERNAL",
                   "grpc:UNIMPLEMENTED", "grpc:UNKNOWN"}));
}

TEST(FaultRules, GrpcMethodsMatchAsPeopleWriteThem) {
  const struct {
    const char *on, *path;
    bool matches;
  } rows[] = {
      {R"("grpc": "shop.CartService/GetCart")", "/shop.CartService/GetCart", true},
      {R"("grpc": "/shop.CartService/GetCart")", "/shop.CartService/GetCart", true},
      {R"("grpc": "shop.CartService.GetCart")", "/shop.CartService/GetCart", true},
      {R"("grpc": "CartService/GetCart")", "/shop.CartService/GetCart", true},
      {R"("grpc": "CartService")", "/CartService/GetCart", true},
      {R"("grpc": "shop.CartService")", "/shop.CartService/GetCart", true},
      {R"("grpc": "shop.*/Get*")", "/shop.CartService/GetCart", true},
      {R"("grpc": "*")", "/shop.CartService/GetCart", true},
      {R"("grpc": "shop.CartService/Get")", "/shop.CartService/GetCart", false},
      {R"("grpc": "shop.Cart")", "/shop.CartService/GetCart", false},
      {R"("grpc": "op.CartService/GetCart")", "/shop.CartService/GetCart", false},
      {R"("grpc": "Service/GetCart")", "/shop.CartService/GetCart", false},
      {R"("grpc": "GetCart")", "/shop.CartService/GetCart", false},
      {R"("service": "cart", "method": "GetCart")", "/shop.CartService/GetCart", true},
      {R"("service": "shop.CartService")", "/shop.CartService/GetCart", true},
      {R"("service": "shop.UserService")", "/shop.CartService/GetCart", false},
      {R"("method": "shop.CartService/GetCart")", "/shop.CartService/GetCart", true},
      {R"("method": "POST")", "/shop.CartService/GetCart", true},
      {R"("method": "GET")", "/shop.CartService/GetCart", false},
      {R"("path": "/shop.CartService/*")", "/shop.CartService/GetCart", true},
      {R"("service": "user", "grpc": "shop.CartService")", "/shop.CartService/GetCart", false},
  };
  for (const auto& row : rows) {
    const Config config = config_of(R"("default_faults": false, "faults": [{"on": {)" +
                                    std::string(row.on) + R"(}, "inject": "grpc:14"}])");
    EXPECT_EQ(grpc_faults(config, row.path), row.matches ? Texts{"grpc:UNAVAILABLE"} : Texts{})
        << row.on;
  }
  // What looks like one is none.
  const Config config = config_of(R"("faults": [{"on": {"grpc": "*"}, "inject": "grpc:14"}])");
  EXPECT_EQ(faults_for(config, "a", "b", "POST", "/shop.CartService/GetCart").size(), 5u);
}

TEST(FaultRules, AGrpcStatusNeedsAGrpcCall) {
  constexpr Protocol kHttp = Protocol::kHttp, kGrpc = Protocol::kGrpc;
  const FaultSpec status = parse_fault("grpc:INTERNAL").value();
  EXPECT_TRUE(fault_applies(status, true, kGrpc));
  EXPECT_FALSE(fault_applies(status, false, kHttp));
  for (const char* text : {"refused", "reset", "timeout", "status:503"}) {
    EXPECT_TRUE(fault_applies(parse_fault(text).value(), true, kGrpc)) << text;
    EXPECT_TRUE(fault_applies(parse_fault(text).value(), false, kHttp)) << text;
  }
  for (const char* text : {"stream-reset", "goaway"}) {
    EXPECT_TRUE(fault_applies(parse_fault(text).value(), true, kHttp)) << text;
    EXPECT_FALSE(fault_applies(parse_fault(text).value(), false, kHttp)) << text;
  }
  for (const char* text : {"no-trailers", "empty-message", "latency:1s@2", "grpc:INTERNAL@2"}) {
    EXPECT_TRUE(fault_applies(parse_fault(text).value(), true, kGrpc)) << text;
    EXPECT_FALSE(fault_applies(parse_fault(text).value(), true, kHttp)) << text;
  }
}

TEST(FaultRules, AnAnswerThatIsChangedIsOneOfHttp1OrOfGrpc) {
  for (const char* text : {"latency:1s", "empty-message"}) {
    const FaultSpec fault = parse_fault(text).value();
    EXPECT_TRUE(fault_applies(fault, false, Protocol::kHttp)) << text;
    EXPECT_TRUE(fault_applies(fault, true, Protocol::kGrpc)) << text;
    EXPECT_EQ(fault_applies(fault, true, Protocol::kHttp), fault.kind == FaultKind::kLatency);
    EXPECT_EQ(fault_applies(fault, false, Protocol::kRedis), fault.kind == FaultKind::kLatency);
  }
  EXPECT_FALSE(fault_applies(parse_fault("latency:1s@2").value(), false, Protocol::kRedis));
  for (const char* text : {"slow-body", "slow-body:1s", "content-length:-1"}) {
    const FaultSpec fault = parse_fault(text).value();
    EXPECT_TRUE(fault_applies(fault, false, Protocol::kHttp)) << text;
    EXPECT_FALSE(fault_applies(fault, true, Protocol::kHttp)) << text;
    EXPECT_FALSE(fault_applies(fault, true, Protocol::kGrpc)) << text;
    EXPECT_EQ(why_not_applicable(fault), "it does not go over HTTP/1.1");
  }
}

TEST(FaultRules, WhatNobodyDecryptsGetsWhatNeedsNoKey) {
  constexpr Protocol kSealed = Protocol::kSealed;
  for (const char* text : {"refused", "reset", "timeout", "latency:1s", "tls:handshake-timeout",
                           "tls:closed-without-notify"}) {
    EXPECT_TRUE(fault_applies(parse_fault(text).value(), false, kSealed, true)) << text;
  }
  EXPECT_FALSE(fault_applies(parse_fault("tls:handshake-timeout").value(), false, kSealed, false));
  for (const char* text : {"status:503", "reset:after", "timeout:after", "empty-message",
                           "slow-body:1s", "redis:nil", "tls:unknown-ca"}) {
    const FaultSpec fault = parse_fault(text).value();
    EXPECT_FALSE(fault_applies(fault, false, kSealed, true)) << text;
    EXPECT_NE(why_not_applicable(fault, kSealed).find("nobody decrypts"), std::string_view::npos);
  }
}

TEST(FaultRules, WhatRedisAnswersNeedsRedisAndAnHttpStatusHttp) {
  for (const char* text : {"refused", "reset", "timeout", "redis:LOADING", "redis:nil"}) {
    EXPECT_TRUE(fault_applies(parse_fault(text).value(), false, Protocol::kRedis)) << text;
  }
  const struct {
    const char *fault, *why;
  } rows[] = {{"status:503", "it is no HTTP request"},
              {"goaway", "it does not go over HTTP/2"},
              {"grpc:INTERNAL", "it is no gRPC call"}};
  for (const auto& row : rows) {
    const FaultSpec fault = parse_fault(row.fault).value();
    EXPECT_FALSE(fault_applies(fault, false, Protocol::kRedis)) << row.fault;
    EXPECT_EQ(why_not_applicable(fault), row.why);
  }
  for (const Protocol other : {Protocol::kHttp, Protocol::kGrpc}) {
    EXPECT_FALSE(fault_applies(parse_fault("redis:nil").value(), true, other));
  }
  EXPECT_EQ(why_not_applicable(parse_fault("redis:nil").value()), "it is no command to Redis");
}

Texts redis_faults(const Config& config, const std::string& method, const std::string& path) {
  return texts(faults_for(config, "users", "cache", method, path, Protocol::kRedis));
}

TEST(FaultRules, OfRedisMatchCommandsAndPatternsOfKeys) {
  EXPECT_EQ(redis_faults(config_of(""), "GET", "user:*"),
            (Texts{"refused", "timeout", "redis:LOADING"}));
  EXPECT_EQ(redis_faults(config_of(""), "MULTI", "GET a, SET b"),
            (Texts{"refused", "timeout", "redis:LOADING", "redis:READONLY", "redis:OOM"}));
  const struct {
    const char *on, *method, *path;
    bool matches;
  } rows[] = {
      {R"("service": "cache")", "GET", "user:*", true},
      {R"("method": "GET", "path": "user:*")", "GET", "user:*", true},
      {R"("method": "get")", "GET", "user:*", false},
      {R"("path": "user:*:cart")", "GET", "user:*:cart", true},
      {R"("path": "user:*:cart")", "GET", "user:*", false},
      {R"("path": "what?:*")", "GET", "what?:*", true},
      {R"("path": "*INCR *")", "MULTI", "SET a, INCR b", true},
      {R"("grpc": "*")", "GET", "/a.B/C", false},
      {R"("caller": "orders")", "GET", "user:*", false},
  };
  for (const auto& row : rows) {
    const Config config = config_of(R"("default_faults": false, "faults": [{"on": {)" +
                                    std::string(row.on) + R"(}, "inject": "redis:nil"}])");
    EXPECT_EQ(redis_faults(config, row.method, row.path),
              row.matches ? Texts{"redis:nil"} : Texts{})
        << row.on;
  }
}

TEST(FaultRules, OneThatNamesWhatLibrariesSayIsNoticed) {
  EXPECT_FALSE(names_library_command(config_of("")));
  EXPECT_FALSE(
      names_library_command(config_of(R"("faults": [{"on": {"method": "GET"}, "inject": []}])")));
  EXPECT_TRUE(
      names_library_command(config_of(R"("faults": [{"on": {"method": "PING"}, "inject": 503}])")));
}

TEST(FaultRules, OfRedisAreDescribedWhereAServiceSpeaksIt) {
  EXPECT_EQ(describe_faults(config_of("")).size(), 3u);
  const auto lines =
      describe_faults(config_of(R"("services": [{"name": "cache", "protocol": "redis"}])"));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2],
            "all commands to Redis: refused, timeout, redis:LOADING, and where the command "
            "writes redis:READONLY, redis:OOM (default set)");
  EXPECT_EQ(describe_faults(config_of(
                R"("faults": [{"on": {"service": "cache", "method": "GET", "path": "user:*"},
      "inject": {"redis": "BUSY", "message": "later"}}])"))[0],
            "RPCs to cache GET user:*: redis:BUSY \"later\"");
}

TEST(Config, AServiceThatSpeaksRedisIsAThirdParty) {
  const Config config = config_of(R"("services": [
      {"name": "cache", "protocol": "redis"},
      {"name": "store", "protocol": "redis", "command": "redis-server", "third_party": true},
      {"name": "other", "protocol": "redis", "host": "10.1.2.3", "ports": {"other": 7000}},
      {"name": "web", "protocol": "http", "command": "./web"}])");
  ASSERT_EQ(config.services.size(), 4u);
  EXPECT_EQ(config.services[0].protocol, Protocol::kRedis);
  EXPECT_TRUE(config.services[0].third_party);
  EXPECT_EQ(config.services[0].ports.at("cache"), 6379);
  EXPECT_EQ(config.services[0].ready.kind, ReadyCheck::Kind::kNone);
  EXPECT_TRUE(config.services[1].third_party);
  EXPECT_EQ(config.services[1].ports.at("store"), 0);
  EXPECT_EQ(config.services[1].ready.kind, ReadyCheck::Kind::kTcp);
  EXPECT_EQ(config.services[2].ports.at("other"), 7000);
  EXPECT_EQ(config.services[3].protocol, Protocol::kHttp);
  EXPECT_FALSE(config.services[3].third_party);
}

TEST(FaultRules, EveryFaultHasAnObjectForm) {
  const struct {
    const char *object, *text;
  } rows[] = {
      {R"({"stream_reset": "CANCEL", "after": true})", "stream-reset:CANCEL:after"},
      {R"({"stream_reset": "INTERNAL_ERROR", "at_message": 3})", "stream-reset@3"},
      {R"({"latency": "300ms"})", "latency:300ms"},
      {R"({"latency": 2, "at_message": 1})", "latency:2s@1"},
      {R"({"goaway": true})", "goaway"},
      {R"({"partial_message": true})", "partial-message"},
      {R"({"empty_message": true})", "empty-message"},
      {R"({"corrupt_message": true})", "corrupt-message"},
      {R"({"no_trailers": true})", "no-trailers"},
      {R"({"grpc": "ABORTED", "message": "m", "at_message": 2})", "grpc:ABORTED@2"},
      {R"({"redis": "READONLY", "message": "later"})", "redis:READONLY"},
      {R"({"redis": "nil"})", "redis:nil"},
  };
  for (const auto& row : rows) {
    const Config config =
        config_of(R"("faults": [{"inject": )" + std::string(row.object) + R"(}])");
    ASSERT_EQ(config.faults.size(), 1u) << row.object;
    EXPECT_EQ(to_text(config.faults[0].inject.at(0)), row.text);
  }
}

TEST(FaultRules, AGrpcStatusHasMessageAndDetails) {
  const Config config = config_of(R"("faults": [{"inject": [
      {"grpc": "RESOURCE_EXHAUSTED", "message": "no stock", "details": "CAUS", "after": true},
      {"grpc": 14}, {"grpc": "14", "message": "x"}]}])");
  const std::vector<FaultSpec>& inject = config.faults.at(0).inject;
  ASSERT_EQ(inject.size(), 3u);
  EXPECT_EQ(to_text(inject[0]), "grpc:RESOURCE_EXHAUSTED:after");
  EXPECT_EQ(inject[0].message, "no stock");
  EXPECT_EQ(inject[0].details, "\x08\x05\x12");
  EXPECT_EQ(to_text(inject[1]), "grpc:UNAVAILABLE");
}

TEST(FaultRules, AreDescribedAsUsed) {
  EXPECT_EQ(describe_faults(config_of(R"("default_faults": false, "faults": [
      {"on": {"grpc": "shop.CartService", "caller": "order"}, "inject": "grpc:INTERNAL"}])"))[0],
            "gRPC calls of order shop.CartService: grpc:INTERNAL");

  EXPECT_EQ(
      describe_faults(config_of(R"("faults": [{"inject": [
      {"grpc": "ABORTED", "message": "no\tstock"}, {"grpc": "ABORTED", "message": "sold out", "details": "CAUS"},
      "grpc:ABORTED", 503, {"status": 503, "body": ")" +
                                std::string(59, 'x') +
                                R"(ää", "headers": {"Retry-After": "1", "X-A": "b"}}]}])"))[0],
      "all RPCs: grpc:ABORTED \"no stock\", grpc:ABORTED \"sold out\" (with details), grpc:ABORTED, "
      "status:503, status:503 \"" +
          std::string(59, 'x') + "...\" (with Retry-After, X-A)");

  EXPECT_EQ(describe_faults(config_of("")),
            (Texts{"all HTTP requests: refused, timeout, status:500, status:502, status:503 "
                   "(default set)",
                   "all gRPC calls: grpc:UNAVAILABLE, grpc:DEADLINE_EXCEEDED, grpc:INTERNAL, "
                   "grpc:UNIMPLEMENTED, grpc:UNKNOWN (default set)",
                   "the test's own calls: none, unless a rule names caller 'test'"}));
  EXPECT_EQ(
      describe_faults(config_of(R"("default_faults": false, "fault_test_calls": true, "faults": [
      {"on": {"service": "movies", "method": "GET", "path": "/m/*", "caller": "users"}, "inject": ["404"]},
      {"on": {"service": "db"}, "inject": []}])")),
      (Texts{"RPCs of users to movies GET /m/*: status:404", "RPCs to db: none",
             "all other RPCs: none", "the test's own calls: the same faults as other RPCs"}));
  EXPECT_EQ(
      describe_faults(
          config_of(R"("faults": [{"inject": "503"}, {"on": {"service": "a"}, "inject": []}])")),
      (Texts{"all RPCs: status:503", "RPCs to a (never used: an earlier rule decides all): none",
             "the test's own calls: none, unless a rule names caller 'test'"}));
}

TEST(Config, HasComments) {
  const Config config = parsed(
      "{ // what is explored\n \"version\": 1, /* one \"test\n */ \"tests\":\n"
      "[{\"name\": \"a // b\", \"command\": \"curl http://x /* y */\"}]} // end");
  ASSERT_EQ(config.tests.size(), 1u);
  EXPECT_EQ(config.tests[0].name, "a // b");
  EXPECT_EQ(config.tests[0].command.argv.back(), "curl http://x /* y */");
}

}  // namespace
}  // namespace filibuster
