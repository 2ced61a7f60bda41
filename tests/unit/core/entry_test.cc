#include "core/program/entry.h"

#include <gtest/gtest.h>

#include "core/program/elf_image.h"
#include "core/program/entry_text.h"
#include "tests/unit/core/elf_recipe.h"

namespace filibuster {
namespace {

bool read_head(std::string_view bytes, ProgramHead* head) {
  return read_program_head(
      [bytes](uint64_t offset, void* out, size_t size) {
        if (offset > bytes.size() || bytes.size() - offset < size) return false;
        bytes.copy(static_cast<char*>(out), size, offset);
        return true;
      },
      head);
}

Entry entry_of_bytes(std::string_view bytes, std::string_view path = "/opt/users") {
  ProgramHead head;
  EXPECT_TRUE(read_head(bytes, &head));
  return entry_of(head.machine, head.same_layout, head.loader, path);
}

ElfRecipe loaded_by(const std::string& loader) {
  ElfRecipe recipe;
  recipe.machine = kNativeMachine;
  recipe.interpreter = loader;
  return recipe;
}

TEST(ProgramEntry, TheLoaderDecides) {
  const struct {
    const char* loader;
    Entry entry;
  } rows[] = {
      {"/lib64/ld-linux-x86-64.so.2", Entry::kByGlibc},
      {"/nix/store/q0q0q0q0q0q0q0q0q0q0q0q0q0q0q0q0-glibc-2.38-44/lib/ld-linux-aarch64.so.1",
       Entry::kByGlibc},
      {"/lib/ld-musl-x86_64.so.1", Entry::kMusl},
      {"/opt/ld-linux/lib/ld-musl-aarch64.so.1", Entry::kMusl},
      {"/system/bin/linker64", Entry::kOtherLoader},
      {"/lib/ld64-uClibc.so.1", Entry::kOtherLoader},
      {"", Entry::kStatic},
  };
  for (const auto& row : rows) {
    const std::string bytes = make_elf(loaded_by(row.loader));
    EXPECT_EQ(entry_of_bytes(bytes), row.entry) << row.loader;
    // Whoever has the whole file concludes the same.
    EXPECT_EQ(read_elf(bytes)->entry("/opt/users"), row.entry) << row.loader;
  }
}

TEST(ProgramEntry, ALoaderThatIsGivenAProgramIsNoStaticOne) {
  const std::string bytes = make_elf(loaded_by(""));
  EXPECT_EQ(entry_of_bytes(bytes, "/lib64/ld-linux-x86-64.so.2"), Entry::kByGlibc);
  EXPECT_EQ(entry_of_bytes(bytes, "/usr/bin/ld.so"), Entry::kByGlibc);
  EXPECT_EQ(entry_of_bytes(bytes, "/lib/ld-musl-x86_64.so.1"), Entry::kMusl);
  EXPECT_EQ(entry_of_bytes(bytes, "/usr/bin/ld"), Entry::kStatic);
}

TEST(ProgramEntry, OtherMachinesAreKnownBeforeAnythingElse) {
  ElfRecipe other = loaded_by("/lib/ld-linux.so.2");
  other.machine = EM_386;
  other.bits = ELFCLASS32;
  EXPECT_EQ(entry_of_bytes(make_elf(other)), Entry::kOtherMachine);
  other.bits = ELFCLASS64;
  other.machine = kNativeMachine == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
  EXPECT_EQ(entry_of_bytes(make_elf(other)), Entry::kOtherMachine);
}

TEST(ProgramEntry, OfALongPathTheEndIsKept) {
  const std::string loader = "/" + std::string(900, 'x') + "/ld-musl-x86_64.so.1";
  ProgramHead head;
  ASSERT_TRUE(read_head(make_elf(loaded_by(loader)), &head));
  EXPECT_TRUE(std::string_view(head.loader).ends_with("/ld-musl-x86_64.so.1"));
  EXPECT_EQ(entry_of_bytes(make_elf(loaded_by(loader))), Entry::kMusl);
}

TEST(ProgramEntry, DamagedFilesAreReadWithoutHarm) {
  const std::string whole = make_elf(loaded_by("/lib/ld-musl-x86_64.so.1"));
  for (size_t size = 0; size < whole.size(); ++size) {
    ProgramHead head;
    const bool is_elf = read_head(std::string_view(whole).substr(0, size), &head);
    EXPECT_EQ(is_elf, size >= sizeof(Elf64_Ehdr)) << size;
  }
  ProgramHead head;
  EXPECT_FALSE(read_head("#!/bin/sh\n" + std::string(100, ' '), &head));
}

TEST(ProgramEntry, WhoGainsRights) {
  EXPECT_EQ(gain_of({0755, 0, 0}, 1000, 1000), Gain::kNone);
  EXPECT_EQ(gain_of({04755, 0, 0}, 1000, 1000), Gain::kUser);
  EXPECT_EQ(gain_of({04755, 1000, 0}, 1000, 1000), Gain::kNone);
  EXPECT_EQ(gain_of({02755, 0, 0}, 1000, 1000), Gain::kGroup);
  EXPECT_EQ(gain_of({02745, 0, 0}, 1000, 1000), Gain::kNone);  // it does not set the group
  EXPECT_EQ(gain_of({0755, 0, 0, true}, 1000, 1000), Gain::kCapabilities);
  EXPECT_EQ(gain_of({0755, 0, 0, true}, 0, 0), Gain::kNone);  // root has them
}

TEST(ProgramEntry, EachObstacleHasASentence) {
  EXPECT_EQ(obstacle_text(Entry::kByGlibc, EM_X86_64, "/lib64/ld-linux-x86-64.so.2"), "");
  EXPECT_EQ(obstacle_text(Gain::kNone), "");
  for (const Entry entry :
       {Entry::kStatic, Entry::kMusl, Entry::kOtherLoader, Entry::kOtherMachine})
    EXPECT_TRUE(obstacle_text(entry, EM_ARM, "/lib/ld.1").starts_with("is ")) << int(entry);
  EXPECT_NE(obstacle_text(Entry::kMusl, EM_X86_64, "").find("musl"), std::string::npos);
  EXPECT_NE(obstacle_text(Entry::kOtherMachine, EM_ARM, "").find("32-bit arm"), std::string::npos);
}

}  // namespace
}  // namespace filibuster
