// Which fault of a failing execution its failure needs.
#include "daemon/explore/minimal_sets.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

search::PlannedFault fault(uint64_t rpc, search::OutcomeId kind = 1) {
  return {{rpc, rpc}, kind};
}

TEST(MinimalSets, AFaultBesideOneUnderWhichTheTestFailsIsNotNeeded) {
  MinimalSets sets;
  sets.add({fault(1)}, 0);
  EXPECT_TRUE(sets.fail_without_newest({fault(1), fault(2)}));
  EXPECT_FALSE(sets.fail_without_newest({fault(1)})) << "it fails alone";
  EXPECT_FALSE(sets.fail_without_newest({fault(2), fault(1)})) << "the newest one is the cause";
  EXPECT_FALSE(sets.fail_without_newest({fault(1, 2), fault(2)})) << "another fault there";
}

TEST(MinimalSets, AFaultOfOneOfTheSetsIsNeeded) {
  MinimalSets sets;
  sets.add({fault(1)}, 0);
  sets.add({fault(3), fault(2)}, 1);
  EXPECT_FALSE(sets.fail_without_newest({fault(1), fault(2), fault(3)}))
      << "it is part of a finding";
  EXPECT_TRUE(sets.fail_without_newest({fault(2), fault(3), fault(4)}));
  EXPECT_FALSE(sets.fail_without_newest({fault(2), fault(4)})) << "no set is whole";
}

TEST(MinimalSets, TellOfWhichFindingsAFaultIsPart) {
  MinimalSets sets;
  sets.add({fault(1), fault(2)}, 4);
  sets.add({fault(2), fault(3)}, 7);
  EXPECT_EQ(sets.with(fault(2)), (std::vector<uint32_t>{4, 7}));
  EXPECT_EQ(sets.with(fault(3)), std::vector<uint32_t>{7});
  EXPECT_TRUE(sets.with(fault(2, 9)).empty());
}

}  // namespace
}  // namespace filibuster
