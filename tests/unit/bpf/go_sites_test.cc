#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "bpf/loader/go/instructions.h"
#include "bpf/loader/go/sites.h"
#include "core/program/whole_file.h"
#include "tests/unit/core/go_recipe.h"

namespace filibuster::bpf {
namespace {

using namespace std::string_view_literals;

TEST(Instructions, EachReturnOfAFunctionIsFoundAndNoByteThatOnlyLooksLikeOne) {
  //                          nop    mov eax, 0xc3c3c3c3   ret     int3    ret 8
  constexpr auto kCode = "\x90\xb8\xc3\xc3\xc3\xc3\xc3\xcc\xc2\x08\x00"sv;
  const auto found = return_instructions(kCode, 0x1000);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found.value(), (std::vector<uint64_t>{0x1006, 0x1008}));
}

TEST(Instructions, OnlyCallsOfTheOneFunctionAreFound) {
  //                         call 0x1105          call 0x1205          call [rax]
  constexpr auto kCode = "\xe8\x00\x01\x00\x00\xe8\xfb\x01\x00\x00\xff\x10\xc3"sv;
  const auto found = calls_to(0x1105, kCode, 0x1000);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value(), (std::vector<uint64_t>{0x1000}));
}

TEST(Instructions, CodeThatCannotBeDecodedIsRefused) {
  EXPECT_FALSE(return_instructions("\xc3\x0f"sv, 0x1000).ok());  // cut
  EXPECT_FALSE(return_instructions("\x06\xc3"sv, 0x1000).ok());  // of no 64-bit machine
}

TEST(Instructions, TheThreadsSlotIsReadFromTheCode) {
  //             mov rcx, fs:[-8]
  EXPECT_EQ(thread_displacement("\x64\x48\x8b\x0c\x25\xf8\xff\xff\xff\xc3"sv, 0), -8);
  EXPECT_EQ(thread_displacement("\x48\x8b\x0c\x25\xf8\xff\xff\xff\xc3"sv, 0), std::nullopt);
}

TEST(GoSites, AProgramThatIsNotGosIsRefused) {
  const auto sites = find_go_sites(whole_file("/proc/self/exe"));
  ASSERT_FALSE(sites.ok());
  EXPECT_NE(sites.error().message.find("no Go program"), std::string::npos);
}

TEST(GoSites, AProgramThatSaysNoVersionIsRefusedWithTheReason) {
  const auto sites = find_go_sites(go_recipe::make_program(go_recipe::Layout::k118));
  ASSERT_FALSE(sites.ok());
}

// Programs of Debian's Go.
class GoSitesOfPrograms : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto build = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
    bytes_ = whole_file(build / GetParam());
    if (bytes_.empty())
      GTEST_SKIP() << GetParam()
                   << " was not built: apt-get install golang-go, then make unit-tests";
  }
  std::map<std::string_view, size_t> places(const GoSites& sites) {
    std::map<std::string_view, size_t> out;
    for (const GoSite& site : sites.sites) {
      EXPECT_LT(site.offset, bytes_.size());
      ++out[site.program];
    }
    return out;
  }
  std::string bytes_;
};
INSTANTIATE_TEST_SUITE_P(All, GoSitesOfPrograms,
                         testing::Values("tests/go/static", "tests/go/stripped", "tests/go/pie",
                                         "tests/go/cgo", "tests/go/cgo_pie", "tests/go/no_sections",
                                         "tests/go/secure", "corpus/grocery/shop",
                                         "corpus/grocery/stock"));

TEST_P(GoSitesOfPrograms, EveryGoroutinesStartIsSeen) {
  const auto sites = find_go_sites(bytes_);
  ASSERT_TRUE(sites.ok()) << sites.error().message;
  EXPECT_TRUE(sites->notes.empty()) << sites->notes[0];
  EXPECT_EQ(sites->g_from_fs, -8);
  auto found = places(sites.value());
  EXPECT_EQ(found["fb_go_start"], 1u);
  EXPECT_GE(found["fb_go_started"], 1u);
  const bool grocery = std::string_view(GetParam()).starts_with("corpus");
  const bool http = grocery || std::string_view(GetParam()).ends_with("secure");
  EXPECT_EQ(found["fb_go_round_trip"], http ? 1u : 0u);
  EXPECT_EQ(found["fb_go_write_loop"], http ? 1u : 0u);
  EXPECT_EQ(found["fb_go_read_loop"], http ? 1u : 0u);
  EXPECT_GE(found["fb_go_read"], http ? 1u : 0u);
  // What makes a connection of HTTP/2 of net/http, and what reads it; gRPC brings a package of its own, without clients.
  EXPECT_EQ(found["fb_go_http2_call"], http ? 1u : 0u);
  EXPECT_EQ(found["fb_go_http2_own"], http ? 2u : 0u);
  EXPECT_EQ(sites->tells_http1, http);
  EXPECT_EQ(sites->tells_http2, http);
  // Its package has both sides, and what is not called is not linked into a program.
  EXPECT_EQ(found["fb_go_grpc_call"], grocery ? 1u : 0u);
  EXPECT_EQ(found["fb_go_grpc_begin"], std::string_view(GetParam()).ends_with("stock") ? 1u : 0u);
  // Each return instruction of what is probed at its end.
  for (const GoSite& site : sites->sites) {
    if (site.program == "fb_go_started" || site.program == "fb_go_grpc_end" ||
        site.program == "fb_go_read" || site.program == "fb_go_http2_answered" ||
        site.program == "fb_go_http2_begun") {
      EXPECT_EQ(static_cast<uint8_t>(bytes_[site.offset]), 0xc3) << site.program;
    }
  }
}

}  // namespace
}  // namespace filibuster::bpf
