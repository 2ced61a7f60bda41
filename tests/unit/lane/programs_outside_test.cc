#include "daemon/lane/programs_outside.h"

#include <gtest/gtest.h>

#include "tests/unit/attach/fake_proc.h"
#include "tests/unit/core/elf_recipe.h"

namespace filibuster {
namespace {

class ProgramsOutside : public testing::Test {
 protected:
  std::string why(const std::string& loader, const std::string& maps) {
    ElfRecipe recipe;
    recipe.machine = kNativeMachine;
    recipe.interpreter = loader;
    const std::string executable = folder_.write("users", make_elf(recipe));
    proc_.add({.pid = ++pid_, .executable = executable, .maps = maps});
    return why_outside(proc_.proc(), pid_);
  }
  attach::FakeProc proc_;
  TemporaryFolder folder_;
  pid_t pid_ = 6;
};

TEST_F(ProgramsOutside, TheirFilesSayWhy) {
  const std::string musl = why("/lib/ld-musl-x86_64.so.1", "");
  EXPECT_TRUE(musl.starts_with("pid 7 (" + folder_.path() + "/users), which is linked with musl"))
      << musl;
  EXPECT_NE(why("", "").find("which is statically linked"), std::string::npos);
}

TEST_F(ProgramsOutside, OrTheirMemory) {
  const char kGlibc[] = "/lib64/ld-linux-x86-64.so.2";
  EXPECT_NE(why(kGlibc, "7f00-7f01 r-xp 00000000 00:01 7 /lib/libc.so.6\n").find("LD_PRELOAD"),
            std::string::npos);
  EXPECT_EQ(why(kGlibc, "7f00-7f01 r-xp 00000000 00:01 7 /opt/libfilibuster.so\n"), "");
  EXPECT_EQ(why_outside(proc_.proc(), 99), "");
}

}  // namespace
}  // namespace filibuster
