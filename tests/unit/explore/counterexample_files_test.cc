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

  static CounterexampleFiles::File write(CounterexampleFiles* files, const Counterexample& one) {
    CounterexampleFiles::File file;
    const auto written = files->write(one, &file);
    EXPECT_TRUE(written.ok()) << written.error().message;
    return file;
  }

  TemporaryFolder folder_;
  std::mutex numbers_;
};

TEST_F(CounterexampleFilesTest, AFailureKeepsItsNumberFromRunToRun) {
  {
    CounterexampleFiles first = files("checkout");
    EXPECT_EQ(write(&first, example("checkout", 1)).number, 1u);
    EXPECT_EQ(write(&first, example("checkout", 2)).number, 2u);
    EXPECT_EQ(write(&first, example("checkout", 1)).number, 1u) << "written again";
  }
  CounterexampleFiles second = files("checkout");
  const auto again = write(&second, example("checkout", 2));
  EXPECT_EQ(again.number, 2u);
  EXPECT_EQ(again.path, folder() + "/2.json");
  EXPECT_EQ(others(&second, key(2)), std::vector<uint32_t>{1});
}

TEST_F(CounterexampleFilesTest, ThoseOfAnotherTestKeepTheirNumbersAndAreNobodyElses) {
  CounterexampleFiles one = files("checkout"), other = files("search");
  EXPECT_EQ(write(&one, example("checkout", 1)).number, 1u);
  EXPECT_EQ(write(&other, example("search", 1)).number, 2u) << "the same faults in another test";
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
  EXPECT_EQ(write(&mine, example("checkout", 1)).number, 8u) << "behind every number";
  EXPECT_EQ(read_file(folder() + "/7.json").value(), "mine");
  EXPECT_TRUE(others(&mine, key(1)).empty());
}

TEST_F(CounterexampleFilesTest, ARemovedOneIsForgottenAndItsNumberIsFree) {
  CounterexampleFiles mine = files("checkout");
  const auto file = write(&mine, example("checkout", 1));
  mine.remove(file);
  EXPECT_FALSE(std::filesystem::exists(file.path));
  EXPECT_TRUE(others(&mine, "").empty());
  EXPECT_EQ(write(&mine, example("checkout", 2)).number, 1u);
}

TEST_F(CounterexampleFilesTest, WhereNothingCanBeWrittenThatIsSaidAndTheNumberIsKnown) {
  std::ofstream(folder()) << "a file in the place of the folder";
  CounterexampleFiles mine = files("checkout");
  CounterexampleFiles::File file;
  const auto written = mine.write(example("checkout", 1), &file);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message.find(folder()), std::string::npos) << written.error().message;
  EXPECT_EQ(file.number, 1u);
  EXPECT_EQ(file.path, "");
  EXPECT_FALSE(mine.write(example("checkout", 2), &file).ok());
  EXPECT_EQ(file.number, 2u) << "two that could not be written are two";
}

}  // namespace
}  // namespace filibuster
