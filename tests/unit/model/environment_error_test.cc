#include "daemon/model/environment_error.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

TEST(EnvironmentError, HasItsPartsInOneText) {
  const Error error = with_remedy(
      "service 'users' ended before it was ready\nlast lines of /l/users-0.log:\nTraceback:\n  x\n",
      "start it by hand");
  EXPECT_EQ(error.message,
            "service 'users' ended before it was ready\nlast lines of /l/users-0.log:\n"
            "Traceback:\n  x\nwhat to do: start it by hand");
  const EnvironmentError parts = parse_environment_error(error.message);
  EXPECT_EQ(parts.what, "service 'users' ended before it was ready");
  EXPECT_EQ(parts.title, "last lines of /l/users-0.log:");
  EXPECT_EQ(parts.lines, "Traceback:\n  x");
  EXPECT_EQ(parts.remedy, "start it by hand");
}

TEST(EnvironmentError, WithoutPartsIsWhatFailedAlone) {
  const EnvironmentError alone = parse_environment_error("port 80 is in use");
  EXPECT_EQ(alone.what, "port 80 is in use");
  EXPECT_EQ(alone.title + alone.lines + alone.remedy, "");
  const EnvironmentError silent = parse_environment_error("it fails\n(it wrote nothing)");
  EXPECT_EQ(silent.title, "(it wrote nothing)");
  EXPECT_EQ(silent.lines, "");
  EXPECT_EQ(parse_environment_error("masks:\n  - one\n  - two").lines, "  - one\n  - two");
}

TEST(EnvironmentError, TakesNoRemedyFromWhatAProgramWrote) {
  const EnvironmentError parts =
      parse_environment_error("it fails\nits last lines:\na\nwhat to do: nothing\nb");
  EXPECT_EQ(parts.remedy, "");
  EXPECT_EQ(parts.lines, "a\nwhat to do: nothing\nb");
}

TEST(EnvironmentError, IsToldOnceForEachTest) {
  SessionReport report;
  report.error = "not every test could be explored";
  EXPECT_EQ(environment_errors(report).at(0).what, report.error);
  report.tests.resize(3);
  report.tests[1].test = "pay";
  report.tests[1].error = "it fails\nits last lines:\nAssertionError";
  const auto errors = environment_errors(report);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].test, "pay");
  EXPECT_EQ(errors[0].lines, "AssertionError");
  EXPECT_TRUE(environment_errors(SessionReport()).empty());
}

}  // namespace
}  // namespace filibuster
