#include "daemon/replay/accept.h"

#include <gtest/gtest.h>

namespace filibuster::replay {
namespace {

using cases::Call;
using cases::Case;
using cases::Difference;
using cases::DifferenceKind;

Call get(const std::string& target, std::vector<size_t> after) {
  Call out;
  out.input.to = "pricing";
  out.input.http.method = "GET";
  out.input.http.target = target;
  out.after = std::move(after);
  return out;
}

// Four calls, each behind the one before it; the third one tries the second one again.
Case four_calls() {
  Case out;
  out.service = "orders";
  out.calls = {get("/0", {}), get("/1", {0}), get("/1", {1}), get("/3", {2})};
  out.calls[2].attempt_of = 1;
  out.answer.status = 200;
  return out;
}

Difference of(DifferenceKind kind, std::optional<size_t> call,
              std::optional<size_t> before = std::nullopt) {
  Difference out;
  out.kind = kind;
  out.call = call;
  out.before = before;
  return out;
}

Result<Case> accept(const std::vector<Difference>& differences) {
  cases::Verdict verdict;
  verdict.judged = cases::Judged::kDiffers;
  verdict.differences = differences;
  cases::Answer answer;
  answer.status = 201;
  return accepted(four_calls(), verdict, answer, [](size_t arrival) {
    return get("/arrived/" + std::to_string(arrival), {}).input;
  });
}

TEST(Accepted, TakesTheAnswer) {
  const auto out = accept({of(DifferenceKind::kAnswer, std::nullopt)});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->answer.status, 201);
  EXPECT_EQ(out->calls, four_calls().calls);
}

// What waited for the call waits for what that one waited for.
TEST(Accepted, TakesOutACallThatDoesNotCome) {
  const auto out = accept({of(DifferenceKind::kMissing, 0)});
  ASSERT_TRUE(out);
  ASSERT_EQ(out->calls.size(), 3u);
  EXPECT_EQ(out->calls[0].after, std::vector<size_t>());
  EXPECT_EQ(out->calls[1].after, std::vector<size_t>{0});
  EXPECT_EQ(out->calls[1].attempt_of, 0u);
  const auto both = accept({of(DifferenceKind::kMissing, 1), of(DifferenceKind::kMissing, 2)});
  ASSERT_TRUE(both);
  ASSERT_EQ(both->calls.size(), 2u);
  EXPECT_EQ(both->calls[1].after, std::vector<size_t>{0});
  EXPECT_EQ(accept({of(DifferenceKind::kMissing, 1)})->calls[1].attempt_of, std::nullopt);
}

// The service has not had its answer yet, so what it answers says nothing.
TEST(Accepted, ACallThatBringsSomethingElseKeepsItsAnswer) {
  Difference input = of(DifferenceKind::kInput, 3);
  input.arrival = 7;
  const auto out = accept({input, of(DifferenceKind::kAnswer, std::nullopt)});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->calls[3].input.http.target, "/arrived/7");
  EXPECT_EQ(out->answer.status, 200);
}

TEST(Accepted, AnOrderIsComparedNoMore) {
  const auto out = accept({of(DifferenceKind::kOrder, 1, 0)});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->calls[1].after, std::vector<size_t>());
  EXPECT_EQ(out->calls[2].after, std::vector<size_t>{1});
}

TEST(Accepted, NobodyKnowsWhatANewCallIsAnswered) {
  const auto out =
      accept({of(DifferenceKind::kMissing, 0), of(DifferenceKind::kExtra, std::nullopt)});
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message.find("record the case again"), std::string::npos);
}

}  // namespace
}  // namespace filibuster::replay
