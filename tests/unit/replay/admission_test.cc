#include "daemon/replay/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/unit/cases/recipe.h"

namespace filibuster::replay {
namespace {

using cases::Case;
using cases::DifferenceKind;
using cases::Judged;
using cases::Verdict;

Verdict passed() {
  Verdict out;
  out.judged = Judged::kPassed;
  return out;
}

Verdict differs(DifferenceKind kind, std::string pointer = "", std::string recorded = "",
                std::string now = "") {
  Verdict out;
  out.judged = Judged::kDiffers;
  cases::Difference one;
  one.kind = kind;
  one.text = std::string(cases::difference_name(kind)) + ": " + pointer;
  if (!pointer.empty()) one.fields = {{std::move(pointer), std::move(recorded), std::move(now)}};
  out.differences.push_back(std::move(one));
  return out;
}

// A service whose replays are what the test says.
class FakeStage final : public Stage {
 public:
  Result<void> restart() override {
    ++restarts;
    played.clear();
    return {};
  }
  Result<Played> play(const Case& of) override {
    ++replays;
    Played out;
    out.execution = static_cast<uint32_t>(replays);
    if (played.empty()) first_of_pass = out.execution;
    out.verdict = judge(of);
    out.stopped = stops;
    played.push_back(of.request.target);
    return out;
  }
  Rejudged rejudged(bool waits) override {
    waited += waits ? 1 : 0;
    return std::exchange(late, {});
  }
  void begin_pass(size_t number) override { pass = number; }
  bool show_later(std::chrono::seconds by) override {
    later = by;
    return true;
  }
  std::vector<std::string> process_misses() const override { return {}; }
  Case with_secrets(const Case& of, const std::set<std::string>& kept) const override {
    Case out = of;
    out.partial = "restored";
    for (const std::string& each : kept) out.partial += " but " + each;
    return out;
  }
  std::vector<Secret> secrets(const Case&) const override { return in_case; }

  std::function<Verdict(const Case&)> judge = [](const Case&) { return passed(); };
  std::vector<Secret> in_case;
  Rejudged late;
  size_t waited = 0;
  uint32_t first_of_pass = 0;
  std::vector<std::string> played;  // by this process
  size_t restarts = 0, replays = 0, pass = 0;
  std::chrono::seconds later{0};
  bool stops = false;
};

class AdmissionTest : public ::testing::Test {
 protected:
  void add(const std::string& target, int64_t at) {
    Case each = cases::order_case();
    each.request.target = target;
    each.base_us = at;
    each.file = "/cases/" + std::to_string(at) + ".json";
    set_.cases.push_back(std::move(each));
  }
  std::vector<std::string> kept() const {
    std::vector<std::string> out;
    for (const Case& each : set_.cases) out.push_back(each.request.target);
    return out;
  }

  LoadedSet set_ = [] {
    LoadedSet out;
    out.set.service = "orders";
    out.rules = cases::rules_of(out.set).value();
    return out;
  }();
  FakeStage stage_;
};

using Targets = std::vector<std::string>;

TEST_F(AdmissionTest, WhatPassesIsKeptAndReplayedOnProcessesOfItsOwn) {
  add("/a", 1);
  add("/b", 2);
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(kept(), (Targets{"/a", "/b"}));
  EXPECT_EQ(out->passes, 9u) << "five to see what varies, one that counts, three at other times";
  EXPECT_EQ(out->replays, 20u) << "and one in the opposite order";
  EXPECT_EQ(stage_.restarts, 9u) << "the first process has done nothing";
}

TEST_F(AdmissionTest, WhatVariesIsMaskedAndCasesThatAreEqualThenAreOne) {
  add("/a", 1);
  add("/a", 2);
  set_.cases[0].answer.body = R"({"id":1})";
  set_.cases[1].answer.body = R"({"id":2})";
  stage_.judge = [&](const Case&) {
    return !set_.set.masks.empty() ? passed()
                                   : differs(DifferenceKind::kAnswer, "/json/id", "1",
                                             std::to_string(10 + stage_.replays));
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  ASSERT_EQ(set_.cases.size(), 1u);
  EXPECT_EQ(set_.cases[0].seen, 2u);
  EXPECT_EQ(out->equal, 1u);
  EXPECT_EQ(set_.set.masks.size(), 1u);
  EXPECT_EQ(out->masks.size(), 1u);
}

TEST_F(AdmissionTest, ACallThatCameWhileTheNextCaseRanRefusesItsOwn) {
  add("/a", 1);
  add("/b", 2);
  stage_.judge = [&](const Case& of) {
    stage_.late.clear();
    if (of.request.target == "/b" && !stage_.played.empty() && stage_.pass >= 5)
      stage_.late.emplace(stage_.first_of_pass, differs(DifferenceKind::kExtra));
    return passed();
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(kept(), (Targets{"/b"}));
  ASSERT_EQ(out->refused.size(), 1u);
  EXPECT_EQ(out->refused[0].value.request.target, "/a");
  EXPECT_GE(stage_.waited, 1u) << "a call of the last case may still come";
}

TEST_F(AdmissionTest, AnOrderThatIsBrokenOnceIsNoOrder) {
  add("/a", 1);
  stage_.judge = [&](const Case& of) {
    if (of.calls[1].after.empty()) return passed();
    Verdict out = differs(DifferenceKind::kOrder);
    out.differences[0].call = 1;
    out.differences[0].before = 0;
    return out;
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(kept(), Targets{"/a"});
  EXPECT_EQ(out->unordered, 1u);
}

TEST_F(AdmissionTest, TwoCallsWithoutAnOrderHaveNoneInAnyCaseOfTheRoute) {
  add("/a/1", 1);
  add("/a/2", 2);
  add("/b", 3);
  stage_.judge = [&](const Case& of) {
    if (of.request.target != "/a/1" || of.calls[1].after.empty()) return passed();
    Verdict out = differs(DifferenceKind::kOrder);
    out.differences[0].call = 1;
    out.differences[0].before = 0;
    return out;
  };
  ASSERT_TRUE(Admission(&set_, &stage_).run().ok());
  EXPECT_TRUE(set_.cases[1].calls[1].after.empty());
  EXPECT_EQ(set_.cases[1].calls[2].after, std::vector<size_t>{1}) << "of others nothing is said";
  EXPECT_EQ(set_.cases[2].calls[1].after, std::vector<size_t>{0});
}

TEST_F(AdmissionTest, ACallThatWaitsForAnotherOneNoMoreWaitsForWhatThatOneWaitedFor) {
  add("/a", 1);
  stage_.judge = [&](const Case& of) {
    if (of.calls[2].after == std::vector<size_t>{0}) return passed();
    Verdict out = differs(DifferenceKind::kOrder);
    out.differences[0].call = 2;
    out.differences[0].before = 1;
    return out;
  };
  ASSERT_TRUE(Admission(&set_, &stage_).run().ok());
  EXPECT_EQ(kept(), Targets{"/a"});
}

TEST_F(AdmissionTest, WhatIsTheSameInEachReplayAndAnotherThanRecordedIsRefused) {
  add("/a", 1);
  add("/b", 2);
  stage_.judge = [](const Case& of) {
    return of.request.target == "/a" ? differs(DifferenceKind::kAnswer, "/json/n", "17", "3")
                                     : passed();
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(kept(), Targets{"/b"});
  ASSERT_EQ(out->refused.size(), 1u);
  EXPECT_NE(out->refused[0].why.find("/json/n"), std::string::npos);
  EXPECT_TRUE(set_.set.masks.empty());
}

TEST_F(AdmissionTest, EachReplayBeforeTheOneThatCountsIsAtAnotherTime) {
  add("/a", 1);
  std::vector<int64_t> shown;
  stage_.judge = [&](const Case&) {
    shown.push_back(stage_.later.count());
    return passed();
  };
  ASSERT_TRUE(Admission(&set_, &stage_).run().ok());
  shown.resize(6);
  EXPECT_EQ(shown, (std::vector<int64_t>{0, 1, 2, 3, 4, 0}));
}

TEST_F(AdmissionTest, WhatPassesByChanceIsRefused) {
  add("/lucky", 1);
  add("/b", 2);
  stage_.judge = [&](const Case& of) {
    return of.request.target == "/lucky" && stage_.pass == 3 ? differs(DifferenceKind::kExtra)
                                                             : passed();
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(kept(), Targets{"/b"});
  ASSERT_EQ(out->refused.size(), 1u);
  EXPECT_NE(out->refused[0].why.find("passes in one replay and differs in another"),
            std::string::npos);
}

TEST_F(AdmissionTest, WhatNeedsACaseThatIsNotKeptIsNotKept) {
  add("/never", 1);
  add("/behind", 2);
  stage_.judge = [&](const Case& of) {
    if (of.request.target == "/never") return differs(DifferenceKind::kMissing);
    return stage_.played == Targets{"/never"} ? passed() : differs(DifferenceKind::kMissing);
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(out->refused.size(), 2u);
}

TEST_F(AdmissionTest, WhatNeedsAnEarlierCaseSaysWhich) {
  for (int n = 0; n < 5; ++n) add("/" + std::to_string(n), n);
  stage_.judge = [&](const Case& of) {
    const bool is_filled =
        std::find(stage_.played.begin(), stage_.played.end(), "/1") != stage_.played.end();
    return of.request.target != "/3" || is_filled ? passed() : differs(DifferenceKind::kExtra);
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(kept(), (Targets{"/0", "/1", "/2", "/3", "/4"}));
  EXPECT_EQ(out->units, 1u);
  EXPECT_EQ(set_.cases[3].start, Targets{"1"}) << "the file of /1 is 1.json";
  EXPECT_TRUE(set_.cases[1].start.empty());
}

TEST_F(AdmissionTest, StateThatGrowsIsRefusedWithWhatNeedsIt) {
  for (int n = 0; n < 12; ++n) add("/" + std::to_string(n), n);
  // It passes behind all cases that come before it, and no fewer.
  stage_.judge = [&](const Case& of) {
    const size_t place = std::stoul(of.request.target.substr(1));
    return place < 10 || stage_.played.size() >= place ? passed()
                                                       : differs(DifferenceKind::kAnswer);
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(set_.cases.size(), 10u);
  EXPECT_EQ(out->grown, 2u);
}

TEST_F(AdmissionTest, WhatIsAnotherAtAnotherTimeIsNamedAndKept) {
  add("/open", 1'796'030'047'123'456);
  add("/always", 1'796'030'047'123'457);
  stage_.judge = [&](const Case& of) {
    const bool is_other_day = stage_.later >= std::chrono::hours(24);
    return of.request.target == "/open" && is_other_day
               ? differs(DifferenceKind::kAnswer, "/json/open", "true", "false")
               : passed();
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(kept(), (Targets{"/open", "/always"}));
  ASSERT_TRUE(set_.set.time);
  EXPECT_EQ(set_.set.time->replays, 6u);
  EXPECT_EQ(set_.set.time->matters, Targets{"1796030047123456"});
  ASSERT_EQ(out->of_time.size(), 1u);
  EXPECT_TRUE(out->of_time[0].starts_with("POST /open, on a weekend: ")) << out->of_time[0];
  EXPECT_EQ(stage_.later.count(), 0);
}

TEST_F(AdmissionTest, WhatChanceDecidesIsNotSaidToBeASecret) {
  add("/coin", 1);
  stage_.in_case = {{"T1", "the header cookie of the request"}};
  // It passes once, with its secrets.
  stage_.judge = [passes = 1](const Case& of) mutable {
    return of.partial == "restored" && passes-- > 0
               ? passed()
               : differs(DifferenceKind::kAnswer, "/json/side", "1", "2");
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  ASSERT_EQ(out->refused.size(), 1u);
  EXPECT_EQ(out->refused[0].why.find("the service checks"), std::string::npos);
}

TEST_F(AdmissionTest, WhatDiffersAtItsOwnTimeTooIsNotOfTheTime) {
  add("/coin", 1);
  add("/b", 2);
  // It differs from the replay 400 days later on.
  stage_.judge = [&, late = false](const Case& of) mutable {
    late = late || stage_.later >= std::chrono::hours(24 * 400);
    return of.request.target == "/coin" && late ? differs(DifferenceKind::kExtra) : passed();
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(kept(), Targets{"/b"});
  EXPECT_TRUE(set_.set.time->matters.empty());
}

TEST_F(AdmissionTest, TheSecretThatBreaksACaseIsNamed) {
  add("/login", 1);
  stage_.in_case = {{"T1", "the header cookie of the request"},
                    {"T2", "/json/password of the request"}};
  stage_.judge = [](const Case& of) {
    const bool has_password = of.partial == "restored" || of.partial == "restored but T1";
    return has_password ? passed() : differs(DifferenceKind::kAnswer, "/status", "200", "401");
  };
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  ASSERT_EQ(out->refused.size(), 1u);
  EXPECT_TRUE(out->refused[0].why.starts_with("the service checks /json/password of the request,"))
      << out->refused[0].why;
  EXPECT_EQ(out->refused[0].value.partial, "") << "what is kept has its tokens";
}

TEST_F(AdmissionTest, WhoIsStoppedSaysNothing) {
  add("/a", 1);
  stage_.stops = true;
  const auto out = Admission(&set_, &stage_).run();
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(out->stopped);
  EXPECT_EQ(kept(), Targets{"/a"});
}

TEST_F(AdmissionTest, ABoundKeepsEachPathAndTheNewest) {
  for (int64_t n = 0; n < 6; ++n) add("/a/" + std::to_string(n), n);
  add("/b", 6);
  set_.cases[2].calls.pop_back();
  set_.cases[1].answer.status = 500;
  EXPECT_EQ(bound(5, &set_), 2u);
  EXPECT_EQ(kept(), (Targets{"/a/1", "/a/2", "/a/4", "/a/5", "/b"}));
  EXPECT_EQ(bound(5, &set_), 0u);
}

}  // namespace
}  // namespace filibuster::replay
