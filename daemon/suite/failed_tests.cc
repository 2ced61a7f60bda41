#include "daemon/suite/failed_tests.h"

#include <algorithm>
#include <optional>

#include "daemon/suite/failure.h"
#include "daemon/suite/junit_xml.h"
#include "daemon/suite/words.h"

namespace filibuster::suite {
namespace {

using Lines = std::vector<std::string_view>;

constexpr size_t kMaxSaid = 6;     // lines of one test's words
constexpr size_t kMaxLine = 300;   // bytes of a line
constexpr size_t kLastLines = 3;   // of a program that is not recognised
constexpr size_t kMaxFailed = 50;  // tests

Lines lines_of(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return out;
}

// What stands between two texts at the ends of a line; "": it has not both.
std::string_view between(std::string_view line, std::string_view begin, std::string_view end) {
  if (line.size() <= begin.size() + end.size() || !line.starts_with(begin) || !line.ends_with(end))
    return {};
  return trimmed(line.substr(begin.size(), line.size() - begin.size() - end.size()));
}

// The text before " (0.00s)", " (1.2ms)".
std::string_view before_time(std::string_view text) {
  const size_t open = text.rfind(" (");
  return open != text.npos && text.ends_with("s)") ? text.substr(0, open) : text;
}

std::string_view pytest_heading(std::string_view line, std::string_view) {
  std::string_view name = between(line, "___", "___");
  while (name.starts_with('_')) name.remove_prefix(1);
  while (name.ends_with('_')) name.remove_suffix(1);
  name = trimmed(name);
  constexpr std::string_view kOfFixture = "ERROR at setup of ";
  if (name.starts_with(kOfFixture)) name.remove_prefix(kOfFixture.size());
  return name;
}
std::string_view unittest_heading(std::string_view line, std::string_view before) {
  if (!before.starts_with("=====")) return {};
  const std::string_view fails = between(line, "FAIL: ", "");
  return fails.empty() ? between(line, "ERROR: ", "") : fails;
}
std::string_view go_heading(std::string_view line, std::string_view) {
  return before_time(between(trimmed(line), "--- FAIL: ", ""));
}
std::string_view jest_heading(std::string_view line, std::string_view) {
  return between(trimmed(line), "\u25cf ", "");
}
std::string_view node_heading(std::string_view line, std::string_view) {
  const std::string_view name = between(trimmed(line), "\u2716 ", "");
  return name == "failing tests:" ? std::string_view() : before_time(name);
}
std::string_view tap_heading(std::string_view line, std::string_view) {
  const std::string_view rest = between(trimmed(line), "not ok ", "");
  const size_t name = rest.find(" - ");
  return name == rest.npos ? std::string_view() : trimmed(rest.substr(name + 3));
}
std::string_view gtest_heading(std::string_view line, std::string_view) {
  return between(line, "[ RUN      ] ", "");
}
std::string_view results_heading(std::string_view line, std::string_view) {
  return between(line, kResultOf, kResultEnd);
}

// How the words of a test begin. The line before it tells some from other text.
using Heading = std::string_view (*)(std::string_view line, std::string_view before);
constexpr Heading kHeadings[] = {pytest_heading, unittest_heading, go_heading,    jest_heading,
                                 node_heading,   tap_heading,      gtest_heading, results_heading};

std::string_view heading_of(std::string_view line, std::string_view before) {
  for (const Heading heading : kHeadings) {
    if (const std::string_view name = heading(line, before); !name.empty()) return name;
  }
  return {};
}

std::string joined(const Lines& lines, size_t most) {
  std::string out;
  for (size_t i = 0; i < std::min(lines.size(), most); ++i) {
    out += out.empty() ? "" : "\n";
    out += lines[i].substr(0, kMaxLine);
  }
  return out;
}

// pytest marks what it says with "E   ". The last block is the exception that failed the test.
Lines marked_by_pytest(const Lines& lines) {
  Lines out;
  bool within = false;
  for (const std::string_view line : lines) {
    const bool marked = line.starts_with("E  ") || line == "E";
    if (marked && !within) out.clear();
    if (marked) out.push_back(line.substr(1));
    within = marked;
  }
  while (!out.empty() && trimmed(out.back()).empty()) out.pop_back();
  size_t indent = std::string_view::npos;
  for (const std::string_view line : out) indent = std::min(indent, line.find_first_not_of(' '));
  for (std::string_view& line : out) line.remove_prefix(std::min(line.size(), indent));
  return out;
}

// "shop_test.cc:12: Failure", and what was expected, up to an empty line.
Lines marked_by_gtest(const Lines& lines) {
  Lines out;
  for (const std::string_view line : lines) {
    if (line.ends_with(": Failure"))
      out = {line};
    else if (!out.empty() && trimmed(line).empty())
      break;
    else if (!out.empty())
      out.push_back(line);
  }
  return out;
}

// "test_shop.py:28" of "test_shop.py:28: AssertionError", "shop_test.go:12: ...", "shop_test.cc:12: Failure".
std::string place_at_begin(std::string_view line) {
  line = trimmed(line);
  const size_t colon = line.find(':');
  if (colon == line.npos || colon == 0) return "";
  const size_t end = line.find(':', colon + 1);
  const std::string_view file = line.substr(0, colon);
  if (end == line.npos || file.find('.') == file.npos || file.find(' ') != file.npos) return "";
  return is_digits(line.substr(colon + 1, end - colon - 1)) ? std::string(line.substr(0, end)) : "";
}

// A frame without its function: "test_shop.py:28".
std::string place_of_frame(const std::string& frame) {
  return frame.substr(0, frame.find(" ("));
}

// `body`: what stands below its heading. nullopt: nothing of it says that it failed.
std::optional<FailedTest> read_body(const std::string& name, const Lines& body) {
  FailedTest out{name, "", ""};
  if (const Lines marked = marked_by_pytest(body); !marked.empty()) {
    out.said = joined(marked, kMaxSaid);
    for (const std::string_view line : body) {
      if (line.starts_with(">  ")) out.source = trimmed(line.substr(1));
      if (line.starts_with(' ') || line.starts_with("E")) continue;
      if (std::string place = place_at_begin(line); !place.empty()) out.place = std::move(place);
    }
    return out;
  }
  if (const Lines failure = marked_by_gtest(body); !failure.empty()) {
    out.place = place_at_begin(failure[0]);
    out.said =
        joined(Lines(failure.begin() + (failure.size() > 1 ? 1 : 0), failure.end()), kMaxSaid);
    return out;
  }
  std::string text;
  for (const std::string_view line : body) text += std::string(line) + "\n";
  const Failure failure = read_failure(text);
  if (!failure.chain.empty()) {
    const Raised& raised = failure.chain.front();
    out.said = raised.type + (raised.message.empty() ? "" : ": " + raised.message);
    if (!raised.frames.empty()) out.place = place_of_frame(raised.frames.back());
    return out;
  }
  Lines said;
  for (const std::string_view line : body) {
    if (!trimmed(line).empty()) said.push_back(trimmed(line));
  }
  if (said.empty()) return std::nullopt;
  out.place = place_at_begin(said[0]);
  if (!out.place.empty()) said[0] = trimmed(said[0].substr(out.place.size() + 1));
  out.said = joined(said, kMaxSaid);
  return out;
}

// pytest's summary: "FAILED test_shop.py::test_order - assert 2 <= 1". The message is cut at the terminal's width.
struct Summary {
  std::string_view id, said;
};
std::optional<Summary> pytest_summary(std::string_view line) {
  std::string_view rest = between(line, "FAILED ", "");
  if (rest.empty()) rest = between(line, "ERROR ", "");
  const size_t end = rest.find(" - ");
  const std::string_view id = rest.substr(0, end);
  if (id.find("::") == id.npos) return std::nullopt;
  return Summary{id, end == rest.npos ? std::string_view() : trimmed(rest.substr(end + 3))};
}

// "TestShop.test_order" names "test_shop.py::TestShop::test_order".
bool names(std::string_view heading, std::string_view id) {
  std::string dotted(id.substr(id.find("::") + 2));
  for (size_t at = dotted.find("::"); at != std::string::npos; at = dotted.find("::"))
    dotted.replace(at, 2, ".");
  return dotted == heading;
}

void add_summary(const Summary& row, std::vector<FailedTest>* failed) {
  for (FailedTest& test : *failed) {
    if (!names(test.name, row.id)) continue;
    test.name = row.id;
    return;
  }
  const bool known = std::any_of(failed->begin(), failed->end(),
                                 [&](const FailedTest& test) { return test.name == row.id; });
  if (!known) failed->push_back({std::string(row.id), std::string(row.said), ""});
}

}  // namespace

OwnWords own_words(std::string_view output) {
  // What follows are lines of services.
  if (const size_t services = output.find("--- last lines of "); services != output.npos)
    output = output.substr(0, services);
  const Lines lines = lines_of(output);
  OwnWords out;
  std::vector<Summary> summaries;
  std::string name;
  Lines body;
  bool is_gtest = false;
  const auto finish = [&] {
    // The heading of the first test may stand above the lines that were kept.
    const bool is_cut = name.empty() && out.failed.empty() && !marked_by_pytest(body).empty();
    auto test = name.empty() && !is_cut ? std::nullopt : read_body(name, body);
    // GoogleTest announces every test, also those that pass.
    if (test && is_gtest && marked_by_gtest(body).empty()) test.reset();
    const bool known = test && std::any_of(out.failed.begin(), out.failed.end(),
                                           [&](const auto& one) { return one.name == name; });
    if (test && !known && out.failed.size() < kMaxFailed) out.failed.push_back(std::move(*test));
    name.clear();
    body.clear();
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view before = i == 0 ? std::string_view() : lines[i - 1];
    if (auto row = pytest_summary(lines[i])) {
      finish();
      summaries.push_back(*row);
      continue;
    }
    if (const std::string_view heading = heading_of(lines[i], before); !heading.empty()) {
      finish();
      name = heading;
      is_gtest = !gtest_heading(lines[i], before).empty();
      continue;
    }
    const bool ends = lines[i].starts_with("=====") || lines[i].starts_with("[  FAILED  ]") ||
                      lines[i].starts_with("[       OK ]") || lines[i].starts_with("FAIL\t") ||
                      lines[i] == "FAIL";
    if (ends)
      finish();
    else
      body.push_back(lines[i]);
  }
  finish();
  // The summary has the tests in the same order.
  if (!out.failed.empty() && out.failed[0].name.empty() && !summaries.empty())
    out.failed[0].name = summaries[0].id;
  for (const Summary& row : summaries) add_summary(row, &out.failed);
  out.recognised = !out.failed.empty();
  if (out.recognised) return out;

  if (const Failure failure = read_failure(output); !failure.chain.empty()) {
    const Raised& raised = failure.chain.front();
    out.recognised = true;
    out.failed.push_back({"", raised.type + (raised.message.empty() ? "" : ": " + raised.message),
                          raised.frames.empty() ? "" : place_of_frame(raised.frames.front())});
    return out;
  }
  Lines last;
  for (auto line = lines.rbegin(); line != lines.rend() && last.size() < kLastLines; ++line) {
    if (!trimmed(*line).empty()) last.insert(last.begin(), *line);
  }
  if (!last.empty()) out.failed.push_back({"", joined(last, kLastLines), ""});
  return out;
}

}  // namespace filibuster::suite
