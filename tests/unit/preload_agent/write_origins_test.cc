#include "preload/rpc/write_origins.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace filibuster::preload {
namespace {

RuntimeField of_site(uint64_t site) {
  RuntimeField field;
  field.site = site;
  return field;
}

std::string value_of(uint64_t site) {
  char value[kRuntimeValueSize];
  encode_runtime_value(of_site(site), value);
  return {value, sizeof value};
}

TEST(WriteOrigins, EveryByteOfAWriteHasWhatWasSaidOfIt) {
  const auto origins = std::make_unique<WriteOrigins>();
  EXPECT_EQ(origins->at(0), "");
  origins->add(0, 10, of_site(1));
  origins->add(30, 40, of_site(2));
  EXPECT_EQ(origins->at(0), value_of(1));
  EXPECT_EQ(origins->at(9), value_of(1));
  EXPECT_EQ(origins->at(10), "") << "nothing was said of these";
  EXPECT_EQ(origins->at(29), "");
  EXPECT_EQ(origins->at(30), value_of(2));
  EXPECT_EQ(origins->at(40), "");
}

TEST(WriteOrigins, WritesOfOneOriginTakeOnePlace) {
  const auto origins = std::make_unique<WriteOrigins>();
  origins->add(0, 1, of_site(1));
  for (uint64_t i = 0; i < 2 * WriteOrigins::kMost; ++i) origins->add(i + 1, i + 2, of_site(2));
  EXPECT_EQ(origins->at(0), value_of(1));
  EXPECT_EQ(origins->at(1), value_of(2));
  EXPECT_EQ(origins->at(2 * WriteOrigins::kMost), value_of(2));
}

TEST(WriteOrigins, TheOldestIsForgottenFirst) {
  const auto origins = std::make_unique<WriteOrigins>();
  for (uint64_t i = 0; i < WriteOrigins::kMost + 1; ++i) origins->add(i, i + 1, of_site(i + 1));
  EXPECT_EQ(origins->at(0), "");
  for (uint64_t i = 1; i < WriteOrigins::kMost + 1; ++i) EXPECT_EQ(origins->at(i), value_of(i + 1));
}

}  // namespace
}  // namespace filibuster::preload
