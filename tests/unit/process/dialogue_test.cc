#include "daemon/process/dialogue.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLong{60000};

class DialogueTest : public ::testing::Test {
 protected:
  void SetUp() override { signal(SIGPIPE, SIG_IGN); }
  Result<Dialogue> start(const std::string& script) {
    SpawnOptions options;
    options.argv = {"/bin/sh", "-c", script};
    options.environment = {"PATH=/usr/bin:/bin"};
    options.log_path = folder_.path() + "/log";
    return Dialogue::start(std::move(options));
  }
  TemporaryFolder folder_;
};

TEST_F(DialogueTest, EachLineHasItsAnswer) {
  auto program = start("while read -r line; do echo \"<$line>\"; done");
  ASSERT_TRUE(program);
  for (const std::string text : {"one", "", "three words here"}) {
    const auto answer = program->ask(text, kLong);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer.value(), "<" + text + ">");
  }
  // More than a pipe takes, in both directions.
  const std::string wide(300'000, 'x');
  const auto answer = program->ask(wide, kLong);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->size(), wide.size() + 2);
}

TEST_F(DialogueTest, AnEndIsSaidWithTheLastLines) {
  auto program = start("read -r line; echo 'it is broken' >&2; exit 3");
  ASSERT_TRUE(program);
  const auto answer = program->ask("x", kLong);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "it ended before it answered (exit status 3)\nit is broken");
  EXPECT_FALSE(program->ask("y", kLong));
}

TEST_F(DialogueTest, SilenceEnds) {
  auto program = start("exec sleep 600");
  ASSERT_TRUE(program);
  const auto answer = program->ask("x", milliseconds(50));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "it did not answer within 50 ms");
}

}  // namespace
}  // namespace filibuster
