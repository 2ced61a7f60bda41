#include "daemon/descriptors/descriptor_set.h"

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/grpc/message_reader.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;
using Field = google::protobuf::FieldDescriptorProto;

void add_field(google::protobuf::DescriptorProto* type, const char* name, int number,
               Field::Type kind, const char* type_name = "",
               Field::Label label = Field::LABEL_OPTIONAL) {
  Field* field = type->add_field();
  field->set_name(name);
  field->set_number(number);
  field->set_type(kind);
  field->set_label(label);
  if (*type_name != '\0') field->set_type_name(type_name);
}

// package shop: message Cart { string cart_id = 1; }
// message Ask { string code = 1; int64 total = 2; Cart cart = 3; repeated string tags = 4;
//               google.protobuf.Timestamp at = 5; }
// service Pricing { rpc Adjust(Ask) returns (Cart); }
google::protobuf::FileDescriptorSet shop() {
  google::protobuf::FileDescriptorSet set;
  auto* file = set.add_file();
  file->set_name("shop.proto");
  file->set_package("shop");
  file->set_syntax("proto3");
  file->add_dependency("google/protobuf/timestamp.proto");  // which the set does not have
  auto* cart = file->add_message_type();
  cart->set_name("Cart");
  add_field(cart, "cart_id", 1, Field::TYPE_STRING);
  auto* ask = file->add_message_type();
  ask->set_name("Ask");
  add_field(ask, "code", 1, Field::TYPE_STRING);
  add_field(ask, "total", 2, Field::TYPE_INT64);
  add_field(ask, "cart", 3, Field::TYPE_MESSAGE, ".shop.Cart");
  add_field(ask, "tags", 4, Field::TYPE_STRING, "", Field::LABEL_REPEATED);
  add_field(ask, "at", 5, Field::TYPE_MESSAGE, ".google.protobuf.Timestamp");
  auto* service = file->add_service();
  service->set_name("Pricing");
  auto* method = service->add_method();
  method->set_name("Adjust");
  method->set_input_type(".shop.Ask");
  method->set_output_type(".shop.Cart");
  return set;
}

// code "DAILY", total 300, cart {cart_id "c1"}
const std::string kAsk(
    "\x0a\x05"
    "DAILY"
    "\x10\xac\x02"
    "\x1a\x04\x0a\x02"
    "c1",
    16);

std::string framed(const std::string& message, bool compressed = false) {
  char prefix[grpc::kPrefixSize];
  grpc::write_prefix(compressed, static_cast<uint32_t>(message.size()), prefix);
  return std::string(prefix, sizeof prefix) + message;
}

class DescriptorSetTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  void SetUp() override {
    const auto added = set_.add(write("shop.pb", shop().SerializeAsString()));
    ASSERT_TRUE(added.ok()) << added.error().message;
  }
  std::string problem(const std::string& sample, const char* path = "/shop.Pricing/Adjust") const {
    const auto read = set_.request(path, sample);
    return read.ok() ? "" : read.error().message;
  }
  std::string asked(const std::string& grpc, const std::string& arguments) const {
    const auto question = set_.question(grpc, arguments);
    return question.ok() ? question->dump() : question.error().message;
  }
  TemporaryFolder folder_;
  DescriptorSet set_;
};

TEST_F(DescriptorSetTest, ReadsTheFirstMessageOfACall) {
  const auto read = set_.request("/shop.Pricing/Adjust", framed(kAsk) + framed("next"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->whole);
  EXPECT_EQ(Json::parse(read->json), (Json{{"code", "DAILY"},
                                           {"total", "300"},
                                           {"cart", {{"cart_id", "c1"}}},
                                           {"tags", Json::array()}}));
  EXPECT_TRUE(set_.request("/shop.Pricing/Adjust", framed("")).ok());
}

TEST_F(DescriptorSetTest, OfAMessageThatWasCutReadsTheWholeFields) {
  // Behind the tag, within a number, within a nested message.
  const std::pair<size_t, Json> rows[] = {{7, {{"code", "DAILY"}}},
                                          {9, {{"code", "DAILY"}}},
                                          {10, {{"code", "DAILY"}, {"total", "300"}}},
                                          {14, {{"code", "DAILY"}, {"total", "300"}}},
                                          {3, Json::object()},
                                          {0, Json::object()}};
  for (const auto& [size, expected] : rows) {
    const auto read =
        set_.request("/shop.Pricing/Adjust", framed(kAsk).substr(0, grpc::kPrefixSize + size));
    ASSERT_TRUE(read.ok()) << size << ": " << read.error().message;
    EXPECT_FALSE(read->whole);
    EXPECT_EQ(Json::parse(read->json), expected) << size;
  }
}

TEST_F(DescriptorSetTest, SaysWhyACallCannotBeRead) {
  EXPECT_EQ(problem(framed(kAsk), "/shop.Pricing/Other"), "the descriptors do not have it");
  EXPECT_EQ(problem(framed(kAsk), "/"), "it is no path of a gRPC method");
  EXPECT_EQ(problem(""), "no message of it was seen");
  EXPECT_EQ(problem("\x01"), "its message was not seen whole");
  EXPECT_EQ(problem(framed(kAsk, true)), "its message is compressed");
  EXPECT_EQ(problem(framed("\x0a\x05x")), "its message is no shop.Ask");
}

TEST_F(DescriptorSetTest, AQuestionNamesFieldsThatThereAre) {
  EXPECT_EQ(asked("shop.Pricing/Adjust", R"({"code": "DAILY"})"), R"({"code":"DAILY"})");
  EXPECT_EQ(asked("", R"({"cart": {"cartId": "c1"}})"), R"({"cart":{"cart_id":"c1"}})");
  EXPECT_EQ(asked("Pricing", R"({"at": "2026-01-01T00:00:00Z"})"),
            R"({"at":"2026-01-01T00:00:00Z"})");
  EXPECT_EQ(asked("shop.Pricing/Adjust", R"({"cod": "x"})"),
            "arguments: shop.Ask has no field 'cod', did you mean 'code'?");
  EXPECT_EQ(asked("shop.Pricing/Adjust", R"({"cart": {"cart_i": "x"}})"),
            "arguments: shop.Cart has no field 'cart_i', did you mean 'cart_id'?");
  EXPECT_EQ(asked("shop.Pricing/Adjst", "{}"),
            "the descriptors have no gRPC method 'shop.Pricing/Adjst', did you mean "
            "'shop.Pricing/Adjust'?");
  EXPECT_EQ(asked("", "[]"), "arguments: expected a JSON object, as in {\"code\": \"x\"}");
  EXPECT_EQ(asked("", "{"), "arguments: expected a JSON object, as in {\"code\": \"x\"}");
}

TEST_F(DescriptorSetTest, RefusesFilesThatAreNone) {
  const auto refusal = [&](const std::string& path) {
    DescriptorSet set;
    const auto added = set.add(path);
    return added.ok() ? "" : added.error().message;
  };
  EXPECT_NE(refusal(folder_.path() + "/none").find("cannot be read"), std::string::npos);
  EXPECT_NE(refusal(folder_.path()).find("cannot be read"), std::string::npos);
  EXPECT_NE(refusal(write("empty", "")).find("holds no descriptors"), std::string::npos);
  EXPECT_NE(refusal(write("text", "syntax = \"proto3\";")).find("--descriptor_set_out"),
            std::string::npos);
  auto broken = shop();
  broken.mutable_file(0)->add_dependency("other.proto");
  const std::string said = refusal(write("broken", broken.SerializeAsString()));
  EXPECT_NE(said.find("other.proto"), std::string::npos) << said;
  EXPECT_NE(said.find("--include_imports"), std::string::npos) << said;
}

TEST_F(DescriptorSetTest, ReadsTheGrpcCallsOfARecord) {
  ExecutionRecord record;
  record.rpcs.resize(2);
  record.rpcs[0].flags = kRpcGrpc;
  record.rpcs[0].target = record.rpcs[1].target = "/shop.Pricing/Adjust";
  record.rpcs[0].body_sample = record.rpcs[1].body_sample = framed(kAsk);
  set_.read_arguments(&record);
  EXPECT_NE(record.rpcs[0].arguments.find("DAILY"), std::string::npos);
  EXPECT_TRUE(record.rpcs[0].arguments_whole);
  EXPECT_EQ(record.rpcs[1].arguments, "");  // it only looks like one
}

TEST(ArgumentsMatch, AreEqualWhereTheyAreGiven) {
  const auto match = [](const char* wanted, const char* request) {
    return arguments_match(Json::parse(wanted), Json::parse(request));
  };
  EXPECT_TRUE(match("{}", R"({"a": 1})"));
  EXPECT_TRUE(match(R"({"a": 5})", R"({"a": "5", "b": 1})"));
  EXPECT_TRUE(match(R"({"a": "5"})", R"({"a": 5})"));
  EXPECT_TRUE(match(R"({"a": 5.0})", R"({"a": 5})"));
  EXPECT_TRUE(match(R"({"a": "true"})", R"({"a": true})"));
  EXPECT_TRUE(match(R"({"a": {"b": 1}})", R"({"a": {"b": 1, "c": 2}})"));
  EXPECT_TRUE(match(R"({"a": [1, {"b": 2}]})", R"({"a": [1, {"b": 2, "c": 3}]})"));
  EXPECT_TRUE(match(R"({"a": null})", "{}"));
  EXPECT_FALSE(match(R"({"a": null})", R"({"a": 0})"));
  EXPECT_FALSE(match(R"({"a": 5})", "{}"));
  EXPECT_FALSE(match(R"({"a": 5})", R"({"a": 6})"));
  EXPECT_FALSE(match(R"({"a": [1]})", R"({"a": [1, 2]})"));
  EXPECT_FALSE(match(R"({"a": {"b": 1}})", R"({"a": 1})"));
  EXPECT_FALSE(match(R"({"a": 1})", R"({"a": {"b": 1}})"));
}

}  // namespace
}  // namespace filibuster
