#include "daemon/suite/failure.h"

#include <algorithm>
#include <optional>

#include "daemon/suite/words.h"

namespace filibuster::suite {
namespace {

constexpr std::string_view kAssertions[] = {
    "AssertionError",  // Python, Node, Java
    "AssertionFailedError",
    "ComparisonFailure",
    "MultipleFailuresError",
    "JestAssertionError",
    "Failed",  // pytest.fail
};

bool is_name(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(),
                     [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$';
                     }) &&
         !(text[0] >= '0' && text[0] <= '9') && text[0] != '.';
}

// Does the last part of a dotted name look like an exception's?
bool is_exception_name(std::string_view name) {
  if (!is_name(name)) return false;
  const std::string_view last = short_type(name);
  constexpr std::string_view kEndings[] = {"Error",  "Exception", "Timeout", "Failure",
                                           "Exit",   "Interrupt", "Warning", "Refused",
                                           "Failed", "Fault",     "Aborted", "Throwable"};
  const bool ends = std::any_of(std::begin(kEndings), std::end(kEndings),
                                [last](std::string_view e) { return last.ends_with(e); });
  return !last.empty() && last[0] >= 'A' && last[0] <= 'Z' && (ends || name.find('.') != name.npos);
}

// "Type: message", "Type [CODE]: message", "Type". nullopt: the line is none.
std::optional<Raised> head_of(std::string_view line, bool any_name) {
  line = trimmed(line);
  for (const std::string_view prefix :
       {"Uncaught ", "Exception in thread \"main\" ", "Caused by: "})
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
  const size_t end = line.find_first_of(": [");
  const std::string_view name = line.substr(0, end);
  if (!is_exception_name(name) && !(any_name && is_name(name) && name[0] >= 'A' && name[0] <= 'Z'))
    return std::nullopt;
  std::string_view rest = end == line.npos ? std::string_view() : line.substr(end);
  if (rest.starts_with(" [")) {
    const size_t close = rest.find(']');
    if (close == rest.npos) return std::nullopt;
    rest.remove_prefix(close + 1);
  }
  if (!rest.empty() && rest[0] != ':') return std::nullopt;
  Raised out;
  out.type = name;
  if (!rest.empty()) out.message = trimmed(rest.substr(1));
  return out;
}

// `  File "shop.py", line 12, in pay`
std::optional<std::string> python_frame(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("File \"")) return std::nullopt;
  line.remove_prefix(6);
  const size_t quote = line.find("\", line ");
  if (quote == line.npos) return std::nullopt;
  std::string out(line.substr(0, quote));
  line.remove_prefix(quote + 8);
  const size_t comma = line.find(", in ");
  out += ":" + std::string(line.substr(0, comma));
  if (comma != line.npos) out += " (" + std::string(line.substr(comma + 5)) + ")";
  return out;
}

// pytest: "shop.py:12: TypeError", "shop.py:12: in pay", "shop.py:12: "
std::optional<std::string> pytest_frame(std::string_view line) {
  const size_t colon = line.find(".py:");
  if (colon == line.npos || line[0] == ' ' || line[0] == '\t' || line.starts_with("E "))
    return std::nullopt;
  const size_t end = line.find(':', colon + 4);
  if (end == line.npos || !is_digits(line.substr(colon + 4, end - colon - 4))) return std::nullopt;
  std::string out(line.substr(0, end));
  const std::string_view rest = trimmed(line.substr(end + 1));
  if (rest.starts_with("in ")) out += " (" + std::string(rest.substr(3)) + ")";
  return out;
}

// pytest: "    def pay():", "    async def pay(order):", with ">" in the place of the first blank where that line fails
std::optional<std::string> shown_function(std::string_view line) {
  if (!line.starts_with("    ") && !line.starts_with(">   ")) return std::nullopt;
  line = trimmed(line.substr(1));
  if (line.starts_with("async ")) line.remove_prefix(6);
  if (!line.starts_with("def ")) return std::nullopt;
  line.remove_prefix(4);
  const std::string_view name = line.substr(0, line.find('('));
  return is_name(name) ? std::optional<std::string>(name) : std::nullopt;
}

// Node and the JVM: "    at pay (/srv/shop.js:12:3)", "    at /srv/shop.js:12:3", "\tat shop.Pay.run(Pay.java:12)"
std::optional<std::string> at_frame(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("at ")) return std::nullopt;
  line.remove_prefix(3);
  if (line.starts_with("async ")) line.remove_prefix(6);
  if (line.ends_with(" {")) line.remove_suffix(2);  // what the exception has besides follows
  const size_t open = line.rfind('(');
  std::string_view place = line, function;
  if (open != line.npos && line.ends_with(')')) {
    place = line.substr(open + 1, line.size() - open - 2);
    function = trimmed(line.substr(0, open));
  }
  if (place.starts_with("file://")) place.remove_prefix(7);
  // The column says no more than the line.
  const size_t last = place.rfind(':');
  if (last != place.npos && is_digits(place.substr(last + 1))) {
    const size_t before = place.rfind(':', last - 1);
    if (last > 0 && before != place.npos && is_digits(place.substr(before + 1, last - before - 1)))
      place = place.substr(0, last);
  }
  std::string out(place);
  if (!function.empty()) out += " (" + std::string(function) + ")";
  return out;
}

bool says_cause(std::string_view line) {
  line = trimmed(line);
  return line.starts_with("The above exception was the direct cause");
}
bool says_context(std::string_view line) {
  return trimmed(line).starts_with("During handling of the above exception");
}

// The exceptions of a Python or pytest text, in the order of the text: the last one failed the test.
class PythonReader {
 public:
  void line(std::string_view line) {
    if (says_cause(line) || says_context(line)) {
      finish(says_cause(line) ? Link::kCause : Link::kContext);
      return;
    }
    if (line.starts_with("Traceback (most recent call last)")) {
      frames_.clear();
      in_traceback_ = true;
      return;
    }
    if (shows_source(line)) source_ = trimmed(line[0] == '>' ? line.substr(1) : line);
    is_below_frame_ = false;
    if (auto frame = python_frame(line)) {
      frames_.push_back(std::move(*frame));
      is_below_frame_ = true;
      return;
    }
    if (auto frame = pytest_frame(line)) {
      is_below_frame_ = true;
      // Of the first and of the last call pytest shows the function's text in the place of its name.
      if (frame->back() != ')' && !shown_.empty()) *frame += " (" + shown_ + ")";
      shown_.clear();
      frames_.push_back(std::move(*frame));
      return;
    }
    if (auto name = shown_function(line)) {
      if (shown_.empty()) shown_ = std::move(*name);  // functions within it come later
      return;
    }
    if (line.starts_with("E   ")) {
      auto head = with_source(head_of(line.substr(4), false));
      const std::string_view said = trimmed(line.substr(4));
      if (said.starts_with("assert ") && !current_) {
        current_ = Raised{"AssertionError", std::string(said), {}, Link::kLast};
      } else if (head && !current_) {
        current_ = std::move(head);
      }
      return;
    }
    if (!in_traceback_ || line.empty() || line[0] == ' ') return;
    if (auto head = with_source(head_of(line, true))) {
      current_ = std::move(head);
      in_traceback_ = false;
    }
  }
  std::vector<Raised> end() {
    finish(Link::kLast);
    std::reverse(done_.begin(), done_.end());
    return std::move(done_);
  }

 private:
  // The line of the innermost frame so far: below the frame, or in pytest's text of the function.
  bool shows_source(std::string_view line) const {
    return line.starts_with(">  ") || (is_below_frame_ && line.starts_with("    "));
  }
  // An assertion in a module that pytest does not rewrite, as an imported helper is, says nothing of what it compared.
  std::optional<Raised> with_source(std::optional<Raised> head) const {
    if (head && head->message.empty() && is_assertion_type(head->type)) head->message = source_;
    return head;
  }
  // `link`: how the exception that ends here relates to the next one.
  void finish(Link link) {
    if (current_) {
      current_->frames = std::move(frames_);
      std::reverse(current_->frames.begin(), current_->frames.end());
      current_->link = link;
      done_.push_back(std::move(*current_));
    }
    current_.reset();
    frames_.clear();
    source_.clear();
    in_traceback_ = is_below_frame_ = false;
  }
  std::optional<Raised> current_;
  std::vector<std::string> frames_;
  std::string shown_;   // the function of which pytest shows the text
  std::string source_;  // "assert count == 1"
  std::vector<Raised> done_;
  bool in_traceback_ = false, is_below_frame_ = false;
};

// Node's and jest's assertions say below their first line what was compared.
bool continues(std::string_view message, std::string_view line) {
  constexpr size_t kLongest = 300;
  if (line.empty() || message.size() + line.size() > kLongest) return false;
  return message.ends_with(':') || (message.starts_with("expect(") &&
                                    (line.starts_with("Expected") || line.starts_with("Received")));
}

// Node and the JVM: a head, its frames, then what caused it.
std::vector<Raised> read_at(const std::vector<std::string_view>& lines) {
  std::vector<Raised> out;
  std::optional<Raised> head;
  std::string_view before;
  for (std::string_view line : lines) {
    if (auto frame = at_frame(line)) {
      // What stands right above the frames is an exception, whatever its name: "SlowDown: Please reduce your rate."
      if (!head && out.empty()) head = head_of(before, true);
      if (head) {
        out.push_back(std::move(*head));
        head.reset();
      }
      if (!out.empty()) out.back().frames.push_back(std::move(*frame));
      continue;
    }
    before = line;
    const std::string_view said = trimmed(line);
    const bool cause = said.starts_with("Caused by: ") || said.starts_with("[cause]: ");
    if (!out.empty() && !cause) continue;
    if (head && continues(head->message, said)) {
      head->message += " " + std::string(said);
      continue;
    }
    auto next = head_of(said.starts_with("[cause]: ") ? said.substr(9) : said, false);
    if (!next) continue;
    next->link = cause ? Link::kCause : Link::kLast;
    if (!head || cause) head = std::move(next);
  }
  if (head) out.push_back(std::move(*head));
  return out;
}

// `cause: 'SomeError: text\n    at f (...)'`, as Node's inspect quotes a text: what stands between the quotes.
std::string unquoted(std::string_view text) {
  const char quote = text[0];
  std::string out;
  for (size_t i = 1; i < text.size() && text[i] != quote; ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
    } else {
      const char c = text[++i];
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return out;
}

// Node's own runner wraps what a test has thrown: `[Error [ERR_TEST_FAILURE]: text] { ..., cause: TypeError: text`.
// nullopt: the text is none of its.
std::optional<std::string> thrown_in_node_test(std::string_view text) {
  constexpr std::string_view kCause = "cause: ";
  const size_t wrapper = text.find("[ERR_TEST_FAILURE]");
  if (wrapper == text.npos) return std::nullopt;
  const size_t at = text.find(kCause, wrapper);
  if (at == text.npos) return std::nullopt;
  const std::string_view thrown = text.substr(at + kCause.size());
  if (!thrown.empty() && std::string_view("'\"`").find(thrown[0]) != std::string_view::npos)
    return unquoted(thrown);
  return std::string(thrown);
}

}  // namespace

std::string_view short_type(std::string_view type) {
  const size_t dot = type.find_last_of(".$");
  return dot == type.npos ? type : type.substr(dot + 1);
}

bool is_assertion_type(std::string_view type) {
  const std::string_view name = short_type(type);
  return std::find(std::begin(kAssertions), std::end(kAssertions), name) != std::end(kAssertions);
}

Failure read_failure(std::string_view text) {
  if (const auto thrown = thrown_in_node_test(text)) return read_failure(*thrown);
  Failure out;
  out.text = text;
  std::vector<std::string_view> lines;
  bool python = false, at = false, gtest = false;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    lines.push_back(line);
    python = python || line.starts_with("Traceback (most recent") || line.starts_with("E   ");
    at = at || at_frame(line).has_value();
    gtest = gtest || line.find(": Failure") != line.npos || line.starts_with("Expected equality") ||
            line.starts_with("Expected: ") || line.starts_with("Value of: ");
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  // GoogleTest: `C++ exception with description "no stock" thrown in the test body.`
  constexpr std::string_view kCpp = "C++ exception with description \"";
  if (const size_t said_at = text.find(kCpp); said_at != text.npos && !python) {
    const std::string_view said = text.substr(said_at + kCpp.size());
    out.chain.push_back({"std::exception",
                         std::string(said.substr(0, said.rfind("\" thrown in"))),
                         {},
                         Link::kLast});
    return out;
  }
  if (python) {
    PythonReader reader;
    for (const std::string_view line : lines) reader.line(line);
    out.chain = reader.end();
  } else {
    out.chain = read_at(lines);
  }
  // Jest's assertions are of type Error, and say what was expected.
  const bool jest = text.find("expect(") != text.npos && text.find("Expected") != text.npos;
  out.assertion = out.chain.empty() ? gtest || jest
                                    : is_assertion_type(out.chain.front().type) ||
                                          (jest && out.chain.front().type == "Error");
  return out;
}

std::string assertion_key(const Failure& failure) {
  const Raised* raised = failure.chain.empty() ? nullptr : &failure.chain.front();
  std::string said = raised != nullptr && !raised->message.empty()
                         ? raised->message
                         : failure.text.substr(0, failure.text.find("\n\n"));
  if (raised != nullptr && !raised->frames.empty()) said += " at " + raised->frames.front();
  std::string out;
  for (size_t i = 0; i < said.size();) {
    const bool hex = said.compare(i, 2, "0x") == 0;
    size_t end = hex ? i + 2 : i;
    const auto digit = [&](char c) {
      return (c >= '0' && c <= '9') || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
    };
    while (end < said.size() && digit(said[end])) ++end;
    // Short numbers are what was expected and what came; long ones are ports, times and addresses.
    constexpr size_t kLong = 4;
    if (hex || end - i >= kLong) {
      out += '#';
      i = end;
    } else {
      const size_t next = std::max(end, i + 1);
      out.append(said, i, next - i);
      i = next;
    }
  }
  return out;
}

}  // namespace filibuster::suite
