// Statement coverage by lines, whatever tool it comes from: of each source file the lines that hold
// statements, and those of them that were reached. Pure: the tools are run elsewhere
// (daemon/coverage/collector.h), their answers are read here.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace filibuster::coverage {

using Lines = std::set<uint32_t>;  // numbers from 1

struct FileLines {
  Lines statements;
  Lines reached;  // some of the statements
  bool operator==(const FileLines&) const = default;
};
using Files = std::map<std::string, FileLines>;  // by path

// A line is a statement if either of the two says so, and reached if either says so.
void merge(const Files& from, Files* into);

struct Range {
  uint32_t first = 0, last = 0;  // both included
  bool operator==(const Range&) const = default;
};
// `lines` as ranges; what lies between two lines of a range holds no statement that is not in it.
std::vector<Range> ranges(const Lines& lines, const Lines& statements);
std::string to_text(const std::vector<Range>& ranges);  // "3, 8-12"

struct ToolAnswer {
  Files files;
  std::vector<std::string> problems;  // files that could not be read, for a person
};

// What our own helpers write: {"files": {"/srv/users.py": {"statements": [1, 2], "reached": [1]}},
// "problems": ["..."]}.
Result<ToolAnswer> read_answer(std::string_view json);

// What `gcov --json-format --stdout` prints: one object for each data file, on a line of its own
// (GCC's manual, "Invoking gcov"). Sources below /usr are left out: they are of libraries.
Result<ToolAnswer> read_gcov(std::string_view text);

}  // namespace filibuster::coverage
