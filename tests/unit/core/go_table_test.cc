#include "core/program/go_table.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "core/program/go_program.h"
#include "core/program/mapped_file.h"
#include "tests/unit/core/go_recipe.h"

namespace filibuster {
namespace {

using go_recipe::kText;
using go_recipe::Layout;

std::string text_of(const GoFrame& frame) {
  return std::string(frame.function) + " " + std::string(frame.file) + ":" +
         std::to_string(frame.line);
}

class GoTableLayouts : public testing::TestWithParam<Layout> {
 protected:
  const std::string bytes_ = go_recipe::make_program(GetParam());
  const ElfMemory program_ = *ElfMemory::read(bytes_);
  const Result<GoTable> table_ = GoTable::read(program_);
};
INSTANTIATE_TEST_SUITE_P(All, GoTableLayouts,
                         testing::Values(Layout::k116, Layout::k118, Layout::k120));

TEST_P(GoTableLayouts, AFunctionIsFoundByItsNameAndByEachOfItsAddresses) {
  ASSERT_TRUE(table_.ok()) << table_.error().message;
  const auto work = table_->function_named("main.work");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->entry, kText + 0x40);
  EXPECT_EQ(work->end, kText + 0x80);
  EXPECT_EQ(table_->frames_at(kText + 0x3f).back().function, "main.main");
  EXPECT_EQ(table_->frames_at(kText + 0x40).back().function, "main.work");
  EXPECT_EQ(table_->frames_at(kText + 0x7f).back().function, "main.work");
  EXPECT_FALSE(table_->function_named("main.helper"));
}

TEST_P(GoTableLayouts, WhatIsOutsideOfAllFunctionsIsInNone) {
  ASSERT_TRUE(table_.ok());
  for (const uint64_t address : {uint64_t{0}, kText - 1, kText + 0x80, ~uint64_t{0}}) {
    EXPECT_TRUE(table_->frames_at(address).empty()) << address;
  }
}

TEST_P(GoTableLayouts, AnAddressHasAFileAndALine) {
  ASSERT_TRUE(table_.ok());
  const auto frames = table_->frames_at(kText + 0x65);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(text_of(frames[0]), "main.work /src/main.go:22");
}

TEST_P(GoTableLayouts, AnInlinedCallIsAFrameOfItsOwn) {
  ASSERT_TRUE(table_.ok());
  const auto frames = table_->frames_at(kText + 0x55);
  if (GetParam() == Layout::k116) {  // not told apart
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(text_of(frames[0]), "main.work /src/helper.go:5");
    return;
  }
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(text_of(frames[0]), "main.helper /src/helper.go:5");
  EXPECT_TRUE(frames[0].inlined);
  EXPECT_EQ(text_of(frames[1]), "main.work /src/main.go:20");
}

TEST_P(GoTableLayouts, ACutFileIsReadAsFarAsItGoesOrRefused) {
  for (size_t size = 0; size < bytes_.size(); ++size) {
    const std::string cut = bytes_.substr(0, size);
    const auto program = ElfMemory::read(cut);
    if (!program) continue;
    const auto table = GoTable::read(*program);
    if (table) table->frames_at(kText + 0x55);
  }
}

TEST(GoTable, AProgramWithoutATableIsRefusedWithTheReason) {
  std::string bytes = go_recipe::make_program(Layout::k118);
  bytes[128] = 0;  // the magic
  const auto table = GoTable::read(*ElfMemory::read(bytes));
  ASSERT_FALSE(table.ok());
  EXPECT_NE(table.error().message.find(".gopclntab"), std::string::npos);
}

TEST(GoProgram, TheGoroutinesNumberIsWhereItsVersionHasIt) {
  EXPECT_EQ(goid_offset("go1.19.8"), 152u);
  EXPECT_EQ(goid_offset("go1.22"), 152u);
  EXPECT_EQ(goid_offset("go1.23.4"), 160u);
  EXPECT_EQ(goid_offset("go1.24rc1"), 160u);
  EXPECT_EQ(goid_offset("devel go1.25-3c6dbcb Mon Mar 3"), 152u);
  EXPECT_EQ(goid_offset("go1.99"), 0u);  // of a later one nothing is known
  EXPECT_EQ(goid_offset(""), 0u);
  EXPECT_FALSE(go_passes_registers("go1.16.15"));
  EXPECT_TRUE(go_passes_registers("go1.17"));
}

// Programs that Debian's Go has built (tests/programs/go/table.go), which print what their own runtime says.
class GoPrograms : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    path_ = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "go" / GetParam();
    if (!std::filesystem::exists(path_)) {
      GTEST_SKIP() << path_ << " was not built: Go's tables were only read as made here. "
                   << "apt-get install golang-go, and make unit-tests";
    }
    file_.emplace(path_.string());
    FILE* output = popen(("'" + path_.string() + "'").c_str(), "r");
    ASSERT_NE(output, nullptr);
    char line[4096];
    while (std::fgets(line, sizeof line, output) != nullptr) {
      std::istringstream words(line);
      std::string kind, rest;
      words >> kind;
      std::getline(words >> std::ws, rest);
      if (kind == "version") version_ = rest;
      if (kind == "main") main_ = std::stoull(rest);
      if (kind == "pc") pcs_.push_back(std::stoull(rest));
      if (kind == "frame") frames_.push_back(rest);
    }
    ASSERT_EQ(pclose(output), 0);
    ASSERT_GE(frames_.size(), 6u);
  }
  std::filesystem::path path_;
  std::optional<MappedFile> file_;
  std::string version_;
  uint64_t main_ = 0;
  std::vector<uint64_t> pcs_;
  std::vector<std::string> frames_;
};
INSTANTIATE_TEST_SUITE_P(All, GoPrograms,
                         testing::Values("static", "stripped", "pie", "cgo", "cgo_pie",
                                         "no_sections"),
                         [](const auto& one) { return one.param; });

TEST_P(GoPrograms, FramesAreThoseThatTheRuntimeItselfPrints) {
  const auto program = ElfMemory::read(file_->bytes());
  ASSERT_TRUE(program);
  const auto table = GoTable::read(*program);
  ASSERT_TRUE(table.ok()) << table.error().message;
  const auto main = table->function_named("main.main");
  ASSERT_TRUE(main);
  const uint64_t bias = main_ - main->entry;
  EXPECT_EQ(bias % 4096, 0u);
  std::vector<std::string> read;
  bool inlined = false;
  for (const uint64_t pc : pcs_) {
    for (const GoFrame& frame : table->frames_at(pc - bias - 1)) {
      read.push_back(text_of(frame));
      inlined = inlined || frame.inlined;
    }
  }
  EXPECT_EQ(read, frames_);
  EXPECT_TRUE(inlined);
  EXPECT_TRUE(program->file_offset(main->entry));
}

TEST_P(GoPrograms, TheVersionIsTheOneThatBuiltThem) {
  const auto program = ElfMemory::read(file_->bytes());
  ASSERT_TRUE(program);
  const auto go = read_go_program(*program);
  ASSERT_TRUE(go);
  EXPECT_EQ(go->version, version_);
  EXPECT_NE(goid_offset(go->version), 0u);
  EXPECT_FALSE(go->build_id.empty());
}

}  // namespace
}  // namespace filibuster
