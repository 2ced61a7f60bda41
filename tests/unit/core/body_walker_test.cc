#include "core/index/body_walker.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/index/execution_index.h"

namespace filibuster {
namespace {

struct Leaves final : LeafSink {
  void leaf(std::string_view path, uint64_t value) override {
    all.emplace_back(std::string(path), value);
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> out;
    for (const auto& [path, value] : all) out.push_back(path);
    return out;
  }
  std::vector<std::pair<std::string, uint64_t>> all;
};

RequestMasks masks(std::vector<std::pair<MaskPlace, std::vector<std::string>>> fields) {
  RequestMasks out;
  for (const auto& [place, names] : fields) {
    MaskField& field = out.fields[out.count++];
    field.place = place;
    field.depth = static_cast<uint8_t>(names.size());
    for (size_t i = 0; i < names.size(); ++i)
      field.names[i] = names[i] == "*" ? kAnyName : name_hash(names[i]);
  }
  return out;
}

BodyWalker::Outcome walk(std::string_view body, const RequestMasks* wanted = nullptr,
                         LeafSink* leaves = nullptr, size_t piece = 0) {
  BodyWalker walker;
  walker.begin_request(wanted, leaves);
  for (size_t at = 0; at < body.size(); at += piece == 0 ? body.size() : piece)
    walker.feed(body.substr(at, piece == 0 ? body.size() : piece));
  return walker.finish();
}

TEST(BodyWalker, GivesTheDigestOfTheBytesWhereNothingIsMasked) {
  for (const std::string body : {R"({"a": [1, {"b": null}], "c": "x\"y"})", "a=1&b=2", "", "  ",
                                 "[]", "{}", "a", "[-1.5e3]", R"( {"ключ" : "значение"} )"}) {
    const auto outcome = walk(body);
    EXPECT_NE(outcome.form, BodyForm::kOther) << body;
    EXPECT_EQ(outcome.digest, hash_text(body)) << body;
    EXPECT_FALSE(outcome.masked);
  }
}

TEST(BodyWalker, SaysOfWhatIsNeitherJsonNorFormThatItCannotReadIt) {
  for (const std::string body : {"{",
                                 "[",
                                 "{\"a\"",
                                 "{\"a\":",
                                 "{\"a\":1",
                                 "{\"a\":1,",
                                 "{\"a\":1]",
                                 "[1}",
                                 "[1,]",
                                 "{,}",
                                 "{a:1}",
                                 "{\"a\" 1}",
                                 "{\"a\":1} x",
                                 "{\"a\":1}{\"b\":2}",
                                 "{\"a\":#}",
                                 "[\"x]",
                                 "<a b=\"1\"/>",
                                 "--boundary\r\nContent",
                                 "plain text",
                                 "\x1f\x8b\x08",
                                 "{\"\\u00zz\":1}",
                                 "a=\x01",
                                 "a=é",
                                 "\"text\""}) {
    EXPECT_EQ(walk(body).form, BodyForm::kOther) << body;
  }
  std::string deep(kMaxBodyDepth, '[');
  EXPECT_EQ(walk(deep + std::string(kMaxBodyDepth, ']')).form, BodyForm::kJson);
  EXPECT_EQ(walk("[" + deep + std::string(kMaxBodyDepth + 1, ']')).form, BodyForm::kOther);
}

TEST(BodyWalker, NamesTheLeavesOfJson) {
  Leaves leaves;
  const auto outcome = walk(
      R"({"id": 7, "a/b~c": {"d": "x"}, "items": [{"n": 1}, [2], {}], "e": [], "\u00e9\ud83d\ude00\n": true})",
      nullptr, &leaves);
  EXPECT_EQ(outcome.form, BodyForm::kJson);
  EXPECT_TRUE(outcome.leaves_whole);
  const std::string mark(1, kElementMark);
  EXPECT_EQ(leaves.paths(),
            (std::vector<std::string>{"/id", "/a~1b~0c/d", "/items/" + mark + "0/n",
                                      "/items/" + mark + "1/" + mark + "0", "/items/" + mark + "2",
                                      "/e", "/\xc3\xa9\xf0\x9f\x98\x80\n"}));
  EXPECT_NE(leaves.all[4].second, leaves.all[5].second);  // {} and []
}

TEST(BodyWalker, NamesTheFieldsOfAFormDecoded) {
  Leaves leaves;
  EXPECT_EQ(walk("a=1&b%20c+d=2&&flag&=x", nullptr, &leaves).form, BodyForm::kForm);
  EXPECT_EQ(leaves.paths(), (std::vector<std::string>{"a", "b c d", "flag", ""}));
}

TEST(BodyWalker, LeavesOutExactlyWhatIsMasked) {
  const RequestMasks id = masks({{MaskPlace::kJson, {"id"}},
                                 {MaskPlace::kJson, {"items", "*", "at"}},
                                 {MaskPlace::kJson, {"list", "1"}},
                                 {MaskPlace::kForm, {"token"}}});
  const auto digest = [&](std::string_view body) { return walk(body, &id).digest; };
  const auto same = [&](std::string_view a, std::string_view b) { return digest(a) == digest(b); };
  EXPECT_TRUE(same(R"({"id": 1, "x": 2})", R"({"id": "abc\"d", "x": 2})"));
  EXPECT_TRUE(same(R"({"id": {"deep": [1, 2]}, "x": 2})", R"({"id": null, "x": 2})"));
  EXPECT_FALSE(same(R"({"id": 1, "x": 2})", R"({"id": 1, "x": 3})"));
  EXPECT_FALSE(same(R"({"id": 1})", R"({"ID": 1})"));
  EXPECT_FALSE(same(R"({"x": {"id": 1}})", R"({"x": {"id": 2}})"));  // another field of that name
  EXPECT_TRUE(same(R"({"items": [{"at": 1}, {"at": 2}]})", R"({"items": [{"at": 3}, {"at": 4}]})"));
  EXPECT_FALSE(same(R"({"items": [{"at": 1}]})", R"({"items": [{"at": 1}, {"at": 1}]})"));
  EXPECT_FALSE(same(R"({"items": {"a": 1}})", R"({"items": {"a": 2}})"));
  EXPECT_TRUE(same(R"({"list": [1, 2, 3]})", R"({"list": [1, 9, 3]})"));
  EXPECT_FALSE(same(R"({"list": [1, 2, 3]})", R"({"list": [1, 2, 9]})"));
  EXPECT_TRUE(same(R"({"\u0069d": 1})", R"({"\u0069d": 2})"));  // an escaped name is the same name
  EXPECT_TRUE(same("token=1&x=2", "token=333&x=2"));
  EXPECT_TRUE(same("x=2&token=1", "x=2&token="));
  EXPECT_FALSE(same("token=1&x=2", "token=1&x=3"));
  EXPECT_TRUE(same("tok%65n=1", "tok%65n=2"));
  EXPECT_FALSE(same("token", "token=1"));
  EXPECT_FALSE(same(R"({"token": 1})", R"({"token": 2})"));  // a form's mask is not JSON's
  EXPECT_TRUE(walk(R"({"id": 1})", &id).masked);
  EXPECT_FALSE(walk(R"({"x": 1})", &id).masked);
}

TEST(BodyWalker, KeepsPlacesApart) {
  const RequestMasks response = masks({{MaskPlace::kResponse, {"id"}}});
  EXPECT_NE(walk(R"({"id":1})", &response).digest, walk(R"({"id":2})", &response).digest);
  const auto answer = [&](std::string_view body) {
    BodyWalker walker;
    walker.begin_response(&response, nullptr);
    walker.feed(body);
    return walker.finish().digest;
  };
  EXPECT_EQ(answer(R"({"id":1})"), answer(R"({"id":2})"));
}

TEST(BodyWalker, ReadsAnyQuery) {
  const RequestMasks ts = masks({{MaskPlace::kQuery, {"ts"}}});
  const auto query = [&](std::string_view text) {
    BodyWalker walker;
    walker.begin_query(&ts, nullptr);
    walker.feed(text);
    return walker.finish();
  };
  EXPECT_EQ(query("a=1&ts=5").digest, query("a=1&ts=6").digest);
  EXPECT_NE(query("a=1&ts=5").digest, query("a=2&ts=5").digest);
  EXPECT_EQ(query("a={\"x\"}&b=é").digest, hash_text("a={\"x\"}&b=é"));
  EXPECT_EQ(query("").digest, hash_text(""));
  EXPECT_EQ(query("").form, BodyForm::kForm);
}

TEST(BodyWalker, DoesNotDependOnTheSplit) {
  const RequestMasks some =
      masks({{MaskPlace::kJson, {"a", "*", "id"}}, {MaskPlace::kForm, {"t"}}});
  for (const std::string& body :
       {std::string(R"( {"a" : [ {"id" : "12\\3", "b\u00e9" : [1,2.5e1] } , { "id":{"x":[]}} ]} )"),
        std::string("t=%31&b+c=2&t=&z"), std::string("{\"a\":x")}) {
    Leaves whole_leaves;
    const auto whole = walk(body, &some, &whole_leaves);
    for (size_t piece = 1; piece < body.size(); ++piece) {
      Leaves leaves;
      const auto split = walk(body, &some, &leaves, piece);
      EXPECT_EQ(split.form, whole.form);
      EXPECT_EQ(leaves.all, whole_leaves.all);
      if (whole.form != BodyForm::kOther) {
        EXPECT_EQ(split.digest, whole.digest);
      }
    }
  }
}

TEST(BodyWalker, SaysThatALeafIsMissingButKeepsTheDigest) {
  Leaves leaves;
  const std::string body = "{\"" + std::string(kMaxFieldPath + 1, 'k') + "\": 1, \"b\": 2}";
  const auto outcome = walk(body, nullptr, &leaves);
  EXPECT_FALSE(outcome.leaves_whole);
  EXPECT_EQ(outcome.form, BodyForm::kJson);
  EXPECT_EQ(outcome.digest, hash_text(body));
}

TEST(BodyWalker, KnowsNothingOfABodyThatWentByUnseen) {
  BodyWalker walker;
  walker.begin_request(nullptr, nullptr);
  walker.feed("a=1");
  walker.skip();
  walker.feed("&b=2");
  EXPECT_EQ(walker.finish().form, BodyForm::kOther);
}

TEST(BodyWalker, AFieldThatNamesAnElementMarkIsNotAnElement) {
  Leaves leaves;
  walk("{\"\\u00010\": 1}", nullptr, &leaves);
  EXPECT_EQ(leaves.paths(), (std::vector<std::string>{"/?0"}));
}

TEST(Signature, WritesMaskedSegmentsAsStars) {
  EXPECT_EQ(http_signature_text("s", "POST", "/orders/7/items?a=1", 1u << 1),
            "s|POST /orders/*/items|a");
  EXPECT_EQ(http_signature_text("s", "GET", "orders/7", 1u << 1), "s|GET orders/*|");
  EXPECT_EQ(http_signature_text("s", "GET", "/a/7/", 1u << 1), "s|GET /a/*/|");
  EXPECT_EQ(http_signature_hash("s", "GET", "/a/7", 2), hash_text("s|GET /a/*|"));
  EXPECT_EQ(http_signature_text("s", "GET", "", 2), "s|GET |");
  EXPECT_EQ(request_path("GET", "http://h:1/a/b?c"), "/a/b");
}

}  // namespace
}  // namespace filibuster
