// Unit tests of what the review services share.
#include "review_service.h"

#include <gtest/gtest.h>

TEST(Reviews, OfAHotelAreFound) {
  EXPECT_EQ(expedia::reviews_of(7).size(), 3u);
}

TEST(Reviews, OfAnUnknownHotelAreNone) {
  EXPECT_TRUE(expedia::reviews_of(8).empty());
}

TEST(Reviews, AreWrittenInTheirOrder) {
  const auto json = nlohmann::json::parse(expedia::to_json(expedia::reviews_of(7), "time"));
  EXPECT_EQ(json["order"], "time");
  EXPECT_EQ(json["reviews"].size(), 3u);
  EXPECT_EQ(json["reviews"][0]["text"], "Quiet rooms, kind people");
}
