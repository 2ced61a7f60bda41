#include "core/program/elf_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "core/program/mapped_file.h"
#include "tests/unit/core/elf_recipe.h"

namespace filibuster {
namespace {

using Texts = std::vector<std::string_view>;

TEST(ElfImage, ReadsThisProgram) {
  const MappedFile file("/proc/self/exe");
  const auto image = read_elf(file.bytes());
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->same_layout);
  EXPECT_EQ(image->machine, kNativeMachine);
  EXPECT_TRUE(is_loader_of_glibc(image->interpreter));
  EXPECT_FALSE(image->go);
  EXPECT_NE(std::find(image->needed.begin(), image->needed.end(), "libc.so.6"),
            image->needed.end());
  EXPECT_TRUE(highest_glibc(image->versions).starts_with("2."));
}

TEST(ElfImage, TellsWhatTheFileSays) {
  for (const bool in_first_section : {false, true}) {
    const std::string bytes = make_elf({.machine = EM_AARCH64,
                                        .interpreter = "/lib/ld-musl-aarch64.so.1",
                                        .section = ".note.go.buildid",
                                        .needed = {"libc.so", "libasan.so.8", "libasan.so.6"},
                                        .versions = {"GLIBC_2.34", "GLIBC_2.4"},
                                        .numbers_in_first_section = in_first_section});
    const auto image = read_elf(bytes);
    ASSERT_TRUE(image);
    EXPECT_EQ(image->machine, EM_AARCH64);
    EXPECT_TRUE(image->same_layout);
    EXPECT_EQ(image->interpreter, "/lib/ld-musl-aarch64.so.1");
    EXPECT_TRUE(image->go);
    EXPECT_EQ(image->needed, Texts({"libc.so", "libasan.so.8", "libasan.so.6"}));
    EXPECT_EQ(image->asan_runtime(), "libasan.so.8");
    EXPECT_EQ(image->versions, Texts({"GLIBC_2.34", "GLIBC_2.4"}));
  }
}

TEST(ElfImage, OfAnotherLayoutOnlyTheMachineIsRead) {
  std::string bytes = make_elf({.machine = EM_S390});
  std::swap(bytes[offsetof(Elf64_Ehdr, e_machine)], bytes[offsetof(Elf64_Ehdr, e_machine) + 1]);
  bytes[EI_DATA] = ELFDATA2MSB;
  const auto other_order = read_elf(bytes);
  ASSERT_TRUE(other_order);
  EXPECT_EQ(other_order->machine, EM_S390);
  EXPECT_FALSE(other_order->same_layout);
  EXPECT_EQ(other_order->interpreter, "");

  const std::string small = make_elf({.machine = kNativeMachine, .bits = ELFCLASS32});
  const auto other_size = read_elf(small);
  ASSERT_TRUE(other_size);
  EXPECT_EQ(other_size->machine, kNativeMachine);
  EXPECT_FALSE(other_size->same_layout);
}

TEST(ElfImage, IsNothingElse) {
  EXPECT_FALSE(read_elf(""));
  EXPECT_FALSE(read_elf("#!/bin/sh\n"));
  EXPECT_FALSE(
      read_elf("\x7f"
               "ELF"));
  std::string bytes = make_elf({});
  bytes[EI_CLASS] = 7;
  EXPECT_FALSE(read_elf(bytes));
}

TEST(ElfImage, SurvivesFilesThatAreCutAnywhere) {
  const MappedFile file("/usr/bin/true");
  EXPECT_TRUE(read_elf(file.bytes()));
  for (size_t size = 0; size < file.bytes().size(); size += 61) {
    const std::string cut(file.bytes().substr(0, size));
    EXPECT_EQ(read_elf(cut).has_value(), size >= sizeof(Elf64_Ehdr));
  }
}

TEST(ElfImage, SurvivesTablesThatPointAnywhere) {
  const MappedFile file("/usr/bin/true");
  // Every 16th byte of the headers, dynamic section and version needs set to 0xFF in turn.
  std::string bytes(file.bytes());
  for (size_t at = sizeof(Elf64_Ehdr); at < bytes.size(); at += 16) {
    const char before = bytes[at];
    bytes[at] = '\xFF';
    (void)read_elf(bytes);
    bytes[at] = before;
  }
}

TEST(ElfImage, ListsThatLeadInCirclesEnd) {
  std::string bytes = make_elf({.versions = {"A", "B"}});
  // 0xFFFFFFF0 added to an offset of 64 bits leaves the file; a link of 1 creeps through it.
  const size_t at = bytes.find(std::string("\x10\0\0\0\0\0\0\0", 8)) + 8;
  for (const char link : {'\x01', '\xF0'}) {
    std::string changed = bytes;
    changed[at] = link;
    const auto image = read_elf(changed);
    ASSERT_TRUE(image);
    EXPECT_LE(image->versions.size(), 10'000u);
  }
}

TEST(ElfImage, ComparesVersionsByNumber) {
  EXPECT_EQ(highest_glibc({"GLIBC_2.4", "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_PRIVATE", "GCC_7.0"}),
            "2.34");
  EXPECT_EQ(highest_glibc({"GLIBC_2.2", "GLIBC_2.2.5"}), "2.2.5");
  EXPECT_EQ(highest_glibc({"GLIBC_99999999999", "GLIBC_1.2.3.4.5.6"}), "1.2.3.4.5.6");
  EXPECT_EQ(highest_glibc({}), "");
}

}  // namespace
}  // namespace filibuster
