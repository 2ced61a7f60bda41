#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/report/json.h"
#include "tests/unit/report/report_recipe.h"

namespace filibuster::test {
namespace {

TEST(Json, SaysWhatServicesAnsweredByThemselvesAndWhatHadFailed) {
  SessionReport session = report();
  session.tests[0].observed = {
      {"users",
       "GET",
       "/users/7",
       Protocol::kHttp,
       "status:503",
       {{"movies", "GET", "/m", "UNAVAILABLE \"password=hunter2\"", true}}},
      {"cart", "POST", "/shop.Cart/Get", Protocol::kGrpc, "grpc:NOT_FOUND", {}}};
  const auto observed = nlohmann::json::parse(to_json(session))["tests"][0]["observed"];
  ASSERT_EQ(observed.size(), 2u);
  EXPECT_EQ(observed[0]["answer"], "status:503");
  EXPECT_EQ(observed[0]["grpc"], "");
  EXPECT_EQ(observed[0]["under"][0]["service"], "movies");
  EXPECT_EQ(observed[0]["under"][0]["injected"], true);
  EXPECT_EQ(observed.dump().find("hunter2"), std::string::npos);
  EXPECT_EQ(observed[1]["grpc"], "shop.Cart/Get");
}

TEST(Json, SaysWhatAnRpcSpeaksAndTheCodeOfItsFailure) {
  SessionReport session = report();
  RpcRecord rpc;
  rpc.open = false;
  rpc.outcome = RpcOutcome::kAnswered;
  rpc.status = 503;
  session.tests[0].reference = {rpc, rpc, rpc, rpc};
  std::vector<RpcRecord>& rpcs = session.tests[0].reference;
  rpcs[1].flags = kRpcHttp2 | kRpcGrpc, rpcs[1].status = 200, rpcs[1].grpc_status = 14;
  rpcs[2].flags = kRpcRedis, rpcs[2].status = 0;
  rpcs[2].code_space = CodeSpace::kRedis, rpcs[2].code = "LOADING";
  rpcs[3].flags = kRpcRedis, rpcs[3].status = 0;
  const auto rows = nlohmann::json::parse(to_json(session))["tests"][0]["reference"];
  const char* expected[][3] = {{"http", "http", "503"},
                               {"grpc", "grpc", "UNAVAILABLE"},
                               {"redis", "redis", "LOADING"},
                               {"redis", "", ""}};
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["protocol"], expected[i][0]);
    EXPECT_EQ(rows[i]["code_space"], expected[i][1]);
    EXPECT_EQ(rows[i]["code"], expected[i][2]);
  }
}

TEST(Json, SaysHowAGrpcCallEnded) {
  SessionReport session = report();
  RpcRecord& rpc = session.tests[0].reference[0];
  rpc.flags = kRpcGrpc;
  rpc.target = "/shop.CartService/GetCart";
  rpc.open = false;
  rpc.outcome = RpcOutcome::kAnswered;
  rpc.grpc_status = 5;
  rpc.grpc_message = "no such cart";
  const auto row = nlohmann::json::parse(to_json(session))["tests"][0]["reference"][0];
  EXPECT_EQ(row["grpc"], "shop.CartService/GetCart");
  EXPECT_EQ(row["grpc_status"], "NOT_FOUND");
  EXPECT_EQ(row["grpc_message"], "no such cart");
  EXPECT_EQ(row["stream_error"], "");
}

TEST(Json, OfASessionHasTheDocumentedMembersAndNoCredentials) {
  const std::string text = to_json(report());
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["exit_code"], 1);
  const auto& test = json["tests"][0];
  EXPECT_EQ(test["counts"]["executed"], 27);
  EXPECT_EQ(test["findings"][0]["faults"][0]["service_path"][1], "users");
  EXPECT_EQ(test["findings"][0]["reproduced"], true);
  EXPECT_EQ(test["findings"][0]["first"]["execution"], 4);
  EXPECT_EQ(test["dependencies_not_tested"][0]["times"], 3);
  EXPECT_EQ(text.find("s3cret"), std::string::npos);
  EXPECT_EQ(text.find("abc\\\""), std::string::npos);
  EXPECT_EQ(text.find("password=p"), std::string::npos);
}

TEST(Json, SurvivesOutputThatIsNotUtf8) {
  SessionReport session = report();
  session.tests[0].findings[0].minimal_execution.output = "\xff\xfe broken \xc3";
  EXPECT_TRUE(nlohmann::json::accept(to_json(session)));
}

}  // namespace
}  // namespace filibuster::test
