#include "bpf/loader/go_tasks.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace filibuster::bpf {
namespace {

// Build information as Go 1.18 and later write it: a header of 32 bytes, then the version with its length.
std::string build_information(const std::string& version, uint8_t flags = 2) {
  std::string bytes("\xff Go buildinf:", 14);
  bytes += '\x08';
  bytes += static_cast<char>(flags);
  bytes.resize(32, '\0');
  bytes += static_cast<char>(version.size());
  return bytes + version;
}

// A program whose only segment is that of thread-local storage.
std::string program_with_tls(uint64_t size, uint64_t alignment) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_TLS;
  segment.p_memsz = size;
  segment.p_align = alignment;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) +
         std::string(reinterpret_cast<const char*>(&segment), sizeof(segment));
}

TEST(GoVersion, StandsInTheBuildInformation) {
  EXPECT_EQ(go_version_in("code" + build_information("go1.19.8") + "data"), "go1.19.8");
}

TEST(GoVersion, IsNotTakenFromOtherBytes) {
  EXPECT_EQ(go_version_in(""), "");
  EXPECT_EQ(go_version_in("go1.19.8"), "");
  EXPECT_EQ(go_version_in(build_information("go1.17", 0)), "") << "a pointer, not a text";
  EXPECT_EQ(go_version_in(build_information("devel")), "");
  std::string cut = build_information("go1.19.8");
  cut.resize(cut.size() - 1);
  EXPECT_EQ(go_version_in(cut), "");
}

TEST(GoVersion, IsFoundBehindTheMagicInTheCodeThatLooksForIt) {
  EXPECT_EQ(go_version_in(std::string("\xff Go buildinf:", 14) + std::string(40, 'x') +
                          build_information("go1.22.0")),
            "go1.22.0");
}

TEST(Goid, HasAnOffsetThatDependsOnTheVersion) {
  EXPECT_EQ(goid_offset("go1.19.8"), 152u);
  EXPECT_EQ(goid_offset("go1.22.12"), 152u);
  EXPECT_EQ(goid_offset("go1.23rc1"), 160u);
  EXPECT_EQ(goid_offset("go1.24.1"), 160u);
  EXPECT_EQ(goid_offset("go1.25.0"), 152u);
}

TEST(Goid, IsNotKnownOfAVersionThatNobodyLookedAt) {
  EXPECT_EQ(goid_offset("go1.99"), std::nullopt);
  EXPECT_EQ(goid_offset("go2.1"), std::nullopt);
  EXPECT_EQ(goid_offset("go1."), std::nullopt);
  EXPECT_EQ(goid_offset(""), std::nullopt);
}

TEST(G, StandsBelowTheFsBaseWhereNothingElseIsThreadLocal) {
  EXPECT_EQ(g_offset_in(program_with_tls(8, 8)), -8);
  EXPECT_EQ(g_offset_in(program_with_tls(8, 0)), -8);
}

TEST(G, IsNotKnownWhereOtherThingsAreThreadLocal) {
  EXPECT_EQ(g_offset_in(program_with_tls(8, 64)), std::nullopt);
  EXPECT_EQ(g_offset_in(program_with_tls(4096, 8)), std::nullopt);
  EXPECT_EQ(g_offset_in(program_with_tls(8, 8).substr(0, 100)), std::nullopt);
  EXPECT_EQ(g_offset_in("no program"), std::nullopt);
}

TEST(GoTasks, OfAProcessThatIsNoGoProgramCannotBeFound) {
  EXPECT_EQ(go_tasks(getpid()).goid, 0u);
}

}  // namespace
}  // namespace filibuster::bpf
