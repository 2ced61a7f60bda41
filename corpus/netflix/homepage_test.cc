// Unit tests of the homepage: which services are asked, in which order, and what is shown when some
// of them fail.
#include "homepage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace netflix {
namespace {

struct Made {
  Answer answer;
  std::vector<std::string> asked;
  nlohmann::json page() const { return nlohmann::json::parse(answer.body); }
};

// Status 0: no answer. Who is not named answers 200.
Made make(const std::map<std::string, int>& failing, Bugs bugs = {}) {
  Made made;
  Homepage homepage(
      "chris",
      [&](const std::string& service, const std::string&,
          const std::optional<std::string>&) -> std::optional<Answer> {
        made.asked.push_back(service);
        const auto found = failing.find(service);
        if (found == failing.end()) return Answer{200, "\"" + service + "\""};
        if (found->second == 0) return std::nullopt;
        return Answer{found->second, "{}"};
      },
      bugs);
  made.answer = homepage.make();
  return made;
}

using Asked = std::vector<std::string>;

TEST(Homepage, AsksFiveServicesWhenAllAnswer) {
  const Made made = make({});
  EXPECT_EQ(made.answer.status, 200);
  EXPECT_EQ(made.asked,
            (Asked{"user-profile", "bookmarks", "my-list", "user-recommendations", "ratings"}));
  EXPECT_FALSE(made.page().contains("trending"));
}

TEST(Homepage, ShowsWhatIsTrendingInPlaceOfBookmarksAlsoWithoutTelemetry) {
  const Made made = make({{"bookmarks", 0}, {"telemetry", 0}});
  EXPECT_EQ(made.answer.status, 200);
  EXPECT_EQ(made.page()["trending"], "trending");
}

TEST(Homepage, GoesFromTheUsersRecommendationsToThoseForAllToWhatIsTrending) {
  EXPECT_EQ(make({{"user-recommendations", 500}}).page()["recommendations"],
            "global-recommendations");
  const Made made = make({{"user-recommendations", 500}, {"global-recommendations", 0}});
  EXPECT_EQ(made.page()["trending"], "trending");
  EXPECT_FALSE(made.page().contains("recommendations"));
}

TEST(Homepage, AsksForWhatIsTrendingOnce) {
  const Made made =
      make({{"bookmarks", 500}, {"user-recommendations", 500}, {"global-recommendations", 500}});
  EXPECT_EQ(std::count(made.asked.begin(), made.asked.end(), "trending"), 1);
}

TEST(Homepage, IsUnavailableWithoutMyListRatingsOrAStandIn) {
  EXPECT_EQ(make({{"my-list", 0}}).answer.status, 503);
  EXPECT_EQ(make({{"my-list", 502}}).answer.status, 500);
  EXPECT_EQ(make({{"ratings", 404}}).answer.status, 404);
  EXPECT_EQ(make({{"bookmarks", 0}, {"trending", 0}}).answer.status, 503);
}

TEST(Homepage, OfAStrangerStandsInWithoutAProfile) {
  const Made made = make({{"user-profile", 0}});
  EXPECT_EQ(made.answer.status, 200);
  EXPECT_EQ(made.page()["signed-in"], false);
  EXPECT_EQ(made.asked, (Asked{"user-profile"}));
  EXPECT_EQ(make({{"user-profile", 404}}).answer.status, 404);
}

TEST(Homepage, AsksTheSameServerAgainWithBug2Only) {
  EXPECT_EQ(make({{"my-list", 0}}).asked.size(), 3u);
  EXPECT_EQ(make({{"my-list", 0}}, {true, false}).asked.size(), 4u);
}

TEST(Homepage, IsNotThereWithoutAProfileWithBug3Only) {
  EXPECT_EQ(make({{"user-profile", 0}}, {false, true}).answer.status, 503);
}

}  // namespace
}  // namespace netflix
