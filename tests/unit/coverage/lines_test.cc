#include "daemon/coverage/lines.h"

#include <gtest/gtest.h>

namespace filibuster::coverage {
namespace {

TEST(Ranges, JoinLinesBetweenWhichNoOtherStatementIs) {
  const Lines statements{1, 2, 4, 7, 9, 10};
  EXPECT_EQ(to_text(ranges({1, 2, 4}, statements)), "1-4");  // line 3 holds none
  EXPECT_EQ(to_text(ranges({1, 4}, statements)), "1, 4");    // 2 is in between
  EXPECT_EQ(to_text(ranges({2, 7, 10}, statements)), "2, 7, 10");
  EXPECT_EQ(to_text(ranges({10}, statements)), "10");
  EXPECT_EQ(to_text(ranges({}, statements)), "");
}

TEST(Merging, CountsALineThatOneProcessReached) {
  Files files{{"a.py", {{1, 2}, {1}}}, {"b.py", {{5}, {}}}};
  merge({{"a.py", {{2, 3}, {2}}}, {"c.py", {{1}, {1}}}}, &files);
  const Files wanted{{"a.py", {{1, 2, 3}, {1, 2}}}, {"b.py", {{5}, {}}}, {"c.py", {{1}, {1}}}};
  EXPECT_EQ(files, wanted);
}

TEST(Answers, OfOurHelpersAreRead) {
  const auto answer = read_answer(
      R"({"files": {"/a.py": {"statements": [1, 3], "reached": [3, 8]}}, "problems": ["b.ts: ?"]})");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const Files wanted{{"/a.py", {{1, 3}, {3}}}};  // 8 is no statement
  EXPECT_EQ(answer->files, wanted);
  EXPECT_EQ(answer->problems, std::vector<std::string>{"b.ts: ?"});
}

TEST(Answers, ThatAreNoneAreRefused) {
  for (const char* text : {"", "[]", "{", "{}", R"({"files": []})", R"({"files": {"a": []}})",
                           R"({"files": {"a": {"statements": [1]}}})",
                           R"({"files": {"a": {"statements": [0], "reached": []}}})",
                           R"({"files": {"a": {"statements": [-1], "reached": []}}})",
                           R"({"files": {"a": {"statements": ["1"], "reached": []}}})",
                           R"({"files": {"a": {"statements": [4294967296], "reached": []}}})",
                           R"({"files": {}, "problems": 1})"}) {
    EXPECT_FALSE(read_answer(text).ok()) << text;
  }
}

constexpr char kGcov[] =
    R"({"format_version": "1", "current_working_directory": "/srv/build", "data_file": "a.gcda", "files": [)"
    R"({"file": "../a.cc", "functions": [], "lines": [{"line_number": 3, "count": 2}, {"line_number": 4, "count": 0}]},)"
    R"({"file": "/usr/include/c++/12/vector", "lines": [{"line_number": 9, "count": 1}]}]})";

TEST(Gcov, LinesAreReadAndThoseOfLibrariesLeftOut) {
  const auto answer = read_gcov(std::string(kGcov) + "\n");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const Files wanted{{"/srv/a.cc", {{3, 4}, {3}}}};
  EXPECT_EQ(answer->files, wanted);
}

TEST(Gcov, ALineOfATemplateIsReachedWhereOneInstanceWas) {
  const auto answer = read_gcov(
      R"({"current_working_directory": "/b", "files": [{"file": "/t.h", "lines": [)"
      R"({"line_number": 3, "count": 0}, {"line_number": 3, "count": 7}, {"line_number": 0, "count": 1}]}]})"
      "\n\n"
      R"({"current_working_directory": "/b", "files": [{"file": "/t.h", "lines": [{"line_number": 5, "count": 0}]}]})");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const Files wanted{{"/t.h", {{3, 5}, {3}}}};
  EXPECT_EQ(answer->files, wanted);
}

TEST(Gcov, WhatItDoesNotWriteIsRefused) {
  for (const char* text :
       {"a.gcda: version 'B22*', prefer 'A95*'", "[]", R"({"files": {}})", R"({"files": [1]})",
        R"({"files": [{"file": "a.cc"}]})", R"({"files": [{"file": "a.cc", "lines": [{}]}]})",
        R"({"files": [{"file": "a.cc", "lines": [{"line_number": 1, "count": "1"}]}]})"}) {
    EXPECT_FALSE(read_gcov(text).ok()) << text;
  }
  EXPECT_TRUE(read_gcov("").ok());
}

}  // namespace
}  // namespace filibuster::coverage
