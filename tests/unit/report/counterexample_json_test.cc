#include "daemon/report/counterexample_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/model/counterexample.h"
#include "daemon/report/finding_text.h"
#include "tests/unit/report/report_recipe.h"

namespace filibuster::test {
namespace {

TEST(Counterexamples, KeepTheProtocolOfACall) {
  Counterexample written;
  written.faults = {redis_fault("redis:BUSY"), grpc_fault("grpc:14", ""), fault(2, "refused")};
  auto read = parse_counterexample(to_json(written));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->faults[0].protocol, Protocol::kRedis);
  EXPECT_EQ(read->faults[1].protocol, Protocol::kGrpc);
  EXPECT_EQ(read->faults[2].protocol, Protocol::kHttp);
  // Of one that was written before there was the member.
  auto older = nlohmann::json::parse(to_json(written));
  for (auto& one : older["faults"]) one.erase("protocol");
  read = parse_counterexample(older.dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->faults[1].protocol, Protocol::kGrpc);
  EXPECT_EQ(read->faults[2].protocol, Protocol::kHttp);
}

TEST(Counterexamples, KeepTheHangLimitThatWasInForce) {
  Counterexample written;
  written.hang_limit_ms = 6000;
  auto file = nlohmann::json::parse(to_json(written));
  auto read = parse_counterexample(file.dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->hang_limit_ms, 6000u);
  file.erase("hang_limit_ms");  // of an older version
  read = parse_counterexample(file.dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->hang_limit_ms, 0u);
}

TEST(Counterexamples, AreReadAsTheyWereWritten) {
  Counterexample out;
  out.test = "bookings";
  out.config_path = "filibuster.json";
  out.config_text = "{\"version\": 1, \"tests\": []}";
  out.directory = "/app";
  out.faults = {fault(1, "status:503"), fault(2, "refused")};
  out.verdict = "failed";
  out.detail = "exit status 1";
  out.output = "out";
  const auto in = parse_counterexample(to_json(out));
  ASSERT_TRUE(in.ok()) << in.error().message;
  EXPECT_EQ(in->test, out.test);
  EXPECT_EQ(in->config_text, out.config_text);
  EXPECT_EQ(in->directory, out.directory);
  EXPECT_EQ(in->verdict, out.verdict);
  ASSERT_EQ(in->faults.size(), 2u);
  EXPECT_EQ(in->faults[0].index, out.faults[0].index);
  EXPECT_EQ(in->faults[0].fault, "status:503");
  EXPECT_EQ(in->faults[0].connect_key, out.faults[0].connect_key);
  EXPECT_EQ(in->faults[0].signature, out.faults[0].signature);
  EXPECT_EQ(in->faults[0].parent, out.faults[0].parent);
  EXPECT_EQ(in->faults[0].stack, out.faults[0].stack);
  EXPECT_EQ(in->faults[0].count, 2u);
}

TEST(Counterexamples, KeepWhatAGrpcFaultIs) {
  Counterexample out;
  out.faults = {grpc_fault("grpc:14", "no stock")};
  const auto in = parse_counterexample(to_json(out));
  ASSERT_TRUE(in.ok()) << in.error().message;
  EXPECT_EQ(in->faults[0].protocol, Protocol::kGrpc);
  EXPECT_EQ(in->faults[0].key, out.faults[0].key);
  EXPECT_NE(in->faults[0].key, "");
  EXPECT_EQ(in->faults[0].message, "no stock");
}

TEST(Counterexamples, OfBeforeThereWasGrpcAreRead) {
  Counterexample out;
  out.faults = {fault(1, "refused")};
  auto json = nlohmann::json::parse(to_json(out));
  for (const char* later : {"protocol", "grpc", "key", "message"}) json["faults"][0].erase(later);
  const auto in = parse_counterexample(json.dump());
  ASSERT_TRUE(in.ok()) << in.error().message;
  EXPECT_EQ(in->faults[0].protocol, Protocol::kHttp);
}

TEST(Counterexamples, ThatAreNotValidAreNamedWithWhatWasExpected) {
  const auto problem = [](const std::string& text) {
    const auto read = parse_counterexample(text);
    return read.ok() ? std::string() : read.error().message;
  };
  EXPECT_NE(problem("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(problem("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(problem("{}").find("no version"), std::string::npos);
  EXPECT_NE(problem("{\"version\": 2}").find("version 2"), std::string::npos);
  Counterexample valid;
  valid.faults = {fault(1, "refused")};
  auto json = nlohmann::json::parse(to_json(valid));
  json["faults"][0]["index"] = "xyz";
  EXPECT_NE(problem(json.dump()).find("faults.index: expected 32 hexadecimal digits"),
            std::string::npos);
  json["faults"][0].erase("index");
  EXPECT_FALSE(problem(json.dump()).empty());
  json["faults"] = 3;
  EXPECT_NE(problem(json.dump()).find("faults: expected a list"), std::string::npos);
  json.erase("test");
  EXPECT_NE(problem(json.dump()).find("counterexample.test: expected a text"), std::string::npos);
}

TEST(Report, TellsCallsApartThatDifferByTheirQuery) {
  InjectedFault one = fault(1, "refused");
  one.path = "/search";
  one.query = "?kind=book&token=s3cret";
  EXPECT_EQ(call_text(one), "users -> bookings  GET /search?kind=book&token=[redacted]");
  Counterexample counterexample;
  counterexample.faults = {one};
  const std::string text = to_json(counterexample);
  EXPECT_EQ(text.find("s3cret"), std::string::npos);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["faults"][0]["query"], "?kind=book&token=[redacted]");
}

}  // namespace
}  // namespace filibuster::test
