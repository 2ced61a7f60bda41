#include "daemon/retries/policies.h"

#include <gtest/gtest.h>

#include "core/fault/attempts.h"
#include "tests/unit/retries/recipe.h"

namespace filibuster::retries {
namespace {

const Policy& find(const std::vector<Policy>& all, std::string_view name) {
  for (const Policy& one : all) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << "no policy " << name;
  return all.front();
}

TEST(Policies, AreTheFourOfRainmakerAndTwoFormsWithoutASilence) {
  const auto all = all_policies({});
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(to_text(find(all, "P1-reset").attempts), "reset:after when=1");
  EXPECT_EQ(to_text(find(all, "P2-reset").attempts), "reset:after when=1+");
  EXPECT_EQ(to_text(find(all, "P1").attempts), "timeout:after when=1");
  EXPECT_EQ(to_text(find(all, "P2").attempts), "timeout:after when=1+");
  EXPECT_EQ(to_text(find(all, "P3").attempts), "status:503 when=1+");
  EXPECT_EQ(to_text(find(all, "P4").attempts), "timeout:after, status:503 when=2+");
}

TEST(Policies, ThreeAreLeftWhereAClientDoesNotRetry) {
  const auto all = all_policies({});
  std::string left;
  for (const Policy* policy : policies_for(all, false)) left += policy->name;
  EXPECT_EQ(left, "P1-resetP1P3");
  EXPECT_EQ(policies_for(all, true).size(), 6u);
}

TEST(Policies, OfTheConfigurationStandBesideThem) {
  RetriesConfig config;
  config.policies.push_back({"twice", parse_fault("429 when=1..2").value(), false, 3});
  config.policies.push_back({"busy", parse_fault("status:429").value(), true, 4});
  const auto all = all_policies(config);
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(to_text(find(all, "twice").attempts), "status:429 when=1..2");
  EXPECT_EQ(to_text(find(all, "busy").attempts), "status:429 when=1+") << "one fault is for all";
  EXPECT_TRUE(find(all, "busy").without_retries);
}

TEST(Policies, AreChosenByName) {
  const auto all = all_policies({});
  const auto some = choose_policies(all, "P4,P1");
  ASSERT_TRUE(some.ok());
  ASSERT_EQ(some->size(), 2u);
  EXPECT_EQ(some.value()[0].name, "P1");
  EXPECT_EQ(choose_policies(all, "")->size(), 6u);
  const auto wrong = choose_policies(all, "P1,P9");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("P1-reset, P1, P2-reset, P2, P3, P4"), std::string::npos);
}

TEST(Policies, CountTheSilencesThatACallerWaitsFor) {
  const auto all = all_policies({});
  EXPECT_EQ(find(all, "P1").silences(3), 1u);
  EXPECT_EQ(find(all, "P2-reset").silences(3), 0u);
  EXPECT_EQ(find(all, "P2").silences(3), 3u);
  EXPECT_EQ(find(all, "P3").silences(3), 0u);
  EXPECT_EQ(find(all, "P4").silences(3), 1u);
}

TEST(Policies, AreForCallsThatSucceedWithoutAFault) {
  const auto all = all_policies({});
  EXPECT_TRUE(fault_for(find(all, "P1"), rpc("GET", "/a")).ok());
  for (const RpcRecord& reference :
       {answered(rpc("GET", "/a"), 404), timed_out(rpc("GET", "/a"))}) {
    const auto fault = fault_for(find(all, "P1"), reference);
    ASSERT_FALSE(fault.ok());
    EXPECT_NE(fault.error().message.find("error without a fault"), std::string::npos);
  }
  RpcRecord redis = rpc("GET", "user:*");
  redis.flags = kRpcRedis;
  EXPECT_FALSE(fault_for(find(all, "P1"), redis).ok());
}

TEST(Policies, ThatKeepRequestsFromTheServerFitErrorsThatAreExpected) {
  RetriesConfig config;
  config.policies.push_back({"late", parse_fault("503, timeout:after").value(), true, 1});
  config.policies.push_back({"busy", parse_fault("429 when=1..2").value(), true, 2});
  const auto all = all_policies(config);
  const RpcRecord conflict = answered(rpc("PUT", "/a"), 409);
  const auto fits = [&](const char* name, const RpcRecord& reference, bool goes_on) {
    return fault_for(find(all, name), reference, goes_on).ok();
  };
  EXPECT_TRUE(fits("P3", conflict, true));
  EXPECT_TRUE(fits("busy", conflict, true));
  EXPECT_FALSE(fits("P3", conflict, false));
  EXPECT_FALSE(fits("P3", timed_out(rpc("PUT", "/a")), true));
  for (const char* name : {"P1", "P2", "P4", "late"}) EXPECT_FALSE(fits(name, conflict, true));
  std::string left;
  for (const Policy* policy : policies_for(all, true, true)) left += policy->name + " ";
  EXPECT_EQ(left, "P3 busy ");
}

TEST(AnswerTemplates, AreChosenByTheSignsOfTheService) {
  const auto name = [](const ServiceSigns& signs) {
    const AnswerTemplate* row = template_for(signs);
    return row == nullptr ? std::string_view("none") : row->name;
  };
  EXPECT_EQ(name({.host = "shop.blob.core.windows.net"}), "azure-storage");
  EXPECT_EQ(name({.host = "shop.table.core.windows.net"}), "azure-table");
  EXPECT_EQ(name({.host = "127.0.0.1", .request_fields = {"x-ms-client-request-id"}}),
            "azure-storage");
  EXPECT_EQ(name({.host = "127.0.0.1",
                  .request_fields = {"dataserviceversion", "x-ms-client-request-id"}}),
            "azure-table");
  EXPECT_EQ(name({.host = "shop.s3.amazonaws.com"}), "aws-s3");
  EXPECT_EQ(name({.host = "dynamodb.eu-west-1.amazonaws.com", .answer_sample = "{\"Item\":"}),
            "aws-json");
  EXPECT_EQ(name({.host = "127.0.0.1", .request_fields = {"x-amz-target"}}), "aws-json");
  EXPECT_EQ(name({.host = "127.0.0.1", .answer_fields = {{"x-amz-request-id", "1"}}}), "aws-s3");
  EXPECT_EQ(name({.host = "store", .answer_sample = "{\"a\":1}"}), "problem");
  EXPECT_EQ(name({.host = "store", .answer_sample = "<html>"}), "none");
  EXPECT_EQ(name({.host = "store", .grpc = true}), "grpc");
}

TEST(AnswerTemplates, MakeTheErrorThatTheServiceWouldSend) {
  const FaultSpec busy = parse_fault("status:503").value();
  const FaultSpec azure = as_service_says(busy, {.host = "a.queue.core.windows.net"});
  EXPECT_NE(azure.body.find("<Code>ServerBusy</Code>"), std::string::npos);
  EXPECT_EQ(error_code_of(azure), "ServerBusy");
  ASSERT_EQ(azure.headers.size(), 3u);
  EXPECT_EQ(azure.headers[0],
            (std::pair<std::string, std::string>("Content-Type", "application/xml")));
  EXPECT_EQ(azure.headers[2],
            (std::pair<std::string, std::string>("x-ms-error-code", "ServerBusy")));
  EXPECT_EQ(error_code_of(as_service_says(busy, {.request_fields = {"x-amz-target"}})),
            "ServiceUnavailableException");
  const FaultSpec problem = as_service_says(busy, {.answer_sample = "{"});
  EXPECT_EQ(problem.body, R"({"type":"about:blank","title":"Service Unavailable","status":503})");
  const FaultSpec grpc = as_service_says(busy, {.grpc = true});
  EXPECT_EQ(to_text(grpc), "grpc:UNAVAILABLE");
}

TEST(AnswerTemplates, LeaveWhatHasABodyOfItsOwnAndWhatIsNoStatus) {
  FaultSpec own = parse_fault("status:503").value();
  own.body = "mine";
  EXPECT_EQ(as_service_says(own, {.answer_sample = "{"}), own);
  const FaultSpec timeout = parse_fault("timeout:after").value();
  EXPECT_EQ(as_service_says(timeout, {.answer_sample = "{"}), timeout);
}

TEST(AnswerTemplates, AreFilledIntoTheAttemptsOfASequence) {
  RpcRecord reference = rpc("GET", "/a");
  reference.response_sample = "[]";
  const auto fault = fault_for(find(all_policies({}), "P4"), reference);
  ASSERT_TRUE(fault.ok());
  EXPECT_EQ(to_text(fault.value()), "timeout:after, status:503 when=2+");
  EXPECT_FALSE(fault->attempts.rules[1].outcome.body.empty());
  RpcRecord grpc = reference;
  grpc.flags = kRpcHttp2 | kRpcGrpc;
  grpc.grpc_status = 0;
  EXPECT_EQ(to_text(fault_for(find(all_policies({}), "P4"), grpc).value()),
            "timeout:after, grpc:UNAVAILABLE when=2+");
}

}  // namespace
}  // namespace filibuster::retries
