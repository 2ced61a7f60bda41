#include "daemon/stubs/choose.h"

#include <gtest/gtest.h>

namespace filibuster::stubs {
namespace {

using Json = nlohmann::json;

Stub stub(std::string name, std::string method, std::string path) {
  Stub out;
  out.name = std::move(name);
  out.method = std::move(method);
  out.path = std::move(path);
  out.answers.emplace_back();
  return out;
}

Stub with_field(Stub from, const std::string& pointer, const Json& value) {
  from.fields.emplace_back(pointer, value);
  return from;
}

Stub with_whole(Stub from, const Json& value) {
  from.has_whole = true;
  from.whole = value;
  return from;
}

Call call(std::string method, std::string path, const Json& arguments = nullptr) {
  Call out;
  out.service = "users";
  out.method = std::move(method);
  out.path = std::move(path);
  out.arguments = arguments;
  return out;
}

std::string chosen(const std::vector<Stub>& stubs, const Call& of) {
  const Choice choice = choose(stubs, of);
  return choice.chosen ? stubs[*choice.chosen].name : why_none(stubs, choice, of);
}

TEST(Choose, TheMostSpecificStubAnswersWhereverItStands) {
  std::vector<Stub> stubs{stub("any", "", ""), stub("users", "GET", "/users/*"),
                          stub("seven", "GET", "/users/7")};
  do {
    EXPECT_EQ(chosen(stubs, call("GET", "/users/7")), "seven");
    EXPECT_EQ(chosen(stubs, call("GET", "/users/8?a=b")), "users");
    EXPECT_EQ(chosen(stubs, call("POST", "/users/7")), "any");
  } while (std::next_permutation(stubs.begin(), stubs.end(),
                                 [](const Stub& a, const Stub& b) { return a.name < b.name; }));
}

TEST(Choose, AQueryIsComparedWhereTheStubHasOne) {
  const std::vector<Stub> stubs{stub("without", "GET", "/users"),
                                stub("with", "GET", "/users?page=2")};
  EXPECT_EQ(chosen(stubs, call("GET", "/users?page=2")), "with");
  EXPECT_EQ(chosen(stubs, call("GET", "/users?page=3")), "without");
}

TEST(Choose, WholeArgumentsAreMoreSpecificThanFieldsAndMoreFieldsThanFewer) {
  const Stub base = stub("base", "POST", "/orders");
  Stub one = with_field(base, "/id", 7), two = with_field(one, "/user/name", "Ada"),
       whole = with_whole(base, {{"id", 7}, {"user", {{"name", "Ada"}}}});
  one.name = "one";
  two.name = "two";
  whole.name = "whole";
  const std::vector<Stub> stubs{base, one, whole, two};
  EXPECT_EQ(chosen(stubs, call("POST", "/orders", {{"id", 7}, {"user", {{"name", "Ada"}}}})),
            "whole");
  EXPECT_EQ(
      chosen(stubs, call("POST", "/orders", {{"id", 7}, {"user", {{"name", "Ada"}}}, {"x", 1}})),
      "two");
  EXPECT_EQ(chosen(stubs, call("POST", "/orders", {{"id", 7}})), "one");
  EXPECT_EQ(chosen(stubs, call("POST", "/orders", {{"id", 8}})), "base");
}

TEST(Choose, TwoThatAreEquallySpecificAreNamedAndNoneOfThemAnswers) {
  const std::vector<Stub> stubs{with_field(stub("by id", "POST", "/orders"), "/id", 7),
                                with_field(stub("by user", "POST", "/orders"), "/user", 1)};
  EXPECT_EQ(
      chosen(stubs, call("POST", "/orders", {{"id", 7}, {"user", 1}})),
      "more than one stub answers POST /orders, and none of them is the more specific one: by id and by user");
  EXPECT_EQ(chosen(stubs, call("POST", "/orders", {{"id", 7}, {"user", 2}})), "by id");
}

TEST(Choose, ACallThatNoneAnswersNamesTheNearestOneAndWhatDiffers) {
  const std::vector<Stub> stubs{
      stub("far", "DELETE", "/x"),
      with_whole(stub("near", "POST", "/orders"), {{"id", 7}, {"kind", "a"}})};
  EXPECT_EQ(
      chosen(stubs, call("POST", "/orders", {{"id", 8}, {"more", true}})),
      "no stub of 'users' answers POST /orders; the nearest is far (method: POST, not DELETE; path: /orders, not /x)");
  EXPECT_EQ(
      chosen({stubs.begin() + 1, stubs.end()}, call("POST", "/orders", {{"id", 8}, {"kind", "a"}})),
      "no stub of 'users' answers POST /orders; the nearest is near (/id: 8, not 7)");
  EXPECT_EQ(chosen({}, call("GET", "/")), "no stub of 'users' answers GET /: it has none");
}

TEST(Choose, ANumberEqualsItsTextInMessagesOfProtobufOnly) {
  Stub grpc = with_field(stub("grpc", "", "shop.Users/Get"), "/id", 7);
  grpc.kind = Kind::kGrpc;
  Call of = call("POST", "/shop.Users/Get", {{"id", "7"}});
  of.kind = Kind::kGrpc;
  EXPECT_EQ(chosen({grpc}, of), "grpc");
  EXPECT_NE(
      chosen({with_field(stub("http", "GET", "/"), "/id", 7)}, call("GET", "/", {{"id", "7"}})),
      "http");
}

TEST(Choose, AKeyOfRedisIsAGlob) {
  Stub any = stub("any", "GET", "user:*"), one = stub("one", "GET", "user:7");
  any.kind = one.kind = Kind::kRedis;
  Call of = call("GET", "user:7", Json::array({"user:7"}));
  of.kind = Kind::kRedis;
  EXPECT_EQ(chosen({any, one}, of), "one");
  of.path = "user:8?x";
  EXPECT_EQ(chosen({any, one}, of), "any");
}

TEST(Choose, TheSameConditionsTwiceAreFound) {
  const std::vector<Stub> stubs{stub("a", "GET", "/"), stub("b", "GET", "/x"),
                                stub("c", "GET", "/")};
  EXPECT_EQ(same_conditions(stubs), (std::pair<size_t, size_t>(0, 2)));
  EXPECT_EQ(same_conditions({stubs.begin(), stubs.begin() + 2}), std::nullopt);
}

}  // namespace
}  // namespace filibuster::stubs
