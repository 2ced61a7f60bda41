#include "daemon/observe/nondeterminism.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/index/execution_index.h"
#include "core/index/message_walker.h"
#include "daemon/observe/rpc_matching.h"

namespace filibuster {
namespace {

// Builds what agents would report of one execution, masks applied as they would.
class Recorded {
 public:
  explicit Recorded(const std::vector<NondeterminismRule>& rules = {}, uint32_t parts = kIndexAll)
      : table_(compile_masks(rules).value()), parts_(parts) {}

  uint64_t call(uint64_t parent, const std::string& caller, const std::string& method,
                const std::string& target, const std::string& body = "",
                const std::string& answer = "{}", uint64_t begin = 0, uint64_t end = 0) {
    RpcRecord rpc;
    rpc.rpc = record.rpcs.size() + 1;
    rpc.parent_rpc = parent;
    rpc.parent = parent == 0 ? Hash128{} : record.rpcs[parent - 1].index;
    rpc.cause = parent == 0 ? Cause::kEntry : Cause::kThread;
    rpc.caller = caller;
    rpc.service = "back";
    rpc.method = method;
    rpc.target = target;
    rpc.stack = hash_text(caller + " stack" + site);
    rpc.issued_ns = begin != 0 ? begin : 1000 * rpc.rpc;
    rpc.finished_ns = end != 0 ? end : rpc.issued_ns + 500;
    rpc.open = false;
    rpc.outcome = RpcOutcome::kAnswered;
    rpc.status = 200;
    const bool grpc = body.starts_with('\0');
    if (grpc) rpc.flags |= kRpcHttp2 | kRpcGrpc;
    RequestMasks masks;
    select_masks(*table_, {caller, "back", method, request_path(method, target), grpc}, &masks);
    BodyWalker query;
    query.begin_query(&masks, nullptr);
    query.feed(split_target(target).query);
    const Hash128 digest = read(body, &masks, false, &rpc.request_fields);
    rpc.payload = http_payload_hash(query.finish().digest, digest);
    rpc.response = read(answer, &masks, true, &rpc.response_fields);
    rpc.signature =
        invocation_signature(http_signature_hash("back", method, target, masks.path_segments),
                             rpc.payload, masks.stack ? Hash128{} : rpc.stack, parts_);
    rpc.count = 1;
    for (const RpcRecord& other : record.rpcs)
      rpc.count += other.signature == rpc.signature && other.parent_rpc == parent;
    rpc.index = extend_path(rpc.parent, rpc.signature, rpc.count, parts_);
    record.rpcs.push_back(rpc);
    return rpc.rpc;
  }

  ExecutionRecord record;
  std::string site;  // of the calls that follow

 private:
  static Hash128 read(const std::string& body, const RequestMasks* masks, bool response,
                      BodyFields* out) {
    struct Sink final : LeafSink {
      void leaf(std::string_view path, uint64_t value) override {
        out->leaves.emplace_back(path, value);
      }
      BodyFields* out = nullptr;
    } sink;
    sink.out = out;
    BodyWalker walker;
    BodyWalker::Outcome outcome;
    if (const bool grpc = body.starts_with('\0'); grpc) {
      const auto messages = std::make_unique<MessageWalker>();
      messages->begin(masks, response ? MaskPlace::kResponse : MaskPlace::kMessage, &sink);
      messages->feed(body.data(), body.size());
      outcome = messages->finish();
      if (!outcome.masked) outcome.digest = hash_text(body);
    } else {
      response ? walker.begin_response(masks, &sink) : walker.begin_request(masks, &sink);
      walker.feed(body);
      outcome = walker.finish();
    }
    out->known = true;
    out->whole = outcome.leaves_whole;
    out->form = outcome.form;
    out->plain = hash_text(body);
    return outcome.form == BodyForm::kOther ? out->plain : outcome.digest;
  }

  std::unique_ptr<MaskTable> table_;
  uint32_t parts_;
};

Nondeterminism find(const Recorded& a, const Recorded& b,
                    const std::vector<NondeterminismRule>& rules = {}, uint32_t parts = kIndexAll) {
  return find_nondeterminism({&a.record, &b.record}, rules, parts);
}

std::vector<NondeterminismRule> rules(const std::string& text) {
  auto parsed = parse_nondeterminism(text);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  return parsed.ok() ? parsed.value() : std::vector<NondeterminismRule>{};
}

// Two runs of: test -> front -> back, with the target and body given.
std::pair<Recorded, Recorded> pair(const std::string& target_a, const std::string& target_b,
                                   const std::string& body_a = "", const std::string& body_b = "",
                                   const std::string& answer_a = "{}",
                                   const std::string& answer_b = "{}") {
  std::pair<Recorded, Recorded> out;
  out.first.call(out.first.call(0, "test", "GET", "/"), "front", "POST", target_a, body_a,
                 answer_a);
  out.second.call(out.second.call(0, "test", "GET", "/"), "front", "POST", target_b, body_b,
                  answer_b);
  return out;
}

std::string masked(const std::pair<Recorded, Recorded>& runs) {
  const Nondeterminism found = find(runs.first, runs.second);
  EXPECT_TRUE(found.unstable.empty());
  return to_config_text(found.proposed);
}

std::string one(const std::string& path, const std::string& mask) {
  return "[\n  {\"on\":{\"caller\":\"front\",\"service\":\"back\",\"method\":\"POST\",\"path\":\"" +
         path + "\"},\"mask\":{" + mask + "}}\n]";
}

std::string why_not(const std::pair<Recorded, Recorded>& runs) {
  const Nondeterminism found = find(runs.first, runs.second);
  EXPECT_TRUE(found.proposed.empty()) << to_config_text(found.proposed);
  const UnstableKind* kind = found.unstable.find(runs.first.record.rpcs[1]);
  return kind == nullptr ? "" : kind->reason;
}

TEST(Nondeterminism, FindsNothingInEqualRuns) {
  const auto runs = pair("/a?b=1", "/a?b=1", "{\"c\":1}", "{\"c\":1}");
  const Nondeterminism found = find(runs.first, runs.second);
  EXPECT_TRUE(found.variations.empty());
  EXPECT_TRUE(found.proposed.empty());
  EXPECT_TRUE(found.unstable.empty());
}

TEST(Nondeterminism, MasksWhatVariesAndNothingElse) {
  EXPECT_EQ(masked(pair("/o/1/x", "/o/2/x")), one("/o/*/x", "\"path\":[2]"));
  EXPECT_EQ(masked(pair("/o?p=1&ts=5", "/o?p=1&ts=6")), one("/o", "\"query\":[\"ts\"]"));
  EXPECT_EQ(masked(pair("/o", "/o", R"({"a":1,"b":{"c":2}})", R"({"a":1,"b":{"c":3}})")),
            one("/o", "\"json\":[\"/b/c\"]"));
  EXPECT_EQ(masked(pair("/o", "/o", "a=1&t=2", "a=1&t=3")), one("/o", "\"form\":[\"t\"]"));
  EXPECT_EQ(masked(pair("/o", "/o", "", "", R"({"id":1,"x":2})", R"({"id":2,"x":2})")),
            one("/o", "\"response\":[\"/id\"]"));
}

// A message { 1: what, 2: "c", 3: { 1: id } } as gRPC sends it.
std::string message(const std::string& id, const std::string& what = "w") {
  const auto field = [](char tag, const std::string& value) {
    return std::string{tag, static_cast<char>(value.size())} + value;
  };
  const std::string all =
      field('\x0a', what) + field('\x12', "c") + field('\x1a', field('\x0a', id));
  return std::string("\0\0\0\0", 4) + static_cast<char>(all.size()) + all;
}

TEST(Nondeterminism, MasksWhatVariesInMessagesByNumbers) {
  EXPECT_EQ(masked(pair("/s.S/M", "/s.S/M", message("1"), message("a longer one"))),
            one("/s.S/M", "\"message\":[\"/3/1\"]"));
  EXPECT_EQ(masked(pair("/s.S/M", "/s.S/M", "", "", message("1"), message("2"))),
            one("/s.S/M", "\"response\":[\"/3/1\"]"));
  const auto runs = pair("/s.S/M", "/s.S/M", message("1"), message("2"));
  const Nondeterminism found =
      find_nondeterminism({&runs.first.record, &runs.second.record}, {}, kIndexAll,
                          [](const RpcRecord& rpc, const std::string& pointer, bool answer) {
                            return rpc.target + (answer ? " answer " : " request ") + pointer;
                          });
  ASSERT_EQ(found.variations.size(), 1u);
  EXPECT_EQ(found.variations[0].what, "message field /3/1 (/s.S/M request /3/1)");
  // With its masks the indexes agree, and of another message they do not.
  Recorded a(found.proposed), b(found.proposed), c(found.proposed);
  a.call(a.call(0, "test", "GET", "/"), "front", "POST", "/s.S/M", message("1"));
  b.call(b.call(0, "test", "GET", "/"), "front", "POST", "/s.S/M", message("another"));
  c.call(c.call(0, "test", "GET", "/"), "front", "POST", "/s.S/M", message("1", "x"));
  EXPECT_EQ(a.record.rpcs[1].index, b.record.rpcs[1].index);
  EXPECT_NE(a.record.rpcs[1].index, c.record.rpcs[1].index);
  EXPECT_TRUE(find(a, b, found.proposed).unstable.empty());
}

TEST(Nondeterminism, ARuleNamesAGrpcCallAsFaultRulesDo) {
  const auto named = rules(R"([{"on": {"grpc": "S/M"}, "mask": {"message": ["/3/1"]}},
                               {"on": {"grpc": "S/M"}, "mask": {"response": ["/id"]}}])");
  const auto run = [&](const std::string& id) {
    Recorded out(named);
    const uint64_t parent = out.call(0, "test", "GET", "/");
    out.call(parent, "front", "POST", "/s.S/M", message(id));
    out.call(parent, "front", "POST", "/s.S/M", "{}", "{\"id\":" + id + "}");  // no gRPC
    return out;
  };
  const Recorded a = run("1"), b = run("2");
  EXPECT_EQ(a.record.rpcs[1].index, b.record.rpcs[1].index);
  EXPECT_TRUE(rule_applies(named[0], a.record.rpcs[1]));
  EXPECT_NE(a.record.rpcs[2].response, b.record.rpcs[2].response);
  EXPECT_FALSE(rule_applies(named[0], a.record.rpcs[2]));
  const Nondeterminism found = find(a, b, named);
  EXPECT_TRUE(found.unstable.empty());
  ASSERT_EQ(found.proposed.size(), 1u) << "for the request of HTTP";
  EXPECT_EQ(found.proposed[0].response, std::vector<std::string>{"/id"});
}

TEST(Nondeterminism, RefusesAMaskOfMessagesThatIsTooBroad) {
  const auto broad = rules(R"([{"on": {"caller": "front"}, "mask": {"message": ["/1"]}}])");
  Recorded a, b;
  for (Recorded* run : {&a, &b}) {
    const uint64_t parent = run->call(0, "test", "GET", "/");
    run->call(parent, "front", "POST", "/s.S/M", message("1", "daily"));
    run->call(parent, "front", "POST", "/s.S/M", message("1", "weekly"));
  }
  const Nondeterminism found = find(a, b, broad);
  ASSERT_EQ(found.too_broad.size(), 1u);
  EXPECT_NE(found.too_broad[0].find("message field /1 tells apart"), std::string::npos)
      << found.too_broad[0];
}

TEST(Nondeterminism, WritesAStarForAnElementOnlyWhereAllVary) {
  EXPECT_EQ(masked(pair("/o", "/o", R"({"l":[{"t":1,"n":1},{"t":2,"n":2}]})",
                        R"({"l":[{"t":3,"n":1},{"t":4,"n":2}]})")),
            one("/o", "\"json\":[\"/l/*/t\"]"));
  EXPECT_EQ(masked(pair("/o", "/o", R"({"l":[{"t":1},{"t":2}]})", R"({"l":[{"t":1},{"t":4}]})")),
            one("/o", "\"json\":[\"/l/1/t\"]"));
  // Another number of elements: the list as a whole.
  EXPECT_EQ(
      masked(pair("/o", "/o", R"({"a":1,"l":[{"t":1},{"t":2}]})", R"({"a":1,"l":[{"t":1}]})")),
      one("/o", "\"json\":[\"/l\"]"));
}

TEST(Nondeterminism, UnderItsMasksTheIndexesAgree) {
  const auto runs = pair("/o/1/x?ts=1", "/o/2/x?ts=2", R"({"id":1,"k":1})", R"({"id":2,"k":1})");
  const auto proposed = find(runs.first, runs.second).proposed;
  Recorded a(proposed), b(proposed);
  a.call(a.call(0, "test", "GET", "/"), "front", "POST", "/o/3/x?ts=3", R"({"id":3,"k":1})");
  b.call(b.call(0, "test", "GET", "/"), "front", "POST", "/o/4/x?ts=4", R"({"id":4,"k":1})");
  EXPECT_EQ(a.record.rpcs[1].index, b.record.rpcs[1].index);
  const Nondeterminism again = find(a, b, proposed);
  EXPECT_TRUE(again.proposed.empty());
  EXPECT_TRUE(again.unstable.empty());
  EXPECT_TRUE(again.too_broad.empty());
  EXPECT_FALSE(again.variations.empty());
}

TEST(Nondeterminism, SaysWhatNoMaskCovers) {
  EXPECT_NE(why_not(pair("/1", "/2")), "");
  EXPECT_NE(why_not(pair("/o", "/o", "text 1", "text 2")), "");
  EXPECT_NE(why_not(pair("/o", "/o", R"({"a":1})", R"({"b":1})")), "");
  EXPECT_NE(why_not(pair("/o", "/o", R"({"a":1,"b":1})", R"({"b":1,"a":1})")), "");
  EXPECT_NE(why_not(pair("/o", "/o", R"(["x"])", R"(["y"])")), "");
  EXPECT_NE(why_not(pair("/o", "/o", "a=1", R"({"a":1})")), "");
  EXPECT_NE(why_not(pair("/o", "/o", "a=1&b=1", "a=1&c=1")), "");
  EXPECT_NE(why_not(pair("/o", "/o", "", "x=1")), "");
  EXPECT_NE(why_not(pair("/o?a=1", "/o?b=1")), "");
  EXPECT_NE(why_not(pair("/o/1", "/o/1/2")), "");
}

TEST(Nondeterminism, AnAnswerThatVariesAsAWholeCountsByItsStatus) {
  const auto runs = pair("/o", "/o", "", "", "at 1", "at 2");
  const Nondeterminism found = find(runs.first, runs.second);
  EXPECT_TRUE(found.proposed.empty());
  EXPECT_TRUE(found.unstable.answer_varies(runs.first.record.rpcs[1]));
  EXPECT_EQ(found.unstable.find(runs.first.record.rpcs[1]), nullptr);
}

TEST(Nondeterminism, AnAnswerThatIsNotAlwaysReadCountsByItsStatus) {
  auto runs = pair("/o", "/o");
  RpcRecord& left = runs.second.record.rpcs[1];
  left.outcome = RpcOutcome::kNotRead;
  left.begun = left.status;
  left.response = {};
  left.response_fields = {};
  Nondeterminism found = find(runs.first, runs.second);
  ASSERT_EQ(found.variations.size(), 1u);
  EXPECT_EQ(found.variations[0].what, "whether its answer is read");
  EXPECT_TRUE(found.unstable.answer_varies(left));
  EXPECT_FALSE(found.unstable.ending_varies(left));
  EXPECT_EQ(found.unstable.find(left), nullptr);
  runs.first.record.rpcs[1] = left;
  EXPECT_TRUE(find(runs.first, runs.second).variations.empty());
}

TEST(Nondeterminism, AnEndingThatVariesIsNamedWhateverItIsInARun) {
  const std::vector<std::pair<RpcOutcome, uint16_t>> endings = {
      {RpcOutcome::kReset, 0}, {RpcOutcome::kAnswered, 503}, {RpcOutcome::kNotRead, 503}};
  for (const auto& [outcome, status] : endings) {
    auto runs = pair("/o", "/o");
    RpcRecord& other = runs.second.record.rpcs[1];
    other.outcome = outcome;
    other.status = status;
    const Nondeterminism found = find(runs.first, runs.second);
    EXPECT_TRUE(found.unstable.ending_varies(runs.first.record.rpcs[1]));
    EXPECT_TRUE(found.unstable.ending_varies(other));
  }
  auto runs = pair("/o", "/o");
  for (Recorded* run : {&runs.first, &runs.second})
    run->record.rpcs[1].outcome = RpcOutcome::kTimedOut;
  runs.first.record.rpcs[1].begun = 200;
  EXPECT_TRUE(find(runs.first, runs.second).unstable.ending_varies(runs.first.record.rpcs[1]))
      << "only once the caller had seen the head of an answer";
}

TEST(Nondeterminism, TheAnswerOfARequestThatNoMaskCoversVariesToo) {
  const auto runs = pair("/1", "/2", "", "", R"({"at":1})", R"({"at":2})");
  const Nondeterminism found = find(runs.first, runs.second);
  EXPECT_NE(found.unstable.find(runs.first.record.rpcs[1]), nullptr);
  EXPECT_TRUE(found.unstable.answer_varies(runs.first.record.rpcs[1]));
  UnstableRpcs out;
  NondeterminismRule rule;
  rule.caller = "front";
  rule.service = "back";
  rule.method = "POST";
  rule.path = "/1";
  leave_out(rule, "too much varies", &out);
  EXPECT_NE(out.find(runs.first.record.rpcs[1]), nullptr);
  EXPECT_FALSE(out.answer_varies(runs.first.record.rpcs[1]));
  rule.response = {"/at"};
  leave_out(rule, "too much varies", &out);
  EXPECT_TRUE(out.answer_varies(runs.first.record.rpcs[1]));
}

TEST(Nondeterminism, OfRedisAreArgumentsCodesAndTheKindOfTheKey) {
  Recorded run;
  run.call(0, "front", "SET", "what?:a/b", R"(["what?:a/b","1"])", "OK");
  RpcRecord a = run.record.rpcs[0];
  a.flags = kRpcRedis;
  a.status = 0;
  RpcRecord b = a;
  EXPECT_TRUE(differences(a, b, kIndexAll).empty());
  EXPECT_EQ(request_path_of(a), "what?:a/b");
  b.target = "what?:c/b";
  EXPECT_EQ(differences(a, b, kIndexAll).beyond, std::set<std::string>{"the pattern of its key"});
  b = a;
  b.code_space = CodeSpace::kRedis;
  b.code = "LOADING";
  EXPECT_EQ(differences(a, b, kIndexAll).response_beyond,
            std::set<std::string>{"the code of the error (none, LOADING)"});
  b = a;
  b.request_fields = {};
  b.payload = hash_text("other");
  EXPECT_EQ(differences(a, b, kIndexAll).beyond,
            std::set<std::string>{"the arguments of the command"});
  Recorded other;
  other.call(0, "front", "SET", "what?:a/b", R"(["what?:a/b","2"])", "OK");
  b = other.record.rpcs[0];
  b.flags = kRpcRedis;
  const std::set<std::string> fields = differences(a, b, kIndexAll).json;
  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(plain_pointer(*fields.begin()), "/1");
}

TEST(Nondeterminism, RefusesAMaskThatHidesWhatTellsCallsApart) {
  Recorded a, b;
  for (auto [run, third] : {std::pair{&a, "/u/x1/o"}, std::pair{&b, "/u/x2/o"}}) {
    const uint64_t front = run->call(0, "test", "GET", "/");
    for (const char* target : {"/u/ann/o", "/u/bob/o", third})
      run->call(front, "front", "GET", target);
  }
  const Nondeterminism found = find(a, b);
  EXPECT_TRUE(found.proposed.empty());
  EXPECT_EQ(found.unstable.find(a.record.rpcs[1]), nullptr) << "ann is always ann";
  EXPECT_EQ(found.unstable.find(a.record.rpcs[2]), nullptr);
  ASSERT_NE(found.unstable.find(a.record.rpcs[3]), nullptr);
  EXPECT_NE(found.unstable.find(a.record.rpcs[3])->reason.find("tells apart"), std::string::npos);
  auto kept = UnstableRpcs::from_json(found.unstable.to_json());
  ASSERT_TRUE(kept.ok());
  for (const RpcRecord& rpc : a.record.rpcs)
    EXPECT_EQ(kept->find(rpc) == nullptr, found.unstable.find(rpc) == nullptr);
}

TEST(Nondeterminism, RefusesTheMaskOfAUserThatIsTooBroad) {
  const auto broad = rules(R"([{"on": {"path": "/u/*"}, "mask": {"path": 2}}])");
  Recorded a(broad), b(broad);
  for (Recorded* run : {&a, &b}) {
    const uint64_t front = run->call(0, "test", "GET", "/");
    run->call(front, "front", "GET", "/u/ann");
    run->call(front, "front", "GET", "/u/bob");
  }
  const Nondeterminism found = find(a, b, broad);
  ASSERT_EQ(found.too_broad.size(), 1u);
  EXPECT_NE(found.too_broad[0].find("/u/ann"), std::string::npos);
  EXPECT_NE(found.too_broad[0].find("/u/bob"), std::string::npos);
}

TEST(Nondeterminism, OneAfterTheOtherIsToldApartByCountAndTogetherIsNot) {
  for (const bool together : {false, true}) {
    Recorded a, b;
    for (auto [run, ids] : {std::pair{&a, std::vector{"/i/1/x", "/i/2/x"}},
                            std::pair{&b, std::vector{"/i/3/x", "/i/4/x"}}}) {
      const uint64_t front = run->call(0, "test", "GET", "/", "", "{}", 1, 9000);
      run->call(front, "front", "GET", ids[0], "", "{}", 1000, together ? 3000 : 1500);
      run->call(front, "front", "GET", ids[1], "", "{}", 2000, 2500);
    }
    const Nondeterminism found = find(a, b);
    EXPECT_EQ(found.proposed.empty(), together);
    EXPECT_EQ(found.unstable.empty(), !together);
  }
}

TEST(Nondeterminism, AnotherOrderIsSaidAndHarmsNothing) {
  Recorded a, b;
  for (auto [run, targets] : {std::pair{&a, std::vector{"/p/1", "/p/2", "/p/3"}},
                              std::pair{&b, std::vector{"/p/3", "/p/1", "/p/2"}}}) {
    const uint64_t front = run->call(0, "test", "GET", "/");
    for (const char* target : targets)
      run->call(front, "front", "GET", target, "", "{}", 1000, 9000);
  }
  const Nondeterminism found = find(a, b);
  ASSERT_EQ(found.variations.size(), 1u);
  EXPECT_EQ(found.variations[0].effect, Variation::Effect::kNone);
  EXPECT_TRUE(found.proposed.empty());
  EXPECT_TRUE(found.unstable.empty());
}

TEST(Nondeterminism, WithoutThePayloadConcurrentCallsAreToldApartByNothing) {
  const uint32_t parts = kIndexAll & ~static_cast<uint32_t>(kIndexPayload);
  Recorded a({}, parts), b({}, parts);
  for (auto [run, bodies] : {std::pair{&a, std::vector{"{\"n\":1}", "{\"n\":2}"}},
                             std::pair{&b, std::vector{"{\"n\":2}", "{\"n\":1}"}}}) {
    const uint64_t front = run->call(0, "test", "GET", "/");
    for (const char* body : bodies) run->call(front, "front", "POST", "/p", body, "{}", 1000, 9000);
  }
  const Nondeterminism found = find(a, b, {}, parts);
  EXPECT_NE(found.unstable.find(a.record.rpcs[1]), nullptr);
  EXPECT_NE(found.unstable.find(b.record.rpcs[2]), nullptr);
  EXPECT_EQ(found.unstable.find(a.record.rpcs[0]), nullptr);
}

TEST(Nondeterminism, WhatComesSometimesIsNotFaulted) {
  Recorded a, b;
  a.call(a.call(0, "test", "GET", "/"), "front", "GET", "/always");
  const uint64_t front = b.call(0, "test", "GET", "/");
  b.call(front, "front", "GET", "/always");
  const uint64_t extra = b.call(front, "front", "GET", "/extra");
  b.call(extra, "back", "GET", "/below");
  EXPECT_EQ(find(a, b).variations[0].reason, kGrows);
  EXPECT_EQ(find(b, a).variations[0].reason, kKept);
  for (const Nondeterminism& found : {find(a, b), find(b, a)}) {
    ASSERT_EQ(found.variations.size(), 1u) << "not what it caused";
    EXPECT_EQ(found.variations[0].what, "seen in 1 of 2 executions");
    EXPECT_EQ(found.unstable.find(a.record.rpcs[1]), nullptr);
    ASSERT_NE(found.unstable.find(b.record.rpcs[2]), nullptr);
    EXPECT_TRUE(found.unstable.find(b.record.rpcs[2])->sometimes);
  }
}

TEST(Nondeterminism, TheExecutionsInWhichACallComesSayWhyItMay) {
  // A cache that is warm from the second execution on; one whose entries expire; a queue that is filled by the first.
  const auto why = [](const std::vector<bool>& comes) {
    std::vector<Recorded> runs(comes.size());
    std::vector<const ExecutionRecord*> records;
    for (size_t i = 0; i < comes.size(); ++i) {
      const uint64_t front = runs[i].call(0, "test", "GET", "/");
      runs[i].call(front, "front", "GET", "/always");
      if (comes[i]) runs[i].call(front, "front", "GET", "/extra");
    }
    for (const Recorded& run : runs) records.push_back(&run.record);
    const Nondeterminism found = find_nondeterminism(records, {}, kIndexAll);
    return found.variations.size() == 1
               ? found.variations[0].what + ": " + found.variations[0].reason
               : "not one variation";
  };
  EXPECT_EQ(why({true, false, false, false}), "seen in 1 of 4 executions: " + std::string(kKept));
  EXPECT_EQ(why({true, false, true, false}),
            "seen in 2 of 4 executions: " + std::string(kComesAndGoes));
  EXPECT_EQ(why({false, true, true, true}), "seen in 3 of 4 executions: " + std::string(kGrows));
  EXPECT_EQ(why({false, false, true, false}),
            "seen in 1 of 4 executions: " + std::string(kComesAndGoes));
}

TEST(Nondeterminism, ACallThatIsMadeMoreOftenInARunIsNotSaidToAppearInEachOfThem) {
  Recorded a, b;
  for (auto [run, times] : {std::pair{&a, 1}, std::pair{&b, 3}}) {
    for (int i = 0; i < times; ++i) run->call(0, "test", "GET", "/again");
  }
  for (const Nondeterminism& found : {find(a, b), find(b, a)}) {
    ASSERT_FALSE(found.variations.empty());
    for (const Variation& one : found.variations)
      EXPECT_EQ(one.what, "comes more often in 1 of 2 executions");
  }
}

TEST(Nondeterminism, WhatHasNoKnownCauseIsNotCompared) {
  auto runs = pair("/o/1/x", "/o/2/x");
  for (Recorded* run : {&runs.first, &runs.second}) {
    run->record.rpcs[1].cause = Cause::kNone;
    run->record.rpcs[1].parent_rpc = 0;
  }
  EXPECT_TRUE(find(runs.first, runs.second).variations.empty());
}

TEST(Unstable, DamagedTextIsAnError) {
  EXPECT_FALSE(UnstableRpcs::from_json("").ok());
  EXPECT_FALSE(UnstableRpcs::from_json("{}").ok());
  EXPECT_FALSE(UnstableRpcs::from_json(R"({"kinds":[],"indexes":{"x":"y"},"stable":[]})").ok());
  EXPECT_FALSE(UnstableRpcs::from_json(R"({"kinds":[],"indexes":{},"stable":["x"]})").ok());
  EXPECT_TRUE(UnstableRpcs::from_json(R"({"kinds":[],"indexes":{},"stable":[]})").ok());
}

// --- call stacks ---------------------------------------------------------------------------------

TEST(Stacks, ThatVaryAreMasked) {
  const auto run = [](const std::string& site, const std::vector<NondeterminismRule>& masks) {
    Recorded out(masks);
    const uint64_t top = out.call(0, "", "GET", "/");
    out.site = site;
    out.call(top, "proxy", "GET", "/a");
    return out;
  };
  const Recorded a = run("kept", {}), b = run("opened", {});
  const Nondeterminism found = find_nondeterminism({&a.record, &b.record}, {}, kIndexAll);
  ASSERT_EQ(found.proposed.size(), 1u);
  EXPECT_TRUE(found.proposed[0].stack);
  EXPECT_EQ(found.proposed[0].path, "/a");
  ASSERT_EQ(found.variations.size(), 1u);
  EXPECT_EQ(found.variations[0].what, "its call stack");
  EXPECT_EQ(found.variations[0].effect, Variation::Effect::kMasked);
  const Recorded c = run("kept", found.proposed), d = run("opened", found.proposed);
  EXPECT_EQ(c.record.rpcs[1].index, d.record.rpcs[1].index);
  EXPECT_TRUE(
      find_nondeterminism({&c.record, &d.record}, found.proposed, kIndexAll).proposed.empty());
  EXPECT_TRUE(find_nondeterminism({&a.record, &b.record}, {}, kIndexAll & ~uint32_t{kIndexStack})
                  .proposed.empty())
      << "where it takes no part";
}

TEST(Stacks, ThatTellCallsApartAreNotMasked) {
  const std::vector<NondeterminismRule> broad =
      rules(R"([{"on": {"caller": "proxy"}, "mask": {"stack": true}}])");
  const auto run = [&] {
    Recorded out(broad);
    const uint64_t top = out.call(0, "", "GET", "/");
    for (const char* site : {"first", "second"}) {
      out.site = site;
      out.call(top, "proxy", "GET", "/a");
    }
    return out;
  };
  const Recorded a = run(), b = run();
  const Nondeterminism found = find_nondeterminism({&a.record, &b.record}, broad, kIndexAll);
  ASSERT_FALSE(found.too_broad.empty());
  EXPECT_NE(found.too_broad[0].find("its call stack tells apart"), std::string::npos)
      << found.too_broad[0];
}

// Calls of one call site at the same time, with the paths given.
Recorded at_once(const std::vector<std::string>& paths,
                 const std::vector<NondeterminismRule>& rules = {}) {
  Recorded out(rules);
  for (const std::string& path : paths) out.call(0, "front", "PUT", path, "", "{}", 1000, 9000);
  return out;
}

Nondeterminism by_arrival(const Recorded& a, const Recorded& b,
                          const std::vector<NondeterminismRule>& rules = {}) {
  return find_nondeterminism({&a.record, &b.record}, rules, kIndexAll, {}, Order::kOfArrival);
}

TEST(OrderOfArrival, TellsConcurrentCallsApartThatDifferInWhatVaries) {
  const Recorded a = at_once({"/items/1a", "/items/2b"}), b = at_once({"/items/3c", "/items/4d"});
  const Nondeterminism found = by_arrival(a, b);
  ASSERT_EQ(found.proposed.size(), 1u);
  EXPECT_EQ(found.proposed[0].path, "/items/*");
  EXPECT_TRUE(found.unstable.empty());
  // With the mask they have one signature, and each of them may get a fault.
  const Recorded c = at_once({"/items/1a", "/items/2b"}, found.proposed),
                 d = at_once({"/items/3c", "/items/4d"}, found.proposed);
  EXPECT_EQ(c.record.rpcs[0].index, d.record.rpcs[0].index);
  EXPECT_NE(c.record.rpcs[0].index, c.record.rpcs[1].index);
  const Nondeterminism again = by_arrival(c, d, found.proposed);
  EXPECT_TRUE(again.proposed.empty());
  EXPECT_TRUE(again.unstable.empty());
  // By the order of calls nothing tells them apart.
  EXPECT_TRUE(find(a, b).proposed.empty());
  EXPECT_FALSE(find(a, b).unstable.empty());
}

TEST(OrderOfArrival, LetsWholePathsVary) {
  const Recorded a = at_once({"/1a", "/2b"}), b = at_once({"/3c", "/4d"});
  ASSERT_EQ(by_arrival(a, b).proposed.size(), 1u);
  EXPECT_TRUE(find(at_once({"/1a"}), at_once({"/3c"})).proposed.empty());
}

TEST(OrderOfArrival, AFixedNameIsStillToldApart) {
  const Recorded a = at_once({"/items/main", "/items/1a"}),
                 b = at_once({"/items/main", "/items/3c"});
  EXPECT_TRUE(by_arrival(a, b).proposed.empty());
}

// What is said of the last call, which varies.
std::string reason(const Nondeterminism& found, const Recorded& a) {
  const UnstableKind* kind = found.unstable.find(a.record.rpcs.back());
  return kind == nullptr ? "" : kind->reason;
}

TEST(Advice, IsARuleThatKnowsVaryingNamesByTheirShape) {
  Recorded a, b;
  for (Recorded* run : {&a, &b}) {
    run->call(0, "front", "PUT", "/items/main");
    run->call(0, "front", "PUT", run == &a ? "/items/1a2b-33" : "/items/5c6d-44");
  }
  EXPECT_NE(reason(find(a, b), a)
                .find(R"(helps: {"on":{"caller":"front","service":"back","method":"PUT",)"
                      R"("path":"/items/????-??"},"mask":{"path":[2]}})"),
            std::string::npos)
      << reason(find(a, b), a);
}

TEST(Advice, IsNotGivenWhereTheRuleWouldMergeCallsToo) {
  Recorded a, b;
  for (Recorded* run : {&a, &b}) {
    run->call(0, "front", "PUT", "/items/main-00");
    run->call(0, "front", "PUT", run == &a ? "/items/1a2b-33" : "/items/5c6d-44");
  }
  ASSERT_NE(reason(find(a, b), a).find("would merge"), std::string::npos);
  EXPECT_EQ(reason(find(a, b), a).find("helps"), std::string::npos);
}

TEST(Advice, IsABroaderRuleWhereThereAreMoreMasksThanFit) {
  Recorded a, b;
  for (uint32_t i = 0; i <= kMaxMaskRules; ++i) {
    const std::string at = "/users/" + std::to_string(i) + "/files/";
    a.call(0, "front", "PUT", at + "a" + std::to_string(i));
    b.call(0, "front", "PUT", at + "b" + std::to_string(i));
  }
  EXPECT_NE(reason(find(a, b), a).find(R"("path":"/users/*/files/*"},"mask":{"path":[4]}})"),
            std::string::npos)
      << reason(find(a, b), a);
}

}  // namespace
}  // namespace filibuster
