#include "cli/elf_image.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/configuration.h"
#include "cli/daemon_client.h"

namespace filibuster::cli {
namespace {

TEST(ElfImage, ReadsThisProgram) {
  const auto bytes = read_file("/proc/self/exe", 512u << 20);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const auto image = read_elf(bytes.value());
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->same_class);
  EXPECT_NE(image->interpreter.find("ld-linux"), std::string::npos);
  EXPECT_FALSE(image->go);
  EXPECT_NE(std::find(image->needed.begin(), image->needed.end(), "libc.so.6"),
            image->needed.end());
  EXPECT_TRUE(highest_glibc(image->versions).starts_with("2."));
}

TEST(ElfImage, SurvivesFilesThatAreCutAnywhere) {
  const auto bytes = read_file("/usr/bin/true");
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(read_elf(bytes.value()));
  for (size_t size = 0; size < bytes.value().size(); size += 61) {
    const auto image = read_elf(std::string_view(bytes.value()).substr(0, size));
    EXPECT_EQ(image.has_value(), size >= sizeof(Elf64_Ehdr));
  }
  EXPECT_FALSE(read_elf("#!/bin/sh\n"));
}

TEST(ElfImage, SurvivesTablesThatPointAnywhere) {
  const auto original = read_file("/usr/bin/true");
  ASSERT_TRUE(original.ok());
  // Every 16th byte of the headers, dynamic section and version needs set to 0xFF in turn.
  for (size_t at = sizeof(Elf64_Ehdr); at < original.value().size(); at += 16) {
    std::string bytes = original.value();
    bytes[at] = '\xFF';
    (void)read_elf(bytes);
  }
}

TEST(ElfImage, ComparesVersionsByNumber) {
  EXPECT_EQ(highest_glibc({"GLIBC_2.4", "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_PRIVATE", "GCC_7.0"}),
            "2.34");
  EXPECT_EQ(highest_glibc({"GLIBC_2.2", "GLIBC_2.2.5"}), "2.2.5");
  EXPECT_EQ(highest_glibc({}), "");
}

TEST(QueryArgument, EscapesWhatIsNotUnreserved) {
  EXPECT_EQ(query_argument("path", "/a b&c=ü~-_."), "&path=%2Fa%20b%26c%3D%C3%BC~-_.");
  EXPECT_EQ(query_argument("path", ""), "");
}

}  // namespace
}  // namespace filibuster::cli
