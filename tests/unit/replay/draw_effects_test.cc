#include "daemon/replay/draw_effects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace filibuster::replay {
namespace {

using cases::Case;
using cases::Draw;
using Effect = cases::DrawPoint::Effect;

Draw draw(const std::string& site, const std::string& bytes = "0123456789abcdef",
          const std::string& source = "getrandom") {
  return {source, bytes, site};
}

// A service of which it is known what it does with its numbers.
class DrawEffectsTest : public ::testing::Test {
 protected:
  LoadedSet set_;
  std::function<std::string(const Case&)> behaves_;  // what differs, in words; "": nothing
  std::vector<size_t> changed_places_;               // in each replay
  size_t stops_after_ = 1000;

  void add(std::vector<Draw> draws) {
    Case& value = set_.cases.emplace_back();
    value.file = "cases/get-x/" + std::to_string(set_.cases.size()) + ".json";
    value.draws = std::move(draws);
  }

  Result<Endings> replay(const std::function<Case(const Case&)>& altered) {
    std::set<std::string> places;
    Endings out;
    if (changed_places_.size() == stops_after_) return out;
    for (const Case& each : set_.cases) {
      const Case now = altered(each);
      for (size_t i = 0; i < now.draws.size(); ++i) {
        if (!(now.draws[i] == each.draws[i])) places.insert(each.draws[i].site);
      }
      Ending& ending = out.emplace_back();
      std::istringstream words(behaves_(now));
      for (std::string what, how; words >> what >> how;) ending[what] = hash_text(how);
    }
    changed_places_.push_back(places.size());
    return out;
  }

  DrawEffects find() {
    auto found = find_draw_effects(&set_, [&](const auto& altered) { return replay(altered); });
    EXPECT_TRUE(found);
    return found.value();
  }

  std::map<std::string, Effect> effects() const {
    std::map<std::string, Effect> out;
    for (const cases::DrawPoint& each : set_.set.draws) out[each.site] = each.effect;
    return out;
  }

  std::ptrdiff_t number_of(Effect effect) const {
    return std::count_if(set_.set.draws.begin(), set_.set.draws.end(),
                         [&](const auto& each) { return each.effect == effect; });
  }

  static bool is_as_recorded(const Case& of, const std::string& site) {
    for (const Draw& each : of.draws) {
      if (each.site == site && (each.own != 0 || each.bytes != "0123456789abcdef")) return false;
    }
    return true;
  }
};

TEST_F(DrawEffectsTest, WithoutRandomNumbersNothingIsReplayed) {
  add({});
  behaves_ = [](const Case&) { return ""; };
  find();
  EXPECT_TRUE(changed_places_.empty());
}

TEST_F(DrawEffectsTest, NumbersWithoutEffectAreDroppedFromAllCases) {
  add({draw("log"), draw("trace")});
  add({draw("log")});
  behaves_ = [](const Case&) { return ""; };
  find();
  EXPECT_TRUE(set_.cases[0].draws.empty());
  EXPECT_TRUE(set_.cases[1].draws.empty());
  EXPECT_EQ(effects().at("log"), Effect::kNone);
  EXPECT_EQ(set_.set.draws[0].cases, 2u);
  EXPECT_EQ(set_.set.draws[1].cases, 1u);
}

TEST_F(DrawEffectsTest, OfManyPlacesThoseWithAnEffectAreFound) {
  std::vector<Draw> all;
  for (int i = 0; i < 20; ++i) all.push_back(draw("site" + std::to_string(i)));
  add(all);
  behaves_ = [](const Case& of) {
    return is_as_recorded(of, "site3") && is_as_recorded(of, "site17") ? "" : "answer other";
  };
  find();
  EXPECT_EQ(number_of(Effect::kSome), 2);
  EXPECT_EQ(number_of(Effect::kNone), 18);
  EXPECT_EQ(effects().at("site3"), Effect::kSome);
  EXPECT_EQ(effects().at("site17"), Effect::kSome);
  EXPECT_LT(changed_places_.size(), 30u);  // fewer than three for each place
}

TEST_F(DrawEffectsTest, APlaceBeforeOneOfTheSameKindIsHeld) {
  add({draw("log"), draw("order"), draw("log")});
  behaves_ = [](const Case& of) { return is_as_recorded(of, "order") ? "" : "answer other"; };
  find();
  const std::vector<Draw>& left = set_.cases[0].draws;
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].own, 16u);
  EXPECT_TRUE(left[0].bytes.empty());
  EXPECT_EQ(left[1], draw("order"));
}

TEST_F(DrawEffectsTest, OfAnotherSizeOrSourceNothingIsHeld) {
  add({draw("log", "1234"), draw("log2", "0123456789abcdef", "getentropy"), draw("order")});
  behaves_ = [](const Case& of) { return is_as_recorded(of, "order") ? "" : "answer other"; };
  find();
  EXPECT_EQ(set_.cases[0].draws, std::vector<Draw>{draw("order")});
}

TEST_F(DrawEffectsTest, AThresholdIsCrossedByTheSmallestOrTheLargest) {
  add({draw("low"), draw("high")});
  behaves_ = [](const Case& of) -> std::string {
    if (of.draws[0].own == 0 && of.draws[0].bytes[0] == '\0') return "low other";
    if (of.draws[1].own == 0 && of.draws[1].bytes[0] == '\xff') return "high other";
    return "";
  };
  find();
  EXPECT_EQ(number_of(Effect::kSome), 2);
}

TEST_F(DrawEffectsTest, NumbersOfALanguageAreNeverMadeUp) {
  add({draw("coin", "12345678", "python")});
  behaves_ = [](const Case& of) {
    return of.draws[0].own != 0 || of.draws[0].bytes == "12345678" ? "" : "number impossible";
  };
  find();
  EXPECT_EQ(number_of(Effect::kNone), 1);
}

TEST_F(DrawEffectsTest, WhatDoesNotLeadToWhatWasRecordedIsUnfit) {
  add({draw("token"), draw("order")});
  behaves_ = [](const Case& of) -> std::string {
    const std::string token = of.draws[0].own != 0 ? "new" : "of-" + of.draws[0].bytes;
    return "token " + token + (is_as_recorded(of, "order") ? "" : " order other");
  };
  EXPECT_TRUE(find().has_unfit);
  EXPECT_EQ(effects().at("token"), Effect::kUnfit);
  EXPECT_EQ(effects().at("order"), Effect::kSome);
}

TEST_F(DrawEffectsTest, TwoThatHideOneAnotherAreBothKept) {
  add({draw("one"), draw("two")});
  // It fails where both are others.
  behaves_ = [](const Case& of) {
    return is_as_recorded(of, "one") || is_as_recorded(of, "two") ? "" : "both other";
  };
  find();
  EXPECT_EQ(number_of(Effect::kSome), 2);
}

TEST_F(DrawEffectsTest, ASessionThatEndsChangesNothing) {
  add({draw("one"), draw("two")});
  behaves_ = [](const Case& of) { return is_as_recorded(of, "one") ? "" : "one other"; };
  for (stops_after_ = 0; stops_after_ < 4; ++stops_after_) {
    changed_places_.clear();
    EXPECT_TRUE(find().stopped);
    EXPECT_EQ(set_.cases[0].draws.size(), 2u);
    EXPECT_TRUE(set_.set.draws.empty());
  }
}

TEST_F(DrawEffectsTest, WhatIsNotKnownInTimeKeepsItsNumbers) {
  std::vector<Draw> all;
  for (int i = 0; i < 64; ++i) all.push_back(draw("site" + std::to_string(i)));
  add(all);
  behaves_ = [](const Case& of) {
    for (int i = 0; i < 64; i += 2) {
      if (!is_as_recorded(of, "site" + std::to_string(i))) return "answer other";
    }
    return "";
  };
  find();
  EXPECT_GT(number_of(Effect::kUnknown), 0);
  EXPECT_EQ(set_.set.draws.size(), 64u);
  for (const Draw& each : set_.cases[0].draws) {
    EXPECT_TRUE(effects().at(each.site) != Effect::kUnknown || !each.bytes.empty());
  }
}

}  // namespace
}  // namespace filibuster::replay
