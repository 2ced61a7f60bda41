#include "daemon/report/baseline.h"

#include <gtest/gtest.h>

#include "daemon/model/session_report.h"

namespace filibuster {
namespace {

const Acceptance kRow{"0123456789abcdef", "checkout", "users -> movies GET /: timeout",
                      "the new client", "2030-01-31"};

TEST(Baseline, IsReadAsItIsWritten) {
  Baseline baseline;
  Acceptance other = kRow;
  other.finding = "fedcba9876543210";
  other.test = "a \"test\"\n<of> others";
  EXPECT_FALSE(accept(kRow, &baseline));
  EXPECT_FALSE(accept(other, &baseline));
  other.because = "again";
  EXPECT_TRUE(accept(other, &baseline));
  const ParsedBaseline read = parse_baseline(to_text(baseline), "accepted.json");
  ASSERT_TRUE(read.errors.empty()) << read.errors[0].message;
  ASSERT_EQ(read.baseline.accepted.size(), 2u);
  EXPECT_EQ(read.baseline.accepted[0].test, other.test) << "sorted by test";
  EXPECT_EQ(read.baseline.accepted[0].because, "again");
  EXPECT_EQ(read.baseline.accepted[1].until, kRow.until);
  EXPECT_EQ(to_text(read.baseline), to_text(baseline));
}

struct Mistake {
  const char* text;
  int line, column;
  const char* message;
};

TEST(Baseline, MistakesAreNamedByTheirPlace) {
  const std::string row =
      R"({"finding": "0123456789abcdef", "test": "t", "what": "w", "because": "b", "until": "2030-01-31"})";
  const std::string twice = "{\"version\": 1, \"accepted\": [" + row + ",\n" + row + "]}";
  const Mistake mistakes[] = {
      {"{\"version\": 1,\n \"accepted\": [}", 2, 15, ""},
      {"{\"version\": 2, \"accepted\": {\"of\": \"later\"}}", 1, 13, "version 1 only"},
      {"{\"version\": \"1\"}", 1, 13, "version 1 only"},
      {"{\"accepted\": []}", 1, 1, "needs 'version'"},
      {"[]", 1, 1, "expected an object"},
      {"{\"version\": 1, \"accepted\": [], \"more\": 1}", 1, 32, "more"},
      {"{\"version\": 1, \"accepted\": [{\"finding\": \"3\", \"test\": \"t\", \"what\": \"w\", "
       "\"because\": \"b\", \"until\": \"2030-01-31\"}]}",
       1, 41, "16 hexadecimal digits"},
      {"{\"version\": 1, \"accepted\": [{\"finding\": \"0123456789abcdef\", \"test\": \"t\", "
       "\"what\": \"w\", \"because\": \"b\", \"until\": \"2030-02-30\"}]}",
       1, 112, "expected a day"},
      {twice.c_str(), 2, 1, "accepted twice"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto errors = parse_baseline(mistake.text, "accepted.json").errors;
    ASSERT_EQ(errors.size(), 1u) << mistake.text;
    EXPECT_EQ(errors[0].file, "accepted.json");
    EXPECT_EQ(errors[0].line, mistake.line) << mistake.text;
    EXPECT_EQ(errors[0].column, mistake.column) << mistake.text;
    EXPECT_NE(errors[0].message.find(mistake.message), std::string::npos) << errors[0].message;
  }
}

TEST(Baseline, AFileThatIsNotThereAcceptsNothing) {
  const ParsedBaseline none = read_baseline("/nowhere/accepted.json");
  EXPECT_TRUE(none.errors.empty());
  EXPECT_FALSE(none.baseline.present);
  EXPECT_EQ(none.baseline.path, "/nowhere/accepted.json");
  EXPECT_EQ(read_baseline("/").errors.size(), 1u);
  EXPECT_EQ(read_baseline("/dev/zero").errors.size(), 1u) << "it would be read without end";
}

TEST(Baseline, KnowsDays) {
  for (const char* day : {"2026-12-31", "2028-02-29"}) EXPECT_TRUE(is_date(day)) << day;
  for (const char* day :
       {"", "2026-13-01", "2026-02-29", "2026-1-1", "31.12.2026", "2026-12-31 ", "20x6-12-31"})
    EXPECT_FALSE(is_date(day)) << day;
  EXPECT_EQ(today("2030-01-01"), "2030-01-01");
  EXPECT_TRUE(is_date(today("")));
}

SessionReport found(const std::string& id, bool finished = true) {
  Finding finding;
  finding.id = id;
  finding.minimal_execution.test = "checkout";
  TestReport test;
  test.test = "checkout";
  test.finished = finished;
  if (!id.empty()) test.findings = {finding};
  SessionReport report;
  report.tests = {test};
  return report;
}

struct Applied {
  Standing standing;
  RowState state;
  size_t failing;
};
Applied applied(const std::string& id, const std::string& day, bool finished = true) {
  Baseline baseline;
  baseline.path = "accepted.json";
  baseline.accepted = {kRow};
  SessionReport report = found(id, finished);
  apply_baseline(baseline, day, &report);
  const Standing standing = id.empty() ? Standing::kNew : report.tests[0].findings[0].standing;
  return {standing, report.baseline.rows.at(0).state, report.failing()};
}

TEST(Baseline, AcceptsUpToAndWithItsDay) {
  const Applied on_the_day = applied(kRow.finding, "2030-01-31");
  EXPECT_EQ(on_the_day.standing, Standing::kAccepted);
  EXPECT_EQ(on_the_day.state, RowState::kAccepted);
  EXPECT_EQ(on_the_day.failing, 0u);
  const Applied after = applied(kRow.finding, "2030-02-01");
  EXPECT_EQ(after.standing, Standing::kExpired);
  EXPECT_EQ(after.state, RowState::kExpired);
  EXPECT_EQ(after.failing, 1u);
}

TEST(Baseline, WhatIsNewFailsAndWhatIsGoneIsNamed) {
  const Applied other = applied("fedcba9876543210", "2030-01-01");
  EXPECT_EQ(other.standing, Standing::kNew);
  EXPECT_EQ(other.failing, 1u);
  EXPECT_EQ(other.state, RowState::kNotFound);
  EXPECT_EQ(applied("", "2030-01-01").state, RowState::kNotFound);
  EXPECT_EQ(applied("", "2030-01-01", false).state, RowState::kNotLookedFor) << "it may still come";
}

}  // namespace
}  // namespace filibuster
