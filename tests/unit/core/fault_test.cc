#include "core/fault/fault.h"

#include <gtest/gtest.h>

#include <cstring>

namespace filibuster {
namespace {

FaultSpec parsed(std::string_view text) {
  auto fault = parse_fault(text);
  EXPECT_TRUE(fault.ok()) << text << ": " << (fault.ok() ? "" : fault.error().message);
  return fault.ok() ? fault.value() : FaultSpec{};
}

TEST(FaultText, EveryFormRoundTrips) {
  for (const char* text : {"refused",
                           "reset",
                           "reset:after",
                           "timeout",
                           "timeout:after",
                           "status:200",
                           "status:503",
                           "status:599",
                           "status:503:after",
                           "grpc:UNAVAILABLE",
                           "grpc:CANCELLED:after",
                           "grpc:ABORTED@3",
                           "stream-reset",
                           "stream-reset:after",
                           "stream-reset:CANCEL",
                           "stream-reset:CANCEL:after",
                           "stream-reset@3",
                           "stream-reset:REFUSED_STREAM@1000000",
                           "goaway",
                           "latency:1ms",
                           "latency:300ms",
                           "latency:2s",
                           "latency:3600s",
                           "latency:300ms@3",
                           "partial-message",
                           "empty-message",
                           "corrupt-message",
                           "no-trailers",
                           "redis:LOADING",
                           "redis:nil",
                           "redis:MY_OWN-1"}) {
    EXPECT_EQ(to_text(parsed(text)), text);
  }
}

TEST(FaultText, SaysKindStatusAndEffect) {
  EXPECT_EQ(parsed("refused").kind, FaultKind::kRefused);
  EXPECT_EQ(parsed("reset").kind, FaultKind::kReset);
  EXPECT_FALSE(parsed("reset").after_effect);
  EXPECT_TRUE(parsed("reset:after").after_effect);
  EXPECT_EQ(parsed("timeout").kind, FaultKind::kTimeout);
  const FaultSpec status = parsed("status:404:after");
  EXPECT_EQ(status.kind, FaultKind::kStatus);
  EXPECT_EQ(status.status, 404);
  EXPECT_TRUE(status.after_effect);
}

TEST(FaultText, NamesEveryCodeOfAFailureByNameAndByNumber) {
  for (uint8_t number = 1; number < grpc::kCodes; ++number) {
    const std::string name(to_name(static_cast<grpc::Code>(number)));
    for (const std::string& text : {"grpc:" + name, "grpc:" + std::to_string(number)}) {
      const FaultSpec fault = parsed(text);
      EXPECT_EQ(fault.kind, FaultKind::kGrpc) << text;
      EXPECT_EQ(static_cast<uint8_t>(fault.code), number) << text;
      EXPECT_EQ(to_text(fault), "grpc:" + name);
      EXPECT_TRUE(parsed(text + ":after").after_effect);
    }
  }
}

TEST(FaultText, SaysWhatOnlyHttp2Has) {
  EXPECT_EQ(parsed("stream-reset").error, http2::ErrorCode::kInternalError);
  EXPECT_EQ(parsed("stream-reset:CANCEL").error, http2::ErrorCode::kCancel);
  EXPECT_EQ(to_text(parsed("stream-reset:INTERNAL_ERROR")), "stream-reset");
  EXPECT_EQ(parsed("latency:2s").latency_ms, 2000u);
  EXPECT_EQ(to_text(parsed("latency:1000ms")), "latency:1s");
  EXPECT_EQ(to_text(parsed("latency:1.5s")), "latency:1500ms");
  EXPECT_EQ(parsed("slow-body:1h").latency_ms, 3'600'000u);
  EXPECT_EQ(parsed("slow-body:2m").latency_ms, 120'000u);
  EXPECT_EQ(parsed("grpc:ABORTED@3").at_message, 3u);
  EXPECT_FALSE(parsed("grpc:ABORTED@3").after_effect);
  EXPECT_TRUE(changes_answer(parsed("grpc:ABORTED@3")));
  EXPECT_TRUE(changes_answer(parsed("latency:1s")));
  EXPECT_FALSE(changes_answer(parsed("grpc:ABORTED:after")));
  EXPECT_FALSE(changes_answer(parsed("goaway")));
  EXPECT_EQ(needs(parsed("reset")), FaultNeeds::kAnyRpc);
  EXPECT_EQ(needs(parsed("latency:1s")), FaultNeeds::kHttpOrRedis);
  EXPECT_EQ(needs(parsed("latency:1s@1")), FaultNeeds::kGrpc);
  EXPECT_EQ(needs(parsed("no-trailers")), FaultNeeds::kGrpc);
}

TEST(FaultText, SaysWhatOnlyRedisHas) {
  EXPECT_EQ(parsed("redis:LOADING").kind, FaultKind::kRedis);
  EXPECT_EQ(parsed("redis:LOADING").reply, "LOADING");
  EXPECT_EQ(parsed("redis:nil").reply, "");
  EXPECT_EQ(parsed("redis:" + std::string(32, 'A')).reply, std::string(32, 'A'));
  EXPECT_FALSE(parse_fault("redis:" + std::string(33, 'A')).ok());
  EXPECT_FALSE(changes_answer(parsed("redis:LOADING")));
  EXPECT_EQ(needs(parsed("redis:nil")), FaultNeeds::kRedis);
  EXPECT_EQ(needs(parsed("status:503")), FaultNeeds::kHttp);
  EXPECT_NE(fault_key(parsed("redis:nil")), fault_key(parsed("redis:LOADING")));
}

TEST(FaultText, SaysWhatWasMeant) {
  const struct {
    const char *text, *said;
  } rows[] = {
      {"grpc:UNAVAILBLE", "'UNAVAILBLE' is no gRPC status code, did you mean 'UNAVAILABLE'?"},
      {"grpc:unavailable", "did you mean 'UNAVAILABLE'?"},
      {"grpc:DeadlineExceeded", "did you mean 'DEADLINE_EXCEEDED'?"},
      {"grpc:not-found:after", "did you mean 'NOT_FOUND'?"},
      {"grpc:17", "'17' is no gRPC status code (1 to 16, or CANCELLED, UNKNOWN, "},
      {"grpc:OK", "'OK' is the code of success, not of a failure"},
      {"grpc:0", "'0' is the code of success, not of a failure"},
      {"grpc", "the status code is missing"},
      {"UNAVAILABLE", "there is no such kind, did you mean 'grpc:UNAVAILABLE'?"},
      {"stream-reset:CANCELLED", "'CANCELLED' is no error of a stream, did you mean 'CANCEL'?"},
      {"stream-reset:NO_ERROR", "'NO_ERROR' is no error of a stream"},
      {"stream-rest", "there is no such kind, did you mean 'stream-reset'?"},
      {"latency", "the time is missing"},
      {"latency:300", "a number with its unit"},
      {"empty-mesage", "did you mean 'empty-message'?"},
      {"reset@3", "it has no '@'"},
      {"grpc:ABORTED:after@3", "goes without ':after'"},
      {"grpc:ABORTED@0", "the number of a message"},
      {"redis", "the code of the error is missing, as in redis:LOADING"},
      {"redis:loading",
       "'loading' is no code of an error of Redis (1 to 32 capital letters, digits, '_' "
       "or '-', as in LOADING), did you mean 'LOADING'?"},
      {"redis:NIL", "did you mean 'nil'?"},
      {"redis:null", "did you mean 'nil'?"},
      {"redis:ERR no",
       "'ERR no' is no code of an error of Redis (1 to 32 capital letters, digits, '_' or "
       "'-', as in LOADING); expected"},
      {"READONLY", "there is no such kind, did you mean 'redis:READONLY'?"},
      {"redis:LOADING@1", "it has no '@'"},
      {"redis:LOADING:after", "it has no ':after'"},
      {"timout", "there is no such kind, did you mean 'timeout'?"},
      {"sudden", "there is no such kind; expected refused, "},
  };
  for (const auto& row : rows) {
    const auto fault = parse_fault(row.text);
    ASSERT_FALSE(fault.ok()) << row.text;
    EXPECT_NE(fault.error().message.find(row.said), std::string::npos) << fault.error().message;
  }
}

TEST(FaultText, WhatIsNotAFaultIsRefusedWithTheAcceptedForms) {
  for (const char* text : {"",
                           ":",
                           "none",
                           "Refused",
                           "refused ",
                           "refused:",
                           "refused:after",
                           "refused:503",
                           "reset:",
                           "reset:before",
                           "reset:after:",
                           "reset:after:after",
                           "timeout:1",
                           "status",
                           "status:",
                           "status::after",
                           "status:199",
                           "status:600",
                           "status:99",
                           "status:5033",
                           "status:5x3",
                           "status:-20",
                           "status: 50",
                           "status:503:",
                           "status:503:before",
                           "status:503:after:x",
                           "grpc",
                           "grpc:",
                           "grpc::after",
                           "grpc:OK",
                           "grpc:17",
                           "grpc:UNAVAILABLE ",
                           "grpc:UNAVAILABLE:before",
                           "grpc:UNAVAILABLE:after:after",
                           "stream-reset:",
                           "stream-reset:after:CANCEL",
                           "goaway:after",
                           "goaway@1",
                           "slow-body:",
                           "slow-body:after",
                           "slow-body@2",
                           "latency",
                           "latency:",
                           "latency:0s",
                           "latency:1.s",
                           "latency:3601s",
                           "latency:61m",
                           "latency:2h",
                           "latency:1s:after",
                           "latency:1s@",
                           "latency:1s@x",
                           "grpc:ABORTED@1000001",
                           "grpc@1:ABORTED",
                           "no-trailers:after",
                           "redis:",
                           "redis::after",
                           "redis:Loading",
                           "redis:LOADING:x",
                           "@1",
                           "503"}) {
    const auto fault = parse_fault(text);
    ASSERT_FALSE(fault.ok()) << text;
    const std::string& message = fault.error().message;
    EXPECT_EQ(message.find("'" + std::string(text) + "' is not a fault: "), 0u) << message;
    EXPECT_NE(message.find("status:503:after"), std::string::npos) << message;
  }
}

TEST(FaultText, ASlowBodyWithoutATimeStops) {
  EXPECT_TRUE(stalls(parsed("slow-body")));
  EXPECT_EQ(to_text(parsed("slow-body")), "slow-body");
  EXPECT_FALSE(stalls(parsed("slow-body:2s")));
  EXPECT_EQ(to_text(parsed("slow-body:2s")), "slow-body:2s");
  EXPECT_FALSE(stalls(parsed("timeout")));
}

TEST(FaultText, NoFaultIsCalledNone) {
  EXPECT_EQ(to_text(FaultSpec{}), "none");
}

TEST(FaultKey, TellsApartWhatTheTextLeavesOut) {
  FaultSpec plain = parsed("grpc:INTERNAL");
  EXPECT_EQ(fault_key(plain), "grpc:INTERNAL");
  FaultSpec message = plain, details = plain;
  message.message = "no stock";
  details.details = "no stock";
  EXPECT_EQ(fault_key(message).find("grpc:INTERNAL#"), 0u) << fault_key(message);
  EXPECT_NE(fault_key(message), fault_key(details));
}

TEST(FaultKinds, HaveOneRowEachAndAreFoundByTheirName) {
  EXPECT_EQ(fault_kinds().size(), 16u);
  for (const FaultKindRow& row : fault_kinds()) {
    EXPECT_FALSE(row.meaning.empty());
    const std::string text =
        std::string(row.name) + (row.argument == FaultArgument::kStatus       ? ":500"
                                 : row.argument == FaultArgument::kCode       ? ":ABORTED"
                                 : row.argument == FaultArgument::kTime       ? ":5ms"
                                 : row.argument == FaultArgument::kTimeOrNone ? ":2s"
                                 : row.argument == FaultArgument::kReply      ? ":OOM"
                                 : row.argument == FaultArgument::kDelta      ? ":-3"
                                 : row.argument == FaultArgument::kTls        ? ":unknown-ca"
                                                                              : "");
    EXPECT_EQ(parsed(text).kind, row.kind);
    EXPECT_EQ(parse_fault(text + ":after").ok(), row.can_be_after) << text;
    EXPECT_EQ(parse_fault(text + "@2").ok(), row.can_be_at_message) << text;
    EXPECT_EQ(needs(parsed(text)), row.needs);
  }
}

TEST(FaultKinds, FaultsOfTheHandshakeAreNamed) {
  for (const char* text : {"tls:certificate-expired", "tls:unknown-ca", "tls:handshake-timeout",
                           "tls:closed-without-notify"}) {
    EXPECT_EQ(to_text(parsed(text)), text);
    EXPECT_TRUE(is_at_connect(parsed(text).kind));
  }
  for (const char* text : {"tls", "tls:", "tls:unknown-ca:after", "tls:expired-certificate"})
    EXPECT_FALSE(parse_fault(text).ok()) << text;
}

TEST(FaultDefaults, AreThoseOfTheDocumentation) {
  std::string all;
  for (const FaultSpec& fault : default_http_faults()) all += to_text(fault) + " ";
  EXPECT_EQ(all, "refused timeout status:500 status:502 status:503 ");
  all.clear();
  for (const FaultSpec& fault : default_grpc_faults()) all += to_text(fault) + " ";
  EXPECT_EQ(all,
            "grpc:UNAVAILABLE grpc:DEADLINE_EXCEEDED grpc:INTERNAL grpc:UNIMPLEMENTED "
            "grpc:UNKNOWN ");
}

std::string redis_defaults(std::string_view method, std::string_view resource = "") {
  std::string all;
  for (const FaultSpec& fault : default_redis_faults(method, resource)) all += to_text(fault) + " ";
  return all;
}

TEST(FaultDefaults, OfRedisDependOnTheCommand) {
  const std::string any = "refused timeout redis:LOADING ";
  EXPECT_EQ(redis_defaults("GET", "user:*"), any);
  EXPECT_EQ(redis_defaults("JSON.SET", "user:*"), any);
  EXPECT_EQ(redis_defaults("DEL", "SET"), any + "redis:READONLY ");
  EXPECT_EQ(redis_defaults("SET", "user:*"), any + "redis:READONLY redis:OOM ");
  EXPECT_EQ(redis_defaults("EVALSHA"), any + "redis:READONLY redis:OOM ");
}

TEST(FaultDefaults, OfATransactionAreThoseOfItsCommands) {
  const std::string any = "refused timeout redis:LOADING ";
  EXPECT_EQ(redis_defaults("MULTI", ""), any);
  EXPECT_EQ(redis_defaults("MULTI", "GET user:*, PING"), any);
  EXPECT_EQ(redis_defaults("MULTI", "GET user:*, EXPIRE user:*"), any + "redis:READONLY ");
  EXPECT_EQ(redis_defaults("MULTI", "PING, DEL a, INCR visits"), any + "redis:READONLY redis:OOM ");
}

TEST(FaultRedisLine, HasTheWordsOfRedisWhereThereAreNoOthers) {
  FaultSpec fault = parsed("redis:LOADING");
  EXPECT_EQ(redis_error_line(fault), "LOADING Redis is loading the dataset in memory");
  EXPECT_EQ(redis_error_line(parsed("redis:OOM")),
            "OOM command not allowed when used memory > 'maxmemory'.");
  EXPECT_EQ(redis_error_line(parsed("redis:READONLY")),
            "READONLY You can't write against a read only replica.");
  EXPECT_EQ(redis_error_line(parsed("redis:MINE")), "MINE");
  EXPECT_EQ(redis_error_line(parsed("redis:nil")), "");
  fault.message = "later\r\nplease";
  EXPECT_EQ(redis_error_line(fault), "LOADING later  please");
  EXPECT_NE(fault_key(fault), fault_key(parsed("redis:LOADING")));
  for (const char* code : {"BUSY", "BUSYGROUP", "CLUSTERDOWN", "EXECABORT", "MASTERDOWN", "MISCONF",
                           "NOAUTH", "NOREPLICAS", "NOSCRIPT", "TRYAGAIN", "WRONGTYPE"}) {
    EXPECT_GT(redis_error_line(parsed("redis:" + std::string(code))).size(), std::strlen(code) + 1);
  }
}

FaultSpec status_fault(uint16_t status, std::string body = "") {
  FaultSpec fault;
  fault.kind = FaultKind::kStatus;
  fault.status = status;
  fault.body = std::move(body);
  return fault;
}

TEST(FaultResponse, IsCompleteAndClosesTheConnection) {
  FaultSpec fault = status_fault(503, "{\"error\":1}");
  fault.headers = {{"Content-Type", "application/json"}, {"Retry-After", "1"}};
  const std::string head =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 11\r\nConnection: close\r\n"
      "Content-Type: application/json\r\nRetry-After: 1\r\n\r\n";
  EXPECT_EQ(render_http_response(fault, false), head + "{\"error\":1}");
  EXPECT_EQ(render_http_response(fault, true), head);
}

TEST(FaultResponse, WithoutABodySaysSo) {
  EXPECT_EQ(render_http_response(status_fault(500), false),
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST(FaultResponse, OfAnUnregisteredStatusHasAReasonToo) {
  for (uint16_t status : {299, 419, 599}) {
    EXPECT_EQ(render_http_response(status_fault(status), false)
                  .find("HTTP/1.1 " + std::to_string(status) + " Injected\r\n"),
              0u);
  }
}

TEST(FaultResponse, OfABodylessStatusHasNoBody) {
  EXPECT_EQ(render_http_response(status_fault(204, "x"), false),
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(render_http_response(status_fault(304, "x"), false),
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 1\r\nConnection: close\r\n\r\n");
}

TEST(FaultResponse, FieldsThatWouldBreakTheFramingAreLeftOut) {
  FaultSpec fault = status_fault(502);
  fault.headers = {{"Content-Length", "99"},
                   {"CONNECTION", "keep-alive"},
                   {"transfer-encoding", "chunked"},
                   {"", "empty"},
                   {"a b", "space"},
                   {"a:b", "colon"},
                   {"a\r\nX", "name"},
                   {"value", "x\r\nX: y"},
                   {"nul", std::string("a\0b", 3)},
                   {"kept", ""}};
  EXPECT_EQ(render_http_response(fault, false),
            "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\nkept: \r\n\r\n");
}

}  // namespace
}  // namespace filibuster
