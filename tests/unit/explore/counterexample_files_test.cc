#include "daemon/explore/counterexample_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "daemon/model/finding.h"
#include "daemon/process/session_lane.h"
#include "daemon/report/counterexample_json.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

class CounterexampleFilesTest : public testing::Test {
 protected:
  CounterexampleFiles files(const std::string& test) {
    return CounterexampleFiles(folder(), test, &numbers_);
  }
  std::string folder() const { return folder_.path() + "/counterexamples"; }

  static Counterexample example(const std::string& test, uint64_t index) {
    Counterexample out;
    out.test = test;
    InjectedFault fault;
    fault.index = {1, index};
    fault.fault = "refused";
    out.faults = {fault};
    return out;
  }
  static std::string key(uint64_t index) { return FaultSet(example("", index).faults).key(); }
  static std::vector<uint32_t> others(CounterexampleFiles* files, const std::string& known) {
    return files->others([&](const std::string& one) { return one == known; });
  }

  TemporaryFolder folder_;
  std::mutex numbers_;
};

TEST_F(CounterexampleFilesTest, AFailureKeepsItsNumberFromRunToRun) {
  {
    CounterexampleFiles first = files("checkout");
    EXPECT_EQ(first.write(example("checkout", 1))->number, 1u);
    EXPECT_EQ(first.write(example("checkout", 2))->number, 2u);
    EXPECT_EQ(first.write(example("checkout", 1))->number, 1u) << "written again";
  }
  CounterexampleFiles second = files("checkout");
  const auto again = second.write(example("checkout", 2));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->number, 2u);
  EXPECT_EQ(again->path, folder() + "/2.json");
  EXPECT_EQ(others(&second, key(2)), std::vector<uint32_t>{1});
}

TEST_F(CounterexampleFilesTest, ThoseOfAnotherTestKeepTheirNumbersAndAreNobodyElses) {
  CounterexampleFiles one = files("checkout"), other = files("search");
  EXPECT_EQ(one.write(example("checkout", 1))->number, 1u);
  EXPECT_EQ(other.write(example("search", 1))->number, 2u) << "the same faults in another test";
  EXPECT_TRUE(others(&other, key(1)).empty());
  CounterexampleFiles later = files("search");
  EXPECT_TRUE(others(&later, key(1)).empty());
  EXPECT_EQ(others(&later, ""), std::vector<uint32_t>{2});
}

TEST_F(CounterexampleFilesTest, WhatIsNoCounterexampleIsLeftAlone) {
  ASSERT_TRUE(make_private_folder(folder()).ok());
  for (const char* name : {"notes.txt", "7.json", "x9.json"})
    std::ofstream(folder() + "/" + name) << "mine";
  CounterexampleFiles mine = files("checkout");
  EXPECT_EQ(mine.write(example("checkout", 1))->number, 8u) << "behind every number";
  EXPECT_EQ(read_file(folder() + "/7.json").value(), "mine");
  EXPECT_TRUE(others(&mine, key(1)).empty());
}

TEST_F(CounterexampleFilesTest, ARemovedOneIsForgottenAndItsNumberIsFree) {
  CounterexampleFiles mine = files("checkout");
  const auto file = mine.write(example("checkout", 1));
  ASSERT_TRUE(file.ok());
  mine.remove(file.value());
  EXPECT_FALSE(std::filesystem::exists(file->path));
  EXPECT_TRUE(others(&mine, "").empty());
  EXPECT_EQ(mine.write(example("checkout", 2))->number, 1u);
}

TEST_F(CounterexampleFilesTest, WhereNothingCanBeWrittenThatIsSaid) {
  std::ofstream(folder()) << "a file in the place of the folder";
  CounterexampleFiles mine = files("checkout");
  const auto file = mine.write(example("checkout", 1));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find(folder()), std::string::npos) << file.error().message;
}

}  // namespace
}  // namespace filibuster
