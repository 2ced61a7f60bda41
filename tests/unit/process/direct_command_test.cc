#include "daemon/process/direct_command.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "daemon/process/process.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

using Words = std::vector<std::string>;

using Variables = std::vector<std::pair<std::string, std::string>>;

std::optional<Words> words_of(std::string_view text) {
  const auto command = plain_command(text);
  return command && command->variables.empty() ? std::optional(command->words) : std::nullopt;
}

TEST(PlainCommand, IsOneProgramWithPlainOrQuotedWords) {
  EXPECT_EQ(words_of("pytest"), Words{"pytest"});
  EXPECT_EQ(words_of("\tpytest -q 'a b' "), (Words{"pytest", "-q", "a b"}));
  EXPECT_EQ(words_of("'./a program' x"), (Words{"./a program", "x"}));
  EXPECT_EQ(words_of("py'te's\"t\" A=1"), (Words{"pytest", "A=1"}));
  EXPECT_EQ(words_of("exec ./users"), Words{"./users"});
  EXPECT_EQ(words_of("  exec\t./users  --port=12 a:b,c@d%e+f "),
            (Words{"./users", "--port=12", "a:b,c@d%e+f"}));
  EXPECT_EQ(words_of("exec env A=1 'b c' \"d e\" '' x'y z'\"w\""),
            (Words{"env", "A=1", "b c", "d e", "", "xy zw"}));
  EXPECT_EQ(words_of("exec '/a folder/users'"), Words{"/a folder/users"});
  EXPECT_EQ(words_of("exec echo '$HOME `x` \\ \"' \"'#*?~;|&\""),
            (Words{"echo", "$HOME `x` \\ \"", "'#*?~;|&"}));
}

TEST(PlainCommand, MayHaveAssignmentsBeforeTheProgram) {
  const auto command = plain_command("A=1 _b2= C='x y'z\"$\" ./users D=4");
  EXPECT_EQ(command, std::nullopt) << "a dollar between double quotes";
  EXPECT_EQ(
      plain_command("A=1 _b2= C='x $y'z\"w\"=v A=2 ./users D=4"),
      (PlainCommand{{{"A", "1"}, {"_b2", ""}, {"C", "x $yzw=v"}, {"A", "2"}}, {"./users", "D=4"}}));
}

TEST(PlainCommand, WhatMayMeanMoreToAShellIsLeftToIt) {
  for (const char* const text : {"",
                                 " ",
                                 "''",
                                 "-x",
                                 "A=1",
                                 "A=1 B=2",
                                 "exec",
                                 "exec ",
                                 "'exec' ./users",
                                 "exec -a b c",
                                 "exec -- c",
                                 "exec ''",
                                 "A=1 exec ./users",
                                 "PATH=/bin users",
                                 "PWD=/ ./users",
                                 "IFS=x ./users",
                                 "A+=1 ./users",
                                 "1A=1 ./users",
                                 "'A=1' ./users",
                                 "A'='1 ./users",
                                 "\"A\"=1 ./users",
                                 "A[0]=1 ./users",
                                 "A=$B ./users",
                                 "A=~ ./users",
                                 "A=\"$B\" ./users",
                                 "./users; true",
                                 "./users &",
                                 "./users | cat",
                                 "! ./users",
                                 "(./users)",
                                 "exec ./users && true",
                                 "exec ./users > log",
                                 "./users < in",
                                 "exec ./users 2>&1",
                                 "./users $PORT",
                                 "exec ./users \"$PORT\"",
                                 "exec ./users `date`",
                                 "exec ./users \"`date`\"",
                                 "exec ./users (a)",
                                 "./users *.txt",
                                 "exec ./users a?",
                                 "exec ./users [ab]",
                                 "~/users",
                                 "exec ./users ~",
                                 "exec ./users a\\ b",
                                 "exec ./users \"a\\\"b\"",
                                 "./users # comment",
                                 "exec ./users 'open",
                                 "exec ./users \"open",
                                 "./users\n./others",
                                 "./users\n",
                                 "exec ./users {a,b}",
                                 "exec ./users !",
                                 "exec ./users caf\xc3\xa9"}) {
    EXPECT_EQ(plain_command(text), std::nullopt) << text;
  }
  EXPECT_EQ(plain_command(std::string_view("exec ./users 'a\0b'", 18)), std::nullopt);
}

// Asks the shells of this machine what they do by themselves: of such words none is taken for a program.
TEST(PlainCommand, BuiltinsAndKeywordsAreTheShells) {
  for (const char* const shell : {"dash", "bash --posix"}) {
    FILE* const asked = popen(
        (std::string(shell) + " -c 'for word in $(bash -c \"compgen -b; compgen -k\") chdir; do "
                              "case $(LC_ALL=C type \"$word\" 2>&1) in *builtin|*keyword) "
                              "echo \"$word\";; esac; done' 2>/dev/null")
            .c_str(),
        "r");
    ASSERT_NE(asked, nullptr);
    char line[256];
    int count = 0;
    while (fgets(line, sizeof line, asked) != nullptr) {
      const std::string word(line, std::string_view(line).find('\n'));
      ++count;
      if (word == "exec") continue;
      EXPECT_EQ(plain_command(word + " a"), std::nullopt) << word;
      EXPECT_EQ(plain_command("A=1 '" + word + "' a"), std::nullopt) << word;
    }
    pclose(asked);
    EXPECT_GT(count, 30) << shell;
  }
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
  expect_the_same("./script", environment());
  expect_the_same("./broken", environment());
}

TEST_F(DirectCommandTest, WithoutExecTheSame) {
  auto variables = environment();
  variables.emplace_back("OLDPWD=/usr");
  for (const char* const text :
       {"show", "show a 'b c' \"d\" ''", "./second/show x=y", "second/show --port=1",
        "COLOUR=red show", "NEW='a  b' EMPTY=1 NEW=c show", "A=1 B=2 A=3 COLOUR= ./second/show A=4",
        "A=b:c,d=e show", "'show' \"x\"", "s'ho'w", "cat not-there", "sort -q --no-such",
        "not-there", "./not-there", "./second", "not-there/show", "A=1 not-there"}) {
    expect_the_same(text, variables);
  }
  for (const char* const text : {"show", "COLOUR=red A='b c' show", "./second/show x=y", "cat x"})
    EXPECT_TRUE(direct(text, variables).has_value()) << text;
  EXPECT_EQ(run("not-there", false, variables).status, "exit status 127");
}

TEST_F(DirectCommandTest, WhatIsNoProgramIsTheShells) {
  write("plain", "", 0644);
  for (const char* const text : {"./plain", "./second", "not-there", "first/none", "second"}) {
    EXPECT_EQ(direct(text, environment()), std::nullopt) << text;
    expect_the_same(text, environment());
  }
  EXPECT_EQ(run("./plain", false, environment()).status, "exit status 126");
  // In bash, which some systems have for /bin/sh, a function that was exported comes first.
  auto with = environment();
  with.emplace_back("BASH_FUNC_show%%=() { echo no; }");
  EXPECT_EQ(direct("show", with), std::nullopt);
}

TEST_F(DirectCommandTest, ATrapStaysWithItsShell) {
  const std::string text = "trap 'echo trapped' EXIT; /bin/true";
  EXPECT_EQ(direct(text, environment()), std::nullopt);
  EXPECT_EQ(run(text, false, environment()).output, "trapped\n");
}

// A shell would say '139' of it.
TEST_F(DirectCommandTest, ASignalThatEndsTheProgramIsSeen) {
  write("dies", "#!/bin/sh\nkill -SEGV $$\n", 0755);
  EXPECT_EQ(run("./dies", false, environment()).status, "ended by SIGSEGV");
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
