#include "daemon/process/preflight.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/core/elf_recipe.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

constexpr char kPath[] = "/usr/bin:/bin";

class Preflight : public testing::Test {
 protected:
  std::string obstacle(const ElfRecipe& recipe) {
    const ProgramCheck check = check_elf(folder_.write("program", make_elf(recipe)));
    std::string out;
    for (const std::string& text : check.obstacles) out += text + "\n";
    return out;
  }
  std::string only_program(const std::vector<std::string>& argv) {
    const auto checks = check_command(argv, folder_.path(), kPath);
    return checks.size() == 1 ? checks[0].program : std::to_string(checks.size()) + " programs";
  }
  TemporaryFolder folder_;
};

#if defined(__x86_64__)
TEST_F(Preflight, AnOrdinaryProgramHasNoObstacle) {
  EXPECT_EQ(obstacle({}), "");
}

TEST_F(Preflight, AStaticProgramIsNamed) {
  ElfRecipe recipe;
  recipe.interpreter = "";
  EXPECT_NE(obstacle(recipe).find("statically linked"), std::string::npos);
}

TEST_F(Preflight, AnotherArchitectureIsNamed) {
  ElfRecipe arm;
  arm.machine = EM_AARCH64;
  EXPECT_NE(obstacle(arm).find("built for arm64"), std::string::npos);
}

TEST_F(Preflight, AnotherLoaderIsNamed) {
  ElfRecipe musl;
  musl.interpreter = "/lib/ld-musl-x86_64.so.1";
  EXPECT_NE(obstacle(musl).find("linked with musl"), std::string::npos);
  ElfRecipe other;
  other.interpreter = "/system/bin/linker64";
  EXPECT_NE(obstacle(other).find("loaded by /system/bin/linker64"), std::string::npos);
}

// What one of them starts is executed without a hook of ours, so what LD_PRELOAD has must suit any program.
TEST_F(Preflight, LdPreloadIsOnlyForGlibcWhereOneProgramOfTheCommandDoesNotLoadTheLibrary) {
  const auto needs = [&](const std::string& text) {
    return preload_needs(check_command({"/bin/sh", "-c", text}, folder_.path(), kPath));
  };
  ElfRecipe recipe;
  recipe.needed = {"libasan.so.8"};
  folder_.write("glibc", make_elf(recipe));
  recipe.interpreter = "/lib/ld-musl-x86_64.so.1";
  folder_.write("musl", make_elf(recipe));
  recipe.interpreter = "";
  recipe.needed = {};
  folder_.write("static", make_elf(recipe));
  EXPECT_FALSE(needs("./glibc").only_for_glibc);
  EXPECT_EQ(needs("./glibc").asan_runtime, "libasan.so.8");
  EXPECT_TRUE(needs("./musl").only_for_glibc);
  EXPECT_TRUE(needs("./static").only_for_glibc);
}

TEST_F(Preflight, AGoProgramIsNamedStaticOrNot) {
  ElfRecipe go;
  go.section = ".go.buildinfo";
  EXPECT_NE(obstacle(go).find("Go program"), std::string::npos);
  go.interpreter = "";
  EXPECT_NE(obstacle(go).find("Go program"), std::string::npos);
}
#endif

TEST_F(Preflight, DamagedFilesAreReadWithoutHarm) {
  const std::string whole = make_elf({});
  for (size_t size = 0; size < whole.size(); size += 9) {
    check_elf(folder_.write("program", whole.substr(0, size)));
  }
  EXPECT_TRUE(check_elf(folder_.write("text", "hello")).obstacles.empty());
  EXPECT_TRUE(check_elf("/no/such/file").obstacles.empty());
}

TEST_F(Preflight, SetuidOfAnotherUserIsNamed) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string file = folder_.write("program", make_elf({}));
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(file.c_str(), 04755), 0);
  EXPECT_NE(check_elf(file).obstacles.at(0).find("setuid"), std::string::npos);
  ASSERT_EQ(chmod(file.c_str(), 02755), 0);
  EXPECT_NE(check_elf(file).obstacles.at(0).find("setgid"), std::string::npos);
}

TEST_F(Preflight, ScriptsAreFollowedToTheirInterpreter) {
  const std::string script = folder_.write("users.py", "#!/usr/bin/python3 -u\nprint()\n");
  const auto checks = check_command({script}, "", kPath);
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].program, "/usr/bin/python3");
  EXPECT_EQ(checks[0].reached, script + " -> /usr/bin/python3");
}

TEST_F(Preflight, EnvIsFollowedToItsProgram) {
  folder_.write("a", "#!/usr/bin/env python3\n");
  folder_.write("b", "#!/usr/bin/env -S LANG=C python3 -u\n");
  EXPECT_EQ(only_program({"./a"}), "/usr/bin/python3");
  EXPECT_EQ(only_program({"./b"}), "/usr/bin/python3");
  const auto checks = check_command({"env", "-u", "HOME", "A=1", "python3"}, "", kPath);
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[1].program, "/usr/bin/python3");
}

TEST_F(Preflight, AScriptThatNamesItselfEnds) {
  folder_.write("circle", "#!" + folder_.path() + "/circle\n");
  EXPECT_EQ(only_program({"./circle"}), "0 programs");
}

TEST_F(Preflight, TheProgramOfAShellCommandIsLookedAt) {
  folder_.write("server", make_elf({}));
  const auto checks =
      check_command({"/bin/sh", "-c", "PORT=1 exec ./server --port 1"}, folder_.path(), kPath);
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[1].program, folder_.path() + "/server");
}

TEST_F(Preflight, TheFirstProgramOfAShellText) {
  EXPECT_EQ(first_program_of("./users --port 1"), "./users");
  EXPECT_EQ(first_program_of("A=1 B=2 exec env C=3 python3 x.py"), "python3");
  EXPECT_EQ(first_program_of("cd x && ./users"), "");
  EXPECT_EQ(first_program_of("$HOME/users"), "");
  EXPECT_EQ(first_program_of(""), "");
}

TEST_F(Preflight, AMissingProgramHasNoChecks) {
  EXPECT_TRUE(check_command({"no-such-program"}, "", kPath).empty());
  EXPECT_TRUE(check_command({}, "", kPath).empty());
}

}  // namespace
}  // namespace filibuster
