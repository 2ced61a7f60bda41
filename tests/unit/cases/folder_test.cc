#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/cases/case_folder.h"
#include "daemon/cases/messages.h"
#include "daemon/wire/http1_message.h"
#include "tests/unit/cases/recipe.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster::cases {
namespace {

CaseSet any_set() {
  CaseSet out;
  out.service = "orders";
  out.builds = {{"./orders", "3f7c9a41"}};
  out.environment = {{"TZ", "Europe/Berlin"}};
  out.redacted = {"name: password"};
  out.redact = {{"national_id", "", "", {SecretPlace::kBody}, false}};
  out.match_headers = {"accept", "content-type"};
  NondeterminismRule rule;
  rule.path = "/pay/*";
  rule.json = {"/nonce"};
  out.masks = {rule};
  out.points = {{"4be1c07a", Kind::kRedis, {"orders.py price", "main.py handle"}}};
  DrawPoint draws{"python", "90d2f31c", {"orders.py pick", "main.py handle"}};
  draws.effect = DrawPoint::Effect::kSome;
  draws.cases = 3;
  draws.replays = 12;
  out.draws = {draws, {"getrandom", "", {}}};
  out.hosts = {{"api.example.com", {"192.0.2.1"}}};
  out.not_followed = {"a connection to 192.0.2.9:5432: its protocol is not known"};
  out.counts = {{"cases", 3}};
  return out;
}

std::string first_error(const std::string& text) {
  const auto errors = read_set(text, "set.json").errors;
  return errors.empty() ? ""
                        : std::to_string(errors[0].line) + ":" + std::to_string(errors[0].column) +
                              ": " + errors[0].message;
}

TEST(SetFile, ComesBackWithTheSameBytes) {
  const std::string text = write_set(any_set());
  const ReadSet read = read_set(text, "set.json");
  ASSERT_TRUE(read.errors.empty()) << read.errors[0].message;
  EXPECT_EQ(write_set(read.value), text);
  EXPECT_EQ(read.value.builds, any_set().builds);
  EXPECT_EQ(read.value.points, any_set().points);
  EXPECT_EQ(read.value.draws, any_set().draws);
  EXPECT_EQ(read.value.environment, any_set().environment);
  EXPECT_EQ(read.value.redact, any_set().redact);
  EXPECT_EQ(read.value.masks.at(0).json, any_set().masks[0].json);
  EXPECT_TRUE(rules_of(read.value).ok());
}

TEST(SetFile, HowFarWhatVariesMayVaryComesBack) {
  CaseSet set = any_set();
  set.varying_headers = {"date", "x-id"};
  set.optional_headers = {"x-id"};
  set.any_type = set.unordered = set.masks;
  set.unordered[0].json = {"/tags/*"};
  const std::string text = write_set(set);
  const ReadSet read = read_set(text, "set.json");
  ASSERT_TRUE(read.errors.empty()) << read.errors[0].message;
  EXPECT_EQ(write_set(read.value), text);
  EXPECT_EQ(read.value.optional_headers, set.optional_headers);
  EXPECT_EQ(read.value.any_type.at(0).json, set.any_type[0].json);
  EXPECT_EQ(read.value.unordered.at(0).json, set.unordered[0].json);
}

TEST(SetFile, WhatIsWrongHasItsPlace) {
  const auto with = [](std::string_view from, std::string_view to) {
    std::string text = write_set(any_set());
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(first_error(with("\"/nonce\"", "\"nonce\"")),
            "14:50: 'json': expected a JSON pointer such as \"/id\" or \"/items/*/id\"");
  EXPECT_EQ(first_error(with("\"masks\"", "\"mask\"")),
            "13:3: unknown key 'mask' in a set of cases; did you mean 'masks'?");
  EXPECT_EQ(first_error(with("\"accept\"", "\"Accept\"")),
            "12:20: 'match_headers': names stand in lower case");
  EXPECT_EQ(first_error(with("\"format\": 1", "\"format\": 9")).substr(0, 5), "2:13:");
}

TEST(CaseFolder, ASavedCaseIsLoaded) {
  const TemporaryFolder folder;
  Case of = order_case();
  of.request.body = "\xff\xfe";
  ASSERT_TRUE(save_file(folder.path(), write_case(of, "9a1c")).ok());
  const std::string path = folder.path() + "/9a1c.json";
  const ReadCase read = load_case(path);
  ASSERT_TRUE(read.errors.empty()) << read.errors[0].message;
  EXPECT_TRUE(read.value == of);
  EXPECT_EQ(read.value.file, path);
}

TEST(CaseFolder, NoLinkLeadsOutOfIt) {
  const TemporaryFolder folder, outside;
  Case of = order_case();
  of.request.body = "\xff\xfe";
  const WrittenFile file = write_case(of, "9a1c");
  ASSERT_TRUE(save_file(folder.path(), file).ok());
  const std::string body = folder.path() + "/" + file.beside[0].first;
  outside.write("body", "\xff\xfe");
  unlink(body.c_str());
  ASSERT_EQ(symlink((outside.path() + "/body").c_str(), body.c_str()), 0);
  const ReadCase read = load_case(folder.path() + "/9a1c.json");
  ASSERT_EQ(read.errors.size(), 1u);
  EXPECT_NE(read.errors[0].message.find("is not there"), std::string::npos);
}

TEST(CaseFolder, AFileThatIsNotThereIsAnErrorWithItsName) {
  const ReadCase read = load_case("/nowhere/x.json");
  ASSERT_EQ(read.errors.size(), 1u);
  EXPECT_EQ(read.errors[0].file, "/nowhere/x.json");
  EXPECT_FALSE(load_set("/nowhere/set.json").errors.empty());
  EXPECT_FALSE(load_process("/nowhere/process.json").errors.empty());
}

TEST(Messages, WhatBelongsToAConnectionIsNotKept) {
  const Headers sent{{"Host", "a"},           {"Connection", "keep-alive, X-Hop"},
                     {"x-hop", "1"},          {"Content-Length", "3"},
                     {"x-filibuster", "1-2"}, {"Accept", "*/*"},
                     {"Date", "now"},         {"Transfer-Encoding", "chunked"}};
  EXPECT_EQ(kept_of_request(sent), (Headers{{"Accept", "*/*"}, {"Date", "now"}}));
  EXPECT_EQ(kept_of_answer(sent), (Headers{{"Host", "a"}, {"Accept", "*/*"}}));
}

TEST(Messages, GapsOfAStreamAreKept) {
  constexpr uint64_t kMs = 1'000'000;
  wire::HttpMessage message;
  message.status = 200;
  message.head_ns = 100 * kMs;
  message.body = "aabbcc";
  message.pieces = {{1, 100 * kMs}, {1, 105 * kMs}, {2, 130 * kMs}, {2, 131 * kMs}};
  EXPECT_EQ(answer_of(message).pieces, (std::vector<Piece>{{2, 0}, {4, 25}}));
  // One that comes at once, or late as a whole, is no stream.
  message.pieces = {{6, 300 * kMs}};
  EXPECT_TRUE(answer_of(message).pieces.empty());
}

TEST(Messages, ARecordedRequestIsSentAsItWas) {
  const Case of = order_case();
  EXPECT_EQ(wire::http1_request_bytes(message_of(of.request, "127.0.0.1:8080")),
            "POST /orders HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\n"
            "Content-Length: 11\r\n\r\n{\"item\": 7}");
  EXPECT_EQ(wire::http1_answer_bytes(message_of(of.answer), "POST"),
            "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n"
            "{\"id\":7,\"total\":950}\n");
}

}  // namespace
}  // namespace filibuster::cases
