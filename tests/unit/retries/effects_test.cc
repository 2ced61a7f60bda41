#include "daemon/retries/effects.h"

#include <gtest/gtest.h>

#include "daemon/retries/groups.h"
#include "tests/unit/retries/recipe.h"

namespace filibuster::retries {
namespace {

RpcRecord with_field(RpcRecord out, const std::string& name, const std::string& value) {
  out.told.emplace_back(name, value);
  return out;
}
RpcRecord with_body(RpcRecord out, const std::string& body) {
  out.body_sample = body;
  return out;
}
RpcRecord named(const std::string& target, const std::string& body = "{}") {
  return with_body(with_field(rpc("POST", "/"), "x-amz-target", target), body);
}
RpcRecord form(const std::string& body) {
  return with_body(rpc("POST", "/"), body);
}
RpcRecord azure(const std::string& method, const std::string& target) {
  return with_field(rpc(method, target), "x-ms-version", "2021-12-02");
}
RpcRecord s3(const std::string& method, const std::string& target) {
  return with_field(rpc(method, target), "x-amz-content-sha256", "UNSIGNED-PAYLOAD");
}

struct Known {
  RpcRecord request;
  Effect effect;
};

void expect(const std::vector<Known>& known) {
  for (const Known& one : known) {
    EXPECT_EQ(effect_name(effect_of(one.request)), effect_name(one.effect))
        << one.request.method << ' ' << one.request.target << ' ' << operation_of(one.request)
        << ' ' << one.request.body_sample;
  }
}

TEST(Effects, OfAMethodWhereNothingElseIsKnown) {
  expect({{rpc("GET", "/a"), Effect::kRead},
          {rpc("HEAD", "/a"), Effect::kRead},
          {rpc("PUT", "/a?comp=appendblock"), Effect::kRepeatable},
          {rpc("DELETE", "/a"), Effect::kRepeatable},
          {rpc("POST", "/a?select"), Effect::kUnknown},
          {rpc("PATCH", "/a"), Effect::kUnknown},
          // Such a form is not AWS'.
          {form("Action=GetTopicAttributes&name=a"), Effect::kUnknown}});
  RpcRecord redis = rpc("GET", "user:*");
  redis.flags = kRpcRedis;
  expect({{redis, Effect::kUnknown}});
}

TEST(Effects, OfTheOperationInAHeaderField) {
  const std::string dynamo = "DynamoDB_20120810.", kinesis = "Kinesis_20131202.";
  for (const char* name : {"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan",
                           "DescribeTable", "ListTables", "ListTagsOfResource"})
    expect({{named(dynamo + name), Effect::kRead}});
  for (const char* name : {"GetRecords", "GetShardIterator", "ListShards", "DescribeStreamSummary"})
    expect({{named(kinesis + name), Effect::kRead}});
  for (const char* name : {"GetQueueUrl", "GetQueueAttributes", "ListQueues"})
    expect({{named(std::string("AmazonSQS.") + name), Effect::kRead}});
  expect(
      {{named("AmazonSQS.ReceiveMessage"), Effect::kRepeatable},
       {named("AmazonSQS.DeleteMessage"), Effect::kRepeatable},
       {named("AmazonSQS.SendMessage", R"({"QueueUrl":"http://a/1/q","MessageBody":"a"})"),
        Effect::kWrite},
       {named("AmazonSQS.SendMessage", R"({"QueueUrl":"http://a/1/q.fifo","MessageBody":"a"})"),
        Effect::kRepeatable},
       {named(dynamo + "PutItem"), Effect::kRepeatable},
       {named(dynamo + "DeleteItem"), Effect::kRepeatable},
       {named(dynamo + "TransactWriteItems"), Effect::kWrite},
       {named(dynamo + "TransactWriteItems", R"({"ClientRequestToken":"1"})"), Effect::kRepeatable},
       {named(dynamo + "ExecuteStatement", R"({"Statement":"INSERT INTO t VALUE {}"})"),
        Effect::kWrite},
       {named(dynamo + "ExecuteStatement", R"({"Statement": "SELECT * FROM t"})"), Effect::kRead},
       {named(kinesis + "PutRecord"), Effect::kWrite},
       {named("secretsmanager.GetSecretValue"), Effect::kRead},
       {named("AWSEvents.PutEvents"), Effect::kWrite}});
}

TEST(Effects, OfAnUpdateByItsExpression) {
  const auto update = [](const std::string& expression) {
    return named("DynamoDB_20120810.UpdateItem",
                 R"({"TableName":"t","UpdateExpression":")" + expression + R"(","Key":{}})");
  };
  expect({{update("SET a = :a, b = :b"), Effect::kRepeatable},
          {update("REMOVE a"), Effect::kRepeatable},
          {update("SET n = n + :one"), Effect::kWrite},
          {update("SET n = n - :one"), Effect::kWrite},
          {update("SET l = list_append(l, :a)"), Effect::kWrite},
          {update("SET a = :a ADD n :one"), Effect::kWrite},
          // Its end is not known.
          {named("DynamoDB_20120810.UpdateItem", R"({"UpdateExpression":"SET a = :a, )"),
           Effect::kWrite}});
}

TEST(Effects, OfTheActionOfAFormOrAQuery) {
  expect({{form("Action=GetQueueUrl&Version=2012-11-05&QueueName=q"), Effect::kRead},
          {form("Action=ReceiveMessage&Version=2012-11-05"), Effect::kRepeatable},
          {form("Action=SendMessage&Version=2012-11-05&MessageBody=a"), Effect::kWrite},
          {form("TopicArn=t&Message=a&Action=Publish&Version=2010-03-31"), Effect::kWrite},
          {form("Action=ListTopics&Version=2010-03-31"), Effect::kRead},
          {rpc("GET", "/?Action=SendMessage&MessageBody=a&Version=2012-11-05"), Effect::kWrite},
          {rpc("GET", "/?Action=ListQueues&Version=2012-11-05"), Effect::kRead}});
}

TEST(Effects, OfAzureStorage) {
  expect({{azure("GET", "/c/b"), Effect::kRead},
          {azure("PUT", "/c/b"), Effect::kRepeatable},
          {azure("PUT", "/c/b?comp=block&blockid=1"), Effect::kRepeatable},
          {azure("PUT", "/c/b?comp=appendblock"), Effect::kWrite},
          {azure("PUT", "/c/b?timeout=3&comp=snapshot"), Effect::kWrite},
          {azure("PUT", "/c?restype=container"), Effect::kRepeatable},
          {azure("POST", "/c/b?comp=query"), Effect::kRead},
          {azure("POST", "/?restype=service&comp=userdelegationkey"), Effect::kRead},
          {azure("POST", "/?comp=batch"), Effect::kRepeatable},
          {azure("POST", "/q/messages"), Effect::kWrite},
          {azure("GET", "/q/messages"), Effect::kRepeatable},
          {azure("GET", "/q/messages?peekonly=true"), Effect::kRead},
          {azure("DELETE", "/q/messages/1?popreceipt=a"), Effect::kRepeatable},
          {azure("POST", "/Tables"), Effect::kWrite},
          {azure("PATCH", "/t(PartitionKey='a',RowKey='b')"), Effect::kRepeatable},
          {azure("PATCH", "/fs/file?action=append&position=0"), Effect::kRepeatable},
          // Other services of Azure have the same header fields.
          {azure("PATCH", "/dbs/d/colls/c/docs/1"), Effect::kUnknown}});
  RpcRecord by_host = rpc("PUT", "/c/b?comp=appendblock");
  by_host.service = "Acme.Blob.core.windows.net";
  const RpcRecord by_id =
      with_id(rpc("PUT", "/c/b?comp=appendblock"), "x-ms-client-request-id", "1");
  expect({{by_host, Effect::kWrite}, {by_id, Effect::kWrite}});
}

TEST(Effects, OfS3) {
  expect({{s3("GET", "/b/k"), Effect::kRead},
          {s3("PUT", "/b/k"), Effect::kRepeatable},
          {s3("POST", "/b/k?uploads"), Effect::kWrite},
          {s3("POST", "/b/k?uploads="), Effect::kWrite},
          {s3("POST", "/b/k?uploadId=1"), Effect::kRepeatable},
          {s3("POST", "/b?delete"), Effect::kRepeatable},
          {s3("POST", "/b/k?select&select-type=2"), Effect::kRead},
          {s3("POST", "/b/k?restore"), Effect::kRepeatable},
          {s3("POST", "/b/k"), Effect::kUnknown}});
}

TEST(Effects, OfGoogleCloudStorage) {
  expect({{rpc("GET", "/storage/v1/b/c/o"), Effect::kRead},
          {rpc("POST", "/upload/storage/v1/b/c/o?uploadType=media&name=a"), Effect::kRepeatable},
          {rpc("POST", "/storage/v1/b?project=p"), Effect::kRepeatable},
          {rpc("POST", "/storage/v1/b/c/o/a/rewriteTo/b/d/o/a"), Effect::kRepeatable},
          {rpc("POST", "/storage/v1/b/c/o/a/compose"), Effect::kWrite},
          {rpc("POST", "/storage/v1/b/c/notificationConfigs"), Effect::kWrite},
          {rpc("PATCH", "/storage/v1/b/c/o/a"), Effect::kRepeatable}});
  RpcRecord xml = rpc("POST", "/a?uploads");
  xml.service = "bucket.storage.googleapis.com";
  expect({{xml, Effect::kWrite}});
}

TEST(Effects, SayWhatMustNotBeDoneTwiceUnlessARuleSaysAnotherThing) {
  EXPECT_FALSE(is_unsafe_mutation(named("DynamoDB_20120810.Query"), {}));
  EXPECT_TRUE(is_unsafe_mutation(named("DynamoDB_20120810.UpdateItem"), {}));
  EXPECT_TRUE(is_unsafe_mutation(azure("PUT", "/c/b?comp=appendblock"), {}));
  EXPECT_FALSE(is_unsafe_mutation(
      named("DynamoDB_20120810.UpdateItem"),
      {{.header = "x-amz-target", .header_value = "*.UpdateItem", .idempotent = true}}));
  EXPECT_TRUE(is_unsafe_mutation(
      named("DynamoDB_20120810.UpdateItem"),
      {{.header = "x-amz-target", .header_value = "*.PutItem", .idempotent = true}}));
  EXPECT_TRUE(is_unsafe_mutation(with_field(rpc("PUT", "/"), "x-operation", "Charge"),
                                 {{.header = "x-operation", .header_value = "Ch*"}}));
  EXPECT_FALSE(
      is_unsafe_mutation(rpc("PUT", "/"), {{.header = "x-operation", .header_value = "*"}}));
}

}  // namespace
}  // namespace filibuster::retries
