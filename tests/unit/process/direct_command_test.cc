#include "daemon/process/direct_command.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "daemon/process/process.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

using Words = std::vector<std::string>;

TEST(WordsToExec, ArePlainOrQuoted) {
  EXPECT_EQ(words_to_exec("exec ./users"), Words{"./users"});
  EXPECT_EQ(words_to_exec("  exec\t./users  --port=12 a:b,c@d%e+f "),
            (Words{"./users", "--port=12", "a:b,c@d%e+f"}));
  EXPECT_EQ(words_to_exec("exec env A=1 'b c' \"d e\" '' x'y z'\"w\""),
            (Words{"env", "A=1", "b c", "d e", "", "xy zw"}));
  EXPECT_EQ(words_to_exec("exec '/a folder/users'"), Words{"/a folder/users"});
  EXPECT_EQ(words_to_exec("exec echo '$HOME `x` \\ \"' \"'#*?~;|&\""),
            (Words{"echo", "$HOME `x` \\ \"", "'#*?~;|&"}));
}

TEST(WordsToExec, WhatMayMeanMoreToAShellIsLeftToIt) {
  for (const char* const text : {"",
                                 " ",
                                 "exec",
                                 "exec ",
                                 "./users",
                                 "echo a",
                                 "cd x",
                                 "'exec' ./users",
                                 "exec -a b c",
                                 "exec -- c",
                                 "exec ''",
                                 "A=1 exec ./users",
                                 "exec ./users; true",
                                 "exec ./users &",
                                 "exec ./users | cat",
                                 "exec ./users && true",
                                 "exec ./users > log",
                                 "exec ./users < in",
                                 "exec ./users 2>&1",
                                 "exec ./users $PORT",
                                 "exec ./users \"$PORT\"",
                                 "exec ./users `date`",
                                 "exec ./users \"`date`\"",
                                 "exec ./users (a)",
                                 "exec ./users *.txt",
                                 "exec ./users a?",
                                 "exec ./users [ab]",
                                 "exec ~/users",
                                 "exec ./users ~",
                                 "exec ./users a\\ b",
                                 "exec ./users \"a\\\"b\"",
                                 "exec ./users # comment",
                                 "exec ./users 'open",
                                 "exec ./users \"open",
                                 "exec ./users\nexec ./others",
                                 "exec ./users {a,b}",
                                 "exec ./users !",
                                 "exec ./users caf\xc3\xa9"}) {
    EXPECT_EQ(words_to_exec(text), std::nullopt) << text;
  }
  EXPECT_EQ(words_to_exec(std::string_view("exec ./users 'a\0b'", 18)), std::nullopt);
}

class DirectCommandTest : public testing::Test {
 protected:
  struct Ran {
    std::string status, output;
    bool operator==(const Ran&) const = default;
  };
  void SetUp() override {
    for (const char* const folder : {"/first", "/second"})
      std::filesystem::create_directory(folder_.path() + folder);
    // Prints its words, variables and folder, each on a line, so that nothing is lost between two of them.
    write("second/show",
          "#!/bin/sh\nfor word in \"$0\" \"$@\"; do printf '<%s>\\n' \"$word\"; done\n"
          "/usr/bin/env | /usr/bin/sort\n/bin/pwd\n",
          0755);
  }
  void write(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }
  std::vector<std::string> environment() const {
    return {"PATH=" + folder_.path() + "/first:" + folder_.path() + "/second:/usr/bin:/bin",
            "COLOUR=blue", "EMPTY="};
  }
  // With a fourth word, which is the shell's name, the shell is always started.
  Ran run(const std::string& text, bool by_shell, const std::vector<std::string>& variables) {
    SpawnOptions options;
    options.argv = {"/bin/sh", "-c", text};
    if (by_shell) options.argv.emplace_back("/bin/sh");
    options.environment = variables;
    options.directory = folder_.path();
    options.log_path = folder_.path() + "/log";
    auto process = Process::spawn(options);
    if (!process) return {process.error().message, ""};
    const auto status = process->wait(std::chrono::seconds(20));
    std::ifstream log(options.log_path);
    std::ostringstream output;
    output << log.rdbuf();
    return {status ? to_text(*status) : "runs", output.str()};
  }
  std::optional<DirectCommand> direct(const std::string& text,
                                      const std::vector<std::string>& variables) {
    return direct_command({"/bin/sh", "-c", text}, variables, folder_.path());
  }
  void expect_the_same(const std::string& text, const std::vector<std::string>& variables) {
    const Ran one = run(text, false, variables), other = run(text, true, variables);
    EXPECT_EQ(one.status, other.status) << text;
    EXPECT_EQ(one.output, other.output) << text;
  }
  TemporaryFolder folder_;
};

TEST_F(DirectCommandTest, AProgramSeesWhatTheShellWouldHaveLeftIt) {
  auto variables = environment();
  variables.emplace_back("OLDPWD=/usr");
  variables.emplace_back("not.a.name=1");  // a shell drops it
  variables.emplace_back("2=3");
  const auto link = folder_.path() + "/link";
  std::filesystem::create_directory_symlink(folder_.path(), link);
  for (const std::string& working_directory :
       {std::string(), std::string("/nowhere"), std::string("/usr"), link,
        std::string("relative")}) {
    auto with = variables;
    if (!working_directory.empty()) with.push_back("PWD=" + working_directory);
    for (const char* const text : {"exec show", "exec show a 'b c' \"d\" ''",
                                   "exec ./second/show x=y", "exec second/show --port=1"}) {
      ASSERT_TRUE(direct(text, with).has_value()) << text;
      expect_the_same(text, with);
    }
  }
}

TEST_F(DirectCommandTest, TheFirstFileOfThePathThatMayBeExecutedIsTaken) {
  write("first/show", "not to be executed\n", 0644);
  const auto found = direct("exec show", environment());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->program, folder_.path() + "/second/show");
  EXPECT_EQ(found->argv, Words{"show"});
  expect_the_same("exec show", environment());
}

TEST_F(DirectCommandTest, WhereItCannotBeExecutedTheShellSaysWhy) {
  EXPECT_EQ(direct("exec not-there", environment()), std::nullopt);
  const Ran missing = run("exec not-there", false, environment());
  EXPECT_EQ(missing.status, "exit status 127");
  EXPECT_NE(missing.output.find("not-there"), std::string::npos);
  expect_the_same("exec not-there", environment());
  write("plain", "", 0644);
  for (const char* const text : {"exec ./plain", "exec ./second", "exec ./no/such/folder"})
    expect_the_same(text, environment());
  EXPECT_EQ(run("exec ./plain", false, environment()).status, "exit status 126");
}

TEST_F(DirectCommandTest, WhatTheKernelRefusesIsReadAsAScript) {
  write("script", "echo \"a script of $COLOUR\"\nexit 5\n", 0755);
  ASSERT_TRUE(direct("exec ./script", environment()).has_value());
  const Ran ran = run("exec ./script", false, environment());
  EXPECT_EQ(ran.status, "exit status 5");
  EXPECT_EQ(ran.output, "a script of blue\n");
  write("broken", "#!/no/such/interpreter\n", 0755);
  ASSERT_TRUE(direct("exec ./broken", environment()).has_value());
  expect_the_same("exec ./broken", environment());
}

TEST_F(DirectCommandTest, TheShellIsStartedWhereItsOwnRulesDecide) {
  EXPECT_EQ(direct("exec show", {"COLOUR=blue"}), std::nullopt);  // its own default path
  for (const char* const path :
       {"PATH=", "PATH=second", "PATH=/usr/bin:", "PATH=:/usr/bin", "PATH=/usr/bin::/bin"})
    EXPECT_EQ(direct("exec show", {path}), std::nullopt) << path;
  for (const char* const variable : {"IFS=x", "PPID=1", "OPTIND=2", "LINENO=3"}) {
    auto with = environment();
    with.emplace_back(variable);
    EXPECT_EQ(direct("exec show", with), std::nullopt) << variable;
  }
  for (const std::vector<std::string>& argv :
       {Words{"sh", "-c", "exec show"}, Words{"/bin/bash", "-c", "exec show"},
        Words{"/bin/sh", "-e", "exec show"}, Words{"/bin/sh", "-c", "exec show", "name"},
        Words{"/bin/sh", "-c"}, Words{}})
    EXPECT_EQ(direct_command(argv, environment(), folder_.path()), std::nullopt);
}

}  // namespace
}  // namespace filibuster
