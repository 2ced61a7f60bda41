#include "core/program/interpreter_line.h"

#include <gtest/gtest.h>

#include <string>

namespace filibuster {
namespace {

using Words = std::vector<std::string_view>;

TEST(InterpreterLine, IsTheFirstLineBehindItsMark) {
  EXPECT_EQ(interpreter_line("#!/bin/sh\nexit 1\n"), Words({"/bin/sh"}));
  EXPECT_EQ(interpreter_line("#! \t/usr/bin/env -S python3 -u\r\n"),
            Words({"/usr/bin/env", "-S", "python3", "-u"}));
  EXPECT_EQ(interpreter_line("#!/bin/sh"), Words({"/bin/sh"}));
  for (const char* bytes : {"", "#", "#!", "#!\n/bin/sh", "#! \n", " #!/bin/sh",
                            "\x7f"
                            "ELF"}) {
    EXPECT_EQ(interpreter_line(bytes), Words()) << bytes;
  }
}

TEST(InterpreterLine, EndsWhereTheKernelStopsReading) {
  const std::string longest = "#!/" + std::string(253, 'a');
  EXPECT_EQ(interpreter_line(longest + "bbb c\n"), Words({longest.substr(2)}));
}

TEST(InterpreterLine, EnvIsKnownByItsName) {
  EXPECT_TRUE(is_env("env"));
  EXPECT_TRUE(is_env("/usr/bin/env"));
  EXPECT_FALSE(is_env("/usr/bin/environment"));
  EXPECT_FALSE(is_env("/env/python3"));
  EXPECT_FALSE(is_env(""));
}

TEST(InterpreterLine, BehindEnvStandOptionsAndAssignmentsThenTheProgram) {
  EXPECT_EQ(after_env({"env", "python3", "x"}), "python3");
  EXPECT_EQ(after_env({"env", "-u", "HOME", "-C", "/", "-i", "A=1", "python3"}), "python3");
  EXPECT_EQ(after_env({"env", "a-b=c"}), "a-b=c");
  EXPECT_EQ(after_env({"env", "-u"}), "");
  EXPECT_EQ(after_env({"env"}), "");
  EXPECT_EQ(after_env({}), "");
}

TEST(InterpreterLine, AnAssignmentHasAName) {
  EXPECT_TRUE(is_assignment("_A1=x=y"));
  EXPECT_TRUE(is_assignment("A="));
  EXPECT_FALSE(is_assignment("=x"));
  EXPECT_FALSE(is_assignment("A"));
  EXPECT_FALSE(is_assignment("./a=b"));
}

}  // namespace
}  // namespace filibuster
