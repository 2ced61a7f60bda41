#include "daemon/proxy/stack_texts.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/program/mapped_file.h"

namespace filibuster::proxy {
namespace {

TEST(StackTexts, OnlyExecutableMappingsAreRead) {
  const auto mappings = executable_mappings(
      "7f0000001000-7f0000002000 r-xp 00003000 fe:00 12   /usr/lib/my lib.so (deleted)\n"
      "555555554000-555555555000 r--p 00000000 fe:00 9    /srv/users\n"
      "555555555000-555555558000 r-xp 00001000 fe:00 9    /srv/users\n"
      "7f0000005000-7f0000006000 rwxp 00000000 00:00 0 \n"
      "garbage\n"
      "7f0000009000-7f0000008000 r-xp 00000000 00:00 0\n"
      "7ffff0000000-7ffff0002000 r-xp 00000000 00:00 0     [vdso]");
  ASSERT_EQ(mappings.size(), 4u);
  EXPECT_EQ(mappings[0].begin, 0x555555555000u);
  EXPECT_EQ(mappings[0].end, 0x555555558000u);
  EXPECT_EQ(mappings[0].offset, 0x1000u);
  EXPECT_EQ(mappings[0].path, "/srv/users");
  EXPECT_EQ(mappings[1].path, "/usr/lib/my lib.so (deleted)");
  EXPECT_EQ(mappings[2].path, "");
  EXPECT_EQ(mappings[3].path, "");
}

__attribute__((noinline)) uint64_t here() {
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

TEST(StackTexts, AnAddressIsTheBuildIdAndThePlaceInTheFile) {
  const MappedFile self("/proc/self/exe");
  const auto segments = read_elf_segments(self.bytes());
  ASSERT_TRUE(segments && !segments->build_id.empty());
  StackTexts texts;
  const std::array<uint64_t, 1> stack{here()};
  const auto pid = static_cast<uint32_t>(getpid());
  const uint32_t number = texts.number(pid, stack, false);
  const std::string_view text = texts.text(number);
  ASSERT_TRUE(text.starts_with("N " + segments->build_id + "+")) << text;
  EXPECT_TRUE(text.ends_with("/" + std::string(program_invocation_short_name) + "\n")) << text;
  // The next bytes of the file are those that are executed there.
  const uint64_t address = std::stoull(std::string(text.substr(text.find('+') + 1)), nullptr, 16);
  const auto load = std::find_if(
      segments->loads.begin(), segments->loads.end(),
      [&](const auto& l) { return address >= l.address && address - l.address < l.size; });
  ASSERT_NE(load, segments->loads.end());
  EXPECT_EQ(self.bytes().substr(load->offset + (address - load->address), 16),
            std::string_view(reinterpret_cast<const char*>(stack[0] - 1), 16));
}

TEST(StackTexts, TheSameStackHasTheSameNumber) {
  StackTexts texts;
  const auto pid = static_cast<uint32_t>(getpid());
  const std::array<uint64_t, 2> stack{here(), here()};
  const uint32_t number = texts.number(pid, stack, false);
  EXPECT_NE(number, 0u);
  EXPECT_EQ(texts.number(pid, stack, false), number);
  EXPECT_NE(texts.number(pid, stack, true), number);
  EXPECT_TRUE(texts.text(texts.number(pid, stack, true)).starts_with("E\nN "));
  EXPECT_EQ(texts.number(pid, {}, false), 0u);
  EXPECT_EQ(texts.text(0), "");
  texts.exited(pid);
  EXPECT_EQ(texts.number(pid, stack, false), number) << "the text is the same";
}

TEST(StackTexts, AddressesThatAreNowhereHaveNoName) {
  StackTexts texts;
  const std::array<uint64_t, 2> stack{0x10, ~uint64_t{0}};
  EXPECT_EQ(texts.text(texts.number(static_cast<uint32_t>(getpid()), stack, false)), "?\n?\n");
  EXPECT_EQ(texts.text(texts.number(0, stack, false)), "?\n?\n") << "there is no such process";
}

TEST(StackTexts, AGoProgramHasLines) {
  StackTexts texts([](const std::string&) -> GoLine {
    return [](uint64_t) { return "inner.go:1 main.inlined\nF main.go:2 main.main"; };
  });
  const std::array<uint64_t, 1> stack{here()};
  EXPECT_EQ(texts.text(texts.number(static_cast<uint32_t>(getpid()), stack, false)),
            "F inner.go:1 main.inlined\nF main.go:2 main.main\n");
}

}  // namespace
}  // namespace filibuster::proxy
