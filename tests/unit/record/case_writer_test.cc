// A recording on the disk: different cases once, partial ones apart, and what cannot be written ends it.
#include "daemon/record/case_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "daemon/cases/case_folder.h"
#include "tests/unit/cases/recipe.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster::record {
namespace {

namespace fs = std::filesystem;

cases::CaseSet set_of_orders() {
  cases::CaseSet out;
  out.service = "orders";
  out.match_headers = {"content-type"};
  return out;
}

class CaseWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<CaseWriter> make() {
    auto made = CaseWriter::make(folder_, set_of_orders());
    EXPECT_TRUE(made.ok());
    return made.ok() ? std::move(made).value() : nullptr;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& each : fs::recursive_directory_iterator(folder_)) {
      if (each.is_regular_file()) out.push_back(each.path().lexically_relative(folder_).string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  TemporaryFolder scratch_;
  const std::string folder_ = scratch_.path() + "/deep/cases";
};

TEST_F(CaseWriterTest, EqualCasesAreOneFileThatSaysHowOften) {
  auto writer = make();
  cases::Case one = cases::order_case();
  ASSERT_TRUE(writer->add(one).ok());
  one.base_us += 5'000'000;
  ASSERT_TRUE(writer->add(one).ok());
  ASSERT_TRUE(writer->add(one).ok());
  ASSERT_TRUE(writer->finish().ok());
  const auto all = files();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], "post-orders/" + fs::path(all[0]).filename().string());
  const cases::ReadCase read = cases::load_case(folder_ + "/" + all[0]);
  ASSERT_TRUE(read.errors.empty()) << read.errors[0].message;
  EXPECT_EQ(read.value.seen, 3u);
  EXPECT_EQ(read.value.base_us, cases::order_case().base_us) << "the first one's";
  EXPECT_EQ(writer->counts().equal, 2u);
  EXPECT_TRUE(cases::load_set(folder_ + "/set.json").errors.empty());
  EXPECT_TRUE(cases::load_process(folder_ + "/process.json").errors.empty());
}

TEST_F(CaseWriterTest, WithoutACaseTheFolderIsAsItWas) {
  for (const bool was_there : {false, true}) {
    if (was_there) fs::create_directories(folder_);
    ASSERT_TRUE(make()->finish().ok());
    EXPECT_EQ(fs::exists(folder_), was_there);
    EXPECT_TRUE(!was_there || fs::is_empty(folder_));
  }
}

TEST_F(CaseWriterTest, AnotherAnswerIsAnotherCase) {
  auto writer = make();
  cases::Case one = cases::order_case();
  ASSERT_TRUE(writer->add(one).ok());
  one.answer.status = 409;
  ASSERT_TRUE(writer->add(one).ok());
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(files().size(), 4u);
  EXPECT_EQ(writer->counts().by_route.at("POST /orders"), 2u);
}

TEST_F(CaseWriterTest, PartialCasesStandApartWithTheirReason) {
  auto writer = make();
  cases::Case one = cases::order_case();
  one.partial = "it is HTTP/2";
  ASSERT_TRUE(writer->add(one).ok());
  ASSERT_TRUE(writer->finish().ok());
  const auto all = files();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0].starts_with("partial/post-orders/"));
  EXPECT_EQ(cases::load_case(folder_ + "/" + all[0]).value.partial, "it is HTTP/2");
  EXPECT_EQ(writer->counts().by_reason.at("it is HTTP/2"), 1u);
  EXPECT_EQ(writer->counts().whole, 0u);
}

TEST_F(CaseWriterTest, CallsOfTheProcessThatRepeatAreKeptOnce) {
  auto writer = make();
  cases::Case one = cases::order_case();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(writer->add_process(one.calls[1]).ok());
  one.calls[1].answer.body = "other";
  ASSERT_TRUE(writer->add_process(one.calls[1]).ok());
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(writer->add_opening("cache", {{"SELECT", "3"}, {{"status", "OK"}}}).ok());
  ASSERT_TRUE(writer->write_set().ok());
  const cases::ReadProcess read = cases::load_process(folder_ + "/process.json");
  ASSERT_TRUE(read.errors.empty()) << read.errors[0].message;
  EXPECT_EQ(read.value.calls.size(), 2u);
  EXPECT_EQ(read.value.openings.at("cache").size(), 1u);
}

TEST_F(CaseWriterTest, AFolderWithARecordingIsLeftAlone) {
  make();
  EXPECT_NE(why_not_into(folder_), "");
  EXPECT_FALSE(CaseWriter::make(folder_, set_of_orders()).ok());
  EXPECT_EQ(why_not_into(scratch_.path() + "/new"), "");
}

TEST_F(CaseWriterTest, ACaseForWhichThereIsNoRoomIsLeftOutWhole) {
  auto made = CaseWriter::make(folder_, set_of_orders(), 4096);
  ASSERT_TRUE(made.ok());
  CaseWriter& writer = *made.value();
  cases::Case one = cases::order_case();
  ASSERT_TRUE(writer.add(one).ok());
  EXPECT_NE(writer.last_name(), "");
  cases::Case large = one;
  large.answer.body = std::string(20'000, '\xff');  // a file of its own
  ASSERT_TRUE(writer.add(large).ok());
  EXPECT_EQ(writer.last_name(), "");
  ASSERT_TRUE(writer.add(one).ok()) << "what is there already needs no room";
  ASSERT_TRUE(writer.finish().ok());
  EXPECT_EQ(files().size(), 3u);
  EXPECT_EQ(writer.counts().without_room, 1u);
  EXPECT_EQ(writer.counts().whole, 2u);
  EXPECT_EQ(writer.counts().by_route.at("POST /orders"), 1u);
}

TEST_F(CaseWriterTest, WithoutACaseNoFileIsLeft) {
  auto writer = make();
  ASSERT_TRUE(writer->add_process(cases::order_case().calls[1]).ok());
  ASSERT_TRUE(writer->write_set().ok());
  EXPECT_EQ(files().size(), 2u);
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(CaseWriterTest, WhatCannotBeWrittenIsAnError) {
  auto writer = make();
  std::ofstream(folder_ + "/post-orders") << "in the way";
  const auto added = writer->add(cases::order_case());
  ASSERT_FALSE(added.ok());
  EXPECT_NE(added.error().message.find("post-orders"), std::string::npos);
}

}  // namespace
}  // namespace filibuster::record
