#include "daemon/report/failed_assertions.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace filibuster {
namespace {

constexpr size_t kMost = 32;
constexpr size_t kMaxWhat = 400;  // bytes

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") + 1 - from);
}

std::string shortened(std::string_view text) {
  return std::string(trimmed(text.substr(0, kMaxWhat)));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "name.ext:12" at the start of `text`; what follows must be no part of it. "": there is none.
std::string_view place_at_start(std::string_view text) {
  const size_t end_of_file = text.find(':');
  if (end_of_file == std::string_view::npos || end_of_file == 0) return {};
  const std::string_view file = text.substr(0, end_of_file);
  if (file.find_first_of(" \t()\"'<>") != std::string_view::npos) return {};
  if (file.find('.') == std::string_view::npos) return {};
  size_t end = end_of_file + 1;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end == end_of_file + 1 ? std::string_view{} : text.substr(0, end);
}

// "TimeoutError: timed out", "java.lang.AssertionError", "requests.exceptions.ReadTimeout: ...": the name of a type, and a message.
bool is_raised(std::string_view line) {
  const size_t end = std::min(line.find_first_of(": "), line.size());
  const std::string_view name = line.substr(0, end);
  if (name.empty() || (end < line.size() && line[end] != ':')) return false;
  if (std::isalpha(static_cast<unsigned char>(name.front())) == 0 && name.front() != '_') return false;
  const bool word = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
  });
  const std::string_view last = name.substr(name.find_last_of(".$") + 1);
  return word && (last.ends_with("Error") || last.ends_with("Exception") ||
                  last.ends_with("Exit") || last.ends_with("Interrupt") || last.ends_with("Failure") || last.ends_with("Failed") ||
                  last.ends_with("Timeout") || last.ends_with("Warning") || name.find('.') != std::string_view::npos);
}

// pytest: a section for each failed test ("____ test_x ____"), in it "E   ..." and "file:line: Type", and at the end a line for each
// ("FAILED file::test - message", cut to the width of a terminal).
std::vector<FailedAssertion> of_pytest(const Lines& lines) {
  struct Section {
    std::string place, what;
  };
  std::map<std::string, Section, std::less<>> sections;  // by the test's name without its file
  std::string current;
  std::string first_error;
  std::vector<FailedAssertion> out;
  for (const std::string_view line : lines) {
    if (line.starts_with("____") && line.ends_with("____")) {
      const size_t from = line.find_first_not_of("_ ");
      current = from == std::string_view::npos
                    ? ""
                    : std::string(line.substr(from, line.find_last_not_of("_ ") + 1 - from));
      first_error.clear();
      continue;
    }
    if (line.starts_with("E ") && first_error.empty()) first_error = shortened(line.substr(2));
    if (const std::string_view place = place_at_start(line);
        !place.empty() && line.substr(place.size()).starts_with(": ")) {
      // The innermost frame comes last, and is the only one that names a type.
      const std::string_view type = line.substr(place.size() + 2);
      if (is_raised(type) || type == "Failed") sections[current] = {std::string(place), first_error};
    }
    for (const std::string_view word : {"FAILED ", "ERROR "}) {
      if (!line.starts_with(word) || line.find("::") == std::string_view::npos) continue;
      const std::string_view rest = line.substr(word.size());
      const size_t dash = rest.find(" - ");
      FailedAssertion one;
      one.test = std::string(rest.substr(0, dash));
      if (dash != std::string_view::npos) one.what = shortened(rest.substr(dash + 3));
      std::string name = one.test.substr(one.test.find("::") + 2);
      for (size_t at = name.find("::"); at != std::string::npos; at = name.find("::"))
        name.replace(at, 2, ".");
      auto section = sections.find(name);
      // The heading of the only failure may stand before what is left of the output.
      if (section == sections.end()) section = sections.find(std::string_view());
      if (section != sections.end()) {
        one.place = section->second.place;
        if (!section->second.what.empty()) one.what = section->second.what;
        if (section->first.empty()) sections.erase(section);
      }
      out.push_back(std::move(one));
    }
  }
  return out;
}

// GoogleTest: "file.cc:12: Failure" and what was expected, up to "[  FAILED  ] Suite.Test (3 ms)".
std::vector<FailedAssertion> of_googletest(const Lines& lines) {
  std::vector<FailedAssertion> out;
  size_t of_this_test = 0;
  constexpr std::string_view kFailed = "[  FAILED  ] ", kRun = "[ RUN      ] ", kFailure = ": Failure";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with(kRun)) of_this_test = out.size();
    if (const std::string_view place = place_at_start(lines[i]);
        !place.empty() && lines[i].substr(place.size()) == kFailure) {
      FailedAssertion one{"", std::string(place), ""};
      for (size_t j = i + 1; j < lines.size() && !lines[j].empty() && !lines[j].starts_with('[') && one.what.size() < kMaxWhat; ++j)
        one.what += (one.what.empty() ? "" : " ") + shortened(lines[j]);
      out.push_back(std::move(one));
    }
    if (!lines[i].starts_with(kFailed) || lines[i].find(" ms)") == std::string_view::npos) continue;
    const std::string_view rest = lines[i].substr(kFailed.size());
    for (size_t j = of_this_test; j < out.size(); ++j)
      out[j].test = std::string(rest.substr(0, rest.find_first_of(", ")));
    of_this_test = out.size();
  }
  return out;
}

// Go: "--- FAIL: TestX (0.00s)", then "    file_test.go:12: message".
std::vector<FailedAssertion> of_go(const Lines& lines) {
  std::vector<FailedAssertion> out;
  constexpr std::string_view kFail = "--- FAIL: ";
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (!line.starts_with(kFail)) continue;
    const std::string_view rest = line.substr(kFail.size());
    FailedAssertion one{std::string(rest.substr(0, rest.find(' '))), "", ""};
    if (i + 1 < lines.size()) {
      const std::string_view next = trimmed(lines[i + 1]);
      const std::string_view place = place_at_start(next);
      if (!place.empty() && place.find(".go:") != std::string_view::npos) {
        one.place = std::string(place);
        one.what = shortened(next.substr(std::min(place.size() + 1, next.size())));
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

// Rust: "thread 'name' panicked at src/x.rs:12:5:" and the message, or the message first, in quotes (before 1.73).
std::vector<FailedAssertion> of_rust(const Lines& lines) {
  std::vector<FailedAssertion> out;
  for (size_t i = 0; i < lines.size(); ++i) {
    constexpr std::string_view kPanicked = " panicked at ";
    const size_t at = lines[i].find(kPanicked);
    if (!lines[i].starts_with("thread '") || at == std::string_view::npos) continue;
    const std::string_view name = lines[i].substr(8, lines[i].find('\'', 8) - 8);
    std::string_view rest = lines[i].substr(at + kPanicked.size());
    FailedAssertion one{std::string(name), "", ""};
    if (rest.starts_with('\'')) {
      const size_t end = rest.rfind("', ");
      one.what = shortened(rest.substr(1, end == std::string_view::npos ? end : end - 1));
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 3);
    } else if (i + 1 < lines.size()) {
      one.what = shortened(lines[i + 1]);
    }
    one.place = std::string(place_at_start(rest));
    out.push_back(std::move(one));
  }
  return out;
}

// TAP, as Node's own runner writes it: "not ok 1 - name", then YAML with the place and the first lines of the error.
std::vector<FailedAssertion> of_tap(const Lines& lines) {
  std::vector<FailedAssertion> out;
  constexpr std::string_view kNotOk = "not ok ", kLocation = "location: '", kError = "error: ";
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (line.starts_with(kNotOk)) {
      const size_t dash = line.find(" - ");
      out.push_back({std::string(dash == std::string_view::npos ? line : line.substr(dash + 3)), "", ""});
    }
    if (out.empty()) continue;
    if (line.starts_with(kLocation)) out.back().place = std::string(place_at_start(line.substr(kLocation.size())));
    if (!line.starts_with(kError)) continue;
    const std::string_view said = trimmed(line.substr(kError.size()));
    if (!said.starts_with('|')) out.back().what = shortened(said);
    for (size_t j = i + 1; said.starts_with('|') && j < lines.size() && j < i + 6; ++j) {
      const std::string_view part = trimmed(lines[j]);
      if (part.starts_with("code: ") || part.starts_with("...")) break;
      if (!part.empty() && out.back().what.size() < kMaxWhat) out.back().what += (out.back().what.empty() ? "" : " ") + std::string(part);
    }
  }
  return out;
}

// The place of a frame of a stack trace of V8 ("at f (file:///app/x.js:3:5)") or the JVM ("at shop.Pay.charge(Pay.java:12)").
// "": it is no frame, or one of the runtime itself.
std::string frame_place(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("at ")) return "";
  for (const std::string_view own :
       {"node:internal", "at java.", "at jdk.", "at org.junit", "at sun.", "(node:", "at node:", "/node_modules/", "at org.opentest4j", "at org.assertj"})
    if (line.find(own) != std::string_view::npos) return "";
  std::string_view where = line.substr(3);
  if (const size_t open = where.rfind('('); open != std::string_view::npos && where.ends_with(')'))
    where = where.substr(open + 1, where.size() - open - 2);
  if (where.starts_with("async ")) where.remove_prefix(6);
  if (where.starts_with("file://")) where.remove_prefix(7);
  return std::string(place_at_start(where));
}

// A stack trace behind "Type: message": of Node and the JVM.
std::vector<FailedAssertion> of_stack_traces(const Lines& lines) {
  std::vector<FailedAssertion> out;
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    std::string_view line = trimmed(lines[i]);
    for (const std::string_view before : {"Uncaught ", "Exception in thread \"main\" ", "[cause]: "})
      if (line.starts_with(before)) line.remove_prefix(before.size());
    // "AssertionError [ERR_ASSERTION]: ..." of Node.
    const size_t code = line.find(" [");
    const size_t end_of_code = line.find("]:");
    const bool coded = code != std::string_view::npos && end_of_code != std::string_view::npos &&
                       code < end_of_code && is_raised(line.substr(0, code));
    if (!coded && !is_raised(line)) continue;
    // The message may have several lines.
    size_t frame = i + 1;
    while (frame < lines.size() && frame < i + 12 && !trimmed(lines[frame]).starts_with("at ")) ++frame;
    if (frame >= lines.size() || !trimmed(lines[frame]).starts_with("at ")) continue;
    FailedAssertion one{"", "", shortened(line)};
    for (; frame < lines.size() && one.place.empty() && trimmed(lines[frame]).starts_with("at "); ++frame)
      one.place = frame_place(lines[frame]);
    out.push_back(std::move(one));
    i = frame - 1;
  }
  return out;
}

// Python: "Traceback (most recent call last):", frames, "Type: message". Of exceptions in a chain the last one counts.
std::vector<FailedAssertion> of_python(const Lines& lines) {
  std::vector<FailedAssertion> out;
  std::string place, test;
  bool inside = false;
  for (const std::string_view line : lines) {
    // unittest: "FAIL: test_x (tests.Shop.test_x)"
    if (line.starts_with("FAIL: ") || line.starts_with("ERROR: ")) test = std::string(trimmed(line.substr(line.find(' '))));
    if (line.starts_with("Traceback (most recent call last)")) {
      inside = true;
      place.clear();
      continue;
    }
    if (!inside || line.empty()) continue;
    constexpr std::string_view kFile = "  File \"";
    if (line.starts_with(kFile)) {
      const size_t end = line.find("\", line ");
      if (end == std::string_view::npos) continue;
      const std::string_view file = line.substr(kFile.size(), end - kFile.size());
      if (file.find("/site-packages/") != std::string_view::npos || file.find("/dist-packages/") != std::string_view::npos ||
          file.find("/lib/python") != std::string_view::npos || file.starts_with('<'))
        continue;
      std::string_view number = line.substr(end + 8);
      number = number.substr(0, std::min(number.find_first_not_of("0123456789"), number.size()));
      place = std::string(file) + ":" + std::string(number);
    } else if (!line.starts_with(' ')) {
      inside = false;
      out.push_back({test, place, shortened(line)});
    }
  }
  // "During handling of the above exception, another exception occurred": one failure.
  if (test.empty() && out.size() > 1) out.erase(out.begin(), out.end() - 1);
  return out;
}

}  // namespace

std::vector<FailedAssertion> failed_assertions(std::string_view output) {
  const Lines lines = lines_of(output);
  for (const auto& read : {of_pytest, of_googletest, of_tap, of_go, of_rust, of_python, of_stack_traces}) {
    std::vector<FailedAssertion> found = read(lines);
    if (found.empty()) continue;
    if (found.size() > kMost) found.resize(kMost);
    return found;
  }
  return {};
}

std::string masked(std::string_view text) {
  const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      out += text[at++];
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const bool digits = std::any_of(word.begin(), word.end(), is_digit);
    const bool identifier = digits && word.size() >= 6 && std::all_of(word.begin(), word.end(), is_hex);
    if (identifier) {
      out += '#';
    } else {
      for (const char c : word) {
        if (!is_digit(c)) out += c;
        if (is_digit(c) && !out.ends_with('#')) out += '#';
      }
    }
    at = end;
  }
  return out;
}

}  // namespace filibuster
