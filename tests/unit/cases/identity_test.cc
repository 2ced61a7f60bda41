#include "daemon/cases/identity.h"

#include <gtest/gtest.h>

#include "daemon/cases/route.h"
#include "tests/unit/cases/recipe.h"

namespace filibuster::cases {
namespace {

Keys keys_under(const CallInput& input, const Rules& rules) {
  return keys_of(input, input_fields(input, rules));
}

// A rule for every request with `path`.
NondeterminismRule mask_on(std::string path) {
  NondeterminismRule out;
  out.path = std::move(path);
  return out;
}

Rules rules_with(std::vector<NondeterminismRule> masks) {
  CaseSet set;
  set.service = "orders";
  set.match_headers = {"content-type"};
  set.masks = std::move(masks);
  auto out = rules_of(set);
  EXPECT_TRUE(out.ok());
  return std::move(out).value();
}

TEST(Route, SegmentsThatNameAnObjectAreLeftOut) {
  EXPECT_EQ(route_of("POST", "/orders"), "POST /orders");
  EXPECT_EQ(route_of("GET", "/users/7?full=1"), "GET /users/_");
  EXPECT_EQ(route_of("GET", "/v2/users/0b5e7f5c-8a52-4f64-9f3d-6d2d3f4c5b6a/cart"),
            "GET /v2/users/_/cart");
  EXPECT_EQ(route_of("GET", "/files/deadbeefdeadbeef"), "GET /files/_");
  EXPECT_EQ(route_of("GET", "/deadbeef"), "GET /deadbeef");
  EXPECT_EQ(route_of("GET", "http://host/a/1"), "GET /a/_");
  EXPECT_EQ(route_of("GET", "/"), "GET /");
}

TEST(Route, EveryRouteIsANameOfAFolder) {
  EXPECT_EQ(route_folder("GET /users/_"), "get-users-_");
  EXPECT_EQ(route_folder("POST /orders"), "post-orders");
  EXPECT_EQ(route_folder("GET /"), "get");
  EXPECT_EQ(route_folder("GET /../../etc/passwd"), "get-etc-passwd");
  EXPECT_EQ(route_folder("shop.Cart/GetCart"), "shop.cart-getcart");
  EXPECT_EQ(route_folder("GET /a\n\xff b"), "get-a-b");
  EXPECT_EQ(route_folder("../.."), "other");
  EXPECT_LE(route_folder("GET /" + std::string(1000, 'x')).size(), 100u);
}

TEST(Route, NamesTakeMoreDigitsWhereOneIsTaken) {
  const Hash128 hash{0x0123456789abcdef, 0x0123456789abcdef};
  EXPECT_EQ(case_name(hash, {}), "0123456789ab");
  EXPECT_EQ(case_name(hash, {"0123456789ab", "0123456789abc"}), "0123456789abcd");
  EXPECT_TRUE(is_plain_file_name(body_file_name("0123456789ab", 2)));
}

// How the answer `now` differs from `recorded` under the rules of the set.
std::string answer_differences(const CaseSet& set, const Answer& recorded, const Answer& now) {
  const Rules rules = rules_of(set).value();
  Request request;
  request.method = "GET";
  request.target = "/orders";
  return to_text(
      differences(answer_fields(recorded, request, rules), answer_fields(now, request, rules)));
}

Answer json_answer(std::string body, Headers headers = {}) {
  Answer out;
  out.body = std::move(body);
  out.headers = std::move(headers);
  return out;
}

TEST(WhatVaries, KeepsItsType) {
  CaseSet set;
  set.masks = {mask_on("/orders")};
  set.masks[0].response = {"/v"};
  const std::pair<const char*, const char*> of_type[] = {
      {"1", "a number"}, {"-2.5e1", "a number"},     {"\"a\"", "a text"}, {"true", "true or false"},
      {"[1]", "a list"}, {"false", "true or false"}, {"{}", "an object"}, {"null", "no value"}};
  const auto with = [](const std::string& value) { return json_answer("{\"v\":" + value + "}"); };
  for (const auto& [one, type] : of_type) {
    for (const auto& [other, other_type] : of_type) {
      const std::string expected = std::string_view(type) == other_type
                                       ? ""
                                       : "/json/v: " + std::string(other_type) + ", not " + type;
      EXPECT_EQ(answer_differences(set, with(one), with(other)), expected);
    }
  }
  EXPECT_EQ(answer_differences(set, with("1"), json_answer("{}")),
            "/json/v is missing, it was a number; /json is new: {}");
  set.any_type = set.masks;
  EXPECT_EQ(answer_differences(set, with("1"), with("\"a\"")), "");
}

TEST(WhatVaries, AListWithoutAnOrderHasTheSameElements) {
  CaseSet set;
  set.masks = {mask_on("/orders")};
  set.masks[0].response = {"/tags/*/at"};
  set.unordered = {mask_on("/orders")};
  set.unordered[0].response = {"/tags/*", "/*"};
  const auto tags = [](const std::string& list) { return json_answer("{\"tags\":" + list + "}"); };
  const Answer recorded = tags(R"([{"n":"a","at":1},{"n":"b","at":2},{"n":"b","at":3}])");
  EXPECT_EQ(answer_differences(set, recorded,
                               tags(R"([{"n":"b","at":7},{"n":"a","at":8},{"n":"b","at":9}])")),
            "");
  EXPECT_EQ(answer_differences(set, recorded,
                               tags(R"([{"n":"b","at":7},{"n":"a","at":8},{"n":"a","at":9}])")),
            "/json/tags/1/n: \"a\", not \"b\"");
  EXPECT_EQ(answer_differences(set, recorded, tags(R"([{"n":"b","at":7},{"n":"a","at":8}])")),
            "/json/tags/2/n is missing, it was \"b\"; /json/tags/2/at is missing, it was a number");
  // A list that is the whole body, and one of another name.
  EXPECT_EQ(answer_differences(set, json_answer("[1,2]"), json_answer("[2,1]")), "");
  EXPECT_NE(answer_differences(set, json_answer(R"({"x":[1,2]})"), json_answer(R"({"x":[2,1]})")),
            "");
}

TEST(WhatVaries, AHeaderIsThere) {
  CaseSet set;
  set.varying_headers = {"x-id"};
  const Answer recorded = json_answer("", {{"X-Id", "1"}});
  EXPECT_EQ(answer_differences(set, recorded, json_answer("", {{"x-id", "2"}})), "");
  EXPECT_EQ(answer_differences(set, recorded, json_answer("")),
            "/headers/x-id is missing, it was *");
  EXPECT_EQ(answer_differences(set, json_answer(""), recorded), "/headers/x-id is new: *");
  set.optional_headers = {"x-id"};
  EXPECT_EQ(answer_differences(set, recorded, json_answer("")), "");
}

TEST(Identity, WhatIsTheSameForAServiceIsTheSameHere) {
  const Rules rules = plain_rules();
  const auto same = [&](const CallInput& a, const CallInput& b) {
    return keys_under(a, rules) == keys_under(b, rules);
  };
  EXPECT_TRUE(same(http_input("a", "GET", "/x?p=1&q=2"), http_input("a", "GET", "/x?q=2&p=1")));
  EXPECT_TRUE(same(http_input("a", "GET", "/x?p=a%20b"), http_input("a", "GET", "/x?p=a+b")));
  EXPECT_TRUE(same(http_input("a", "POST", "/x", R"({"p":1,"q":"é"})"),
                   http_input("a", "POST", "/x", R"({ "q": "\u00e9", "p": 1 })")));
  EXPECT_FALSE(
      same(http_input("a", "POST", "/x", "[1,2]"), http_input("a", "POST", "/x", "[2,1]")));
  EXPECT_FALSE(same(http_input("a", "POST", "/x", "[1]"), http_input("a", "POST", "/x", "[1.0]")));
  EXPECT_FALSE(
      same(http_input("a", "POST", "/x", "[1]"), http_input("a", "POST", "/x", "[\"1\"]")));
  EXPECT_FALSE(same(http_input("a", "GET", "/x?p=1&p=2"), http_input("a", "GET", "/x?p=2&p=1")));
  EXPECT_FALSE(same(http_input("a", "POST", "/x", R"({"a":{}})"),
                    http_input("a", "POST", "/x", R"({"a":[]})")));
  EXPECT_TRUE(same(redis_input(R"(["get", "a"])"), redis_input(R"(["GET", "a"])")));
  EXPECT_FALSE(same(redis_input(R"(["GET", "a"])"), redis_input(R"(["GET", "A"])")));
  EXPECT_FALSE(same(redis_input(R"(["GET", "1"])"), redis_input(R"(["GET", "1", "1"])")));
}

TEST(Identity, OnePointTakesManyInputs) {
  const Rules rules = plain_rules();
  const auto at = [&](const CallInput& input) { return keys_under(input, rules).point; };
  EXPECT_EQ(at(http_input("a", "GET", "/prices/7")), at(http_input("a", "GET", "/prices/8?vat=1")));
  EXPECT_NE(at(http_input("a", "GET", "/prices/7")), at(http_input("a", "GET", "/costs/7")));
  EXPECT_NE(at(http_input("a", "GET", "/prices/7")), at(http_input("b", "GET", "/prices/7")));
  EXPECT_EQ(at(redis_input(R"(["GET", "price:7"])")), at(redis_input(R"(["GET", "price:8"])")));
  EXPECT_NE(at(redis_input(R"(["GET", "price:7"])")), at(redis_input(R"(["DEL", "price:7"])")));
}

TEST(Identity, HeadersTakePartThatTheSetNames) {
  const Rules rules = plain_rules();
  CallInput json = http_input("a", "POST", "/x", "7"), other = json, agent = json;
  json.http.headers = {{"Content-Type", "a/b"}};
  other.http.headers = {{"content-type", "c/d"}};
  agent.http.headers = {{"Content-Type", "a/b"}, {"User-Agent", "x"}};
  EXPECT_NE(keys_under(json, rules), keys_under(other, rules));
  EXPECT_EQ(keys_under(json, rules), keys_under(agent, rules));
}

TEST(Identity, WhatIsMaskedTakesNoPart) {
  NondeterminismRule rule = mask_on("/pay/*");
  rule.path_segments = {2};
  rule.query = {"nonce"};
  rule.json = {"/meta", "/items/*/at"};
  const Rules rules = rules_with({rule});
  const auto keys = [&](const std::string& target, const std::string& body) {
    return keys_under(http_input("pay", "POST", target, body), rules);
  };
  const Keys of = keys("/pay/a?nonce=1", R"({"meta":{"x":1},"items":[{"id":1,"at":5}]})");
  EXPECT_EQ(of, keys("/pay/b?nonce=2", R"({"meta":{},"items":[{"id":1,"at":6}]})"));
  EXPECT_NE(of, keys("/pay/b?nonce=2", R"({"meta":"y","items":[{"id":1,"at":6}]})"));
  EXPECT_NE(of, keys("/pay/b?nonce=2", R"({"meta":{},"items":[{"id":2,"at":6}]})"));
  // A field that is masked is there nevertheless.
  EXPECT_NE(of, keys("/pay/b?nonce=2", R"({"items":[{"id":1,"at":6}]})"));
  EXPECT_NE(of, keys("/pay/b", R"({"meta":{},"items":[{"id":1,"at":6}]})"));
}

TEST(Identity, WordsOfCommandsAreMaskedByTheirNumber) {
  NondeterminismRule rule = mask_on("price:*");
  rule.method = "SET";
  rule.json = {"/2"};
  const Rules rules = rules_with({rule});
  const auto keys = [&](const char* words) { return keys_under(redis_input(words), rules); };
  EXPECT_EQ(keys(R"(["SET", "price:7", "1"])"), keys(R"(["SET", "price:7", "2"])"));
  EXPECT_NE(keys(R"(["SET", "price:7", "1"])"), keys(R"(["SET", "price:8", "1"])"));
  EXPECT_NE(keys(R"(["SET", "cost:7", "1"])"), keys(R"(["SET", "cost:7", "2"])"));
}

TEST(Identity, AnswersAreMaskedByTheirOwnRules) {
  NondeterminismRule rule = mask_on("/orders");
  rule.response = {"/id"};
  const Rules rules = rules_with({rule});
  const Case of = order_case();
  Answer other = of.answer;
  other.body = "{\"id\":9,\"total\":950}\n";
  EXPECT_TRUE(differences(answer_fields(of.answer, of.request, rules),
                          answer_fields(other, of.request, rules))
                  .empty());
  other.body = "{\"id\":9,\"total\":951}\n";
  EXPECT_EQ(differences(answer_fields(of.answer, of.request, rules),
                        answer_fields(other, of.request, rules))
                .size(),
            1u);
}

TEST(Identity, ASiteSurvivesAnEditOfOtherLines) {
  const std::string before[] = {"/srv/a/orders.py:31 (price)", "/srv/a/main.py:9 (handle)"};
  const std::string after[] = {"/home/b/orders.py:47 (price)", "/home/b/main.py:12 (handle)"};
  const std::string other[] = {"/srv/a/orders.py:31 (cost)", "/srv/a/main.py:9 (handle)"};
  EXPECT_EQ(site_of(before), site_of(after));
  EXPECT_NE(site_of(before), site_of(other));
  EXPECT_EQ(site_of(before).size(), 8u);
  EXPECT_EQ(site_of({}), "");
}

TEST(Identity, ACaseIsNamedByWhatItAsksAndNotByAnswers) {
  const Rules rules = plain_rules();
  const Case of = order_case();
  Case same = of;
  same.answer.body = "other";
  same.calls[1].answer.status = 500;
  same.base_us = 0;
  same.seen = 9;
  EXPECT_EQ(hash_of_case(of, rules), hash_of_case(same, rules));
  for (int what = 0; what < 4; ++what) {
    Case other = of;
    if (what == 0) other.request.body = "{}";
    if (what == 1) other.calls.pop_back();
    if (what == 2) other.calls[3].after = {2};
    if (what == 3) other.calls[1].input.http.target = "/prices/8";
    EXPECT_NE(hash_of_case(of, rules), hash_of_case(other, rules)) << what;
  }
}

TEST(Fields, DifferencesAreJsonPointers) {
  const Fields a{{"/json/a", "1"}, {"/json/b", "2"}}, b{{"/json/b", "3"}, {"/json/c", "4"}};
  EXPECT_EQ(differences(a, b),
            (std::vector<FieldDifference>{
                {"/json/a", "1", ""}, {"/json/b", "2", "3"}, {"/json/c", "", "4"}}));
  EXPECT_EQ(to_text(differences(a, b), 2),
            "/json/a is missing, it was 1; /json/b: 3, not 2; and 1 more");
  const Rules rules = plain_rules();
  const Fields escaped = input_fields(http_input("a", "POST", "/", R"({"a/b~":1})"), rules);
  EXPECT_EQ(escaped.back(), (Field{"/json/a~1b~0", "1"}));
}

TEST(Fields, BodiesThatAreNoJsonAreFormsTextsOrBytes) {
  const Rules rules = plain_rules();
  CallInput form = http_input("a", "POST", "/", "a=1&b=x%20y");
  form.http.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  EXPECT_EQ(input_fields(form, rules).back(), (Field{"/form/b", "\"x y\""}));
  EXPECT_EQ(input_fields(http_input("a", "POST", "/", "hi\n"), rules).back(),
            (Field{"/text", R"("hi\n")"}));
  EXPECT_EQ(input_fields(http_input("a", "POST", "/", "\xff"), rules).back().pointer, "/body");
}

}  // namespace
}  // namespace filibuster::cases
