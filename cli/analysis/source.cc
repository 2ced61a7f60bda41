#include "cli/analysis/source.h"

#include <algorithm>
#include <array>
#include <set>

namespace filibuster::analysis {
namespace {

template <size_t n>
bool one_of(const Token& token, const std::array<std::string_view, n>& words) {
  return token.word() && std::find(words.begin(), words.end(), token.text) != words.end();
}

// Python: a definition ends before the next line that is indented no further.
class PythonDefinitions {
 public:
  explicit PythonDefinitions(const Source& source) : source_(source) {}

  std::vector<Definition> run() {
    uint32_t decorators = kNone;
    const auto count = static_cast<uint32_t>(source_.tokens.size());
    for (uint32_t i = 0; i < count; ++i) {
      const Token& token = source_.tokens[i];
      if (!token.first_in_line || in_brackets(i)) continue;
      if (token.is("@")) {
        if (decorators == kNone) decorators = i;
        continue;
      }
      const uint32_t keyword = token.is("async") ? i + 1 : i;
      const bool is_class = source_.is(keyword, "class");
      if ((is_class || source_.is(keyword, "def")) && source_.token(keyword + 1).word())
        add(i, keyword, is_class, decorators == kNone ? i : decorators);
      decorators = kNone;
    }
    return std::move(out_);
  }

 private:
  static constexpr uint32_t kNone = ~0u;

  // The indentation of a line inside brackets means nothing. `at` grows from call to call.
  bool in_brackets(uint32_t at) {
    for (; looked_ < at; ++looked_) {
      const uint32_t other = source_.partner[looked_];
      if (other < source_.tokens.size() && other > looked_)
        open_until_ = std::max(open_until_, other);
    }
    return at <= open_until_ && open_until_ != 0;
  }

  void add(uint32_t line_begin, uint32_t keyword, bool is_class, uint32_t begin) {
    Definition out;
    out.name = source_.tokens[keyword + 1].text;
    out.is_class = is_class;
    out.begin = begin;
    out.decorated = begin != line_begin;
    const uint32_t column = source_.tokens[line_begin].column;
    uint32_t at = keyword + 2;
    const auto count = static_cast<uint32_t>(source_.tokens.size());
    if (source_.is(at, "(") && source_.partner[at] < count) {
      out.parameters = at + 1;
      out.parameters_end = source_.partner[at];
      at = source_.partner[at] + 1;
    }
    while (at < count && !source_.tokens[at].is(":") && !source_.tokens[at].first_in_line) ++at;
    out.body = std::min(at + 1, count);
    out.end = end_of(out.body, column);
    out_.push_back(out);
  }

  uint32_t end_of(uint32_t from, uint32_t column) const {
    const auto count = static_cast<uint32_t>(source_.tokens.size());
    for (uint32_t i = from; i < count; ++i) {
      const uint32_t other = source_.partner[i];
      if (other < count && other > i) {  // skip what is in brackets
        i = other;
        continue;
      }
      if (source_.tokens[i].first_in_line && source_.tokens[i].column <= column) return i;
    }
    return count;
  }

  const Source& source_;
  std::vector<Definition> out_;
  uint32_t looked_ = 0, open_until_ = 0;
};

// Languages with braces: NAME ( ... ) ... {, NAME = ( ... ) => ..., class NAME ... {.
class BraceDefinitions {
 public:
  explicit BraceDefinitions(const Source& source)
      : source_(source), count_(static_cast<uint32_t>(source.tokens.size())) {}

  std::vector<Definition> run() {
    for (uint32_t i = 0; i < count_; ++i) {
      const Token& token = source_.tokens[i];
      if (!token.word()) continue;
      constexpr std::array<std::string_view, 5> kClasses = {"class", "struct", "interface",
                                                            "record", "object"};
      if (one_of(token, kClasses) && source_.token(i + 1).word()) {
        add_class(i);
      } else if (source_.is(i + 1, "(")) {
        add_function(i);
      } else if (source_.is(i + 1, "=")) {
        add_arrow(i);
      }
    }
    std::stable_sort(out_.begin(), out_.end(),
                     [](const Definition& a, const Definition& b) { return a.begin < b.begin; });
    return std::move(out_);
  }

 private:
  bool closed(uint32_t open) const {
    return source_.partner[open] < count_ && source_.partner[open] > open;
  }

  // The token where a definition begins, with the annotations and words before it: @Get("/x") public.
  uint32_t with_annotations(uint32_t at, bool* any) const {
    uint32_t begin = at;
    for (uint32_t i = at; i > 0 && at - i < 64; --i) {
      const Token& token = source_.tokens[i - 1];
      if (token.is(")") && source_.partner[i - 1] < i) {
        i = source_.partner[i - 1] + 1;
        continue;
      }
      if (token.is(";") || token.is("{") || token.is("}")) break;
      if (token.is("@")) {
        begin = i - 1;
        *any = true;
      }
    }
    return begin;
  }

  void add_class(uint32_t keyword) {
    Definition out;
    out.name = source_.tokens[keyword + 1].text;
    out.is_class = true;
    uint32_t at = keyword + 2;
    if (source_.is(keyword, "record") && source_.is(at, "(") && closed(at)) {
      out.parameters = at + 1;
      out.parameters_end = source_.partner[at];
    }
    constexpr uint32_t kMaxHead = 64;  // tokens
    const uint32_t most = std::min(count_, keyword + kMaxHead);
    while (at < most && !source_.tokens[at].is("{") && !source_.tokens[at].is(";")) {
      at = source_.is(at, "(") && closed(at) ? source_.partner[at] + 1 : at + 1;
    }
    if (at >= most || !source_.tokens[at].is("{")) return;
    out.begin = with_annotations(keyword, &out.decorated);
    out.body = at + 1;
    out.end = closed(at) ? source_.partner[at] + 1 : count_;
    out_.push_back(out);
  }

  void add_function(uint32_t name) {
    constexpr std::array<std::string_view, 15> kControl = {
        "if",   "for",   "while", "switch", "catch",        "return", "sizeof", "function",
        "func", "await", "super", "throw",  "synchronized", "with",   "typeof"};
    if (one_of(source_.tokens[name], kControl) || !closed(name + 1)) return;
    if (name > 0 && (source_.is(name - 1, "new") || source_.is(name - 1, ".") ||
                     source_.is(name - 1, "return") || source_.is(name - 1, "=") ||
                     source_.is(name - 1, "@") || source_.is(name - 1, "record")))
      return;
    Definition out;
    out.name = source_.tokens[name].text;
    out.parameters = name + 2;
    out.parameters_end = source_.partner[name + 1];
    const uint32_t open = brace_after(out.parameters_end + 1);
    if (open == count_) return;
    out.begin = with_annotations(name, &out.decorated);
    out.body = open + 1;
    out.end = closed(open) ? source_.partner[open] + 1 : count_;
    out_.push_back(out);
  }

  // The brace that opens a body: qualifiers, results and constructor initializers may precede it.
  uint32_t brace_after(uint32_t at) const {
    constexpr uint32_t kMaxBetween = 64;  // tokens
    const uint32_t most = std::min(count_, at + kMaxBetween);
    bool initializers = false;
    while (at < most) {
      const Token& token = source_.tokens[at];
      if (token.is("{")) {
        // C++: in "a(b), c{d} {" the last brace opens the body.
        if (!initializers || !closed(at)) return at;
        const uint32_t behind = source_.partner[at] + 1;
        if (!source_.is(behind, ",") && !source_.is(behind, "{")) return at;
        at = behind;
        continue;
      }
      if (token.is(":")) initializers = source_.language == Language::kCpp;
      const bool between = token.word() || token.is("::") || token.is("->") || token.is(":") ||
                           token.is("<") || token.is(">") || token.is("*") || token.is("&") ||
                           token.is(".") || token.is("[") || token.is("]") || token.is("|") ||
                           (token.is(",") && (initializers || source_.language == Language::kJava));
      if (token.is("(") && closed(at) &&
          (initializers || source_.language == Language::kGo || source_.is(at - 1, "noexcept"))) {
        at = source_.partner[at] + 1;
        continue;
      }
      if (!between) return count_;
      ++at;
    }
    return count_;
  }

  // NAME = ( ... ) => ..., NAME = async x => ..., NAME = function ( ... ) {
  void add_arrow(uint32_t name) {
    if (source_.language != Language::kJavaScript) return;
    uint32_t at = name + 2;
    if (source_.is(at, "async")) ++at;
    if (source_.is(at, "function")) ++at;
    Definition out;
    out.name = source_.tokens[name].text;
    if (source_.is(at, "(") && closed(at)) {
      out.parameters = at + 1;
      out.parameters_end = source_.partner[at];
      at = source_.partner[at] + 1;
    } else if (source_.token(at).word()) {
      out.parameters = at;
      out.parameters_end = at + 1;
      ++at;
    } else {
      return;
    }
    const bool function = source_.is(at, "{") && source_.is(name + 2, "function");
    if (!source_.is(at, "=>") && !function) return;
    if (!function) ++at;
    out.begin = name;
    out.body = std::min(at, count_);
    if (source_.is(at, "{") && closed(at)) {
      out.end = source_.partner[at] + 1;
    } else {  // an expression: to the end of its statement
      while (at < count_ && !source_.tokens[at].is(";") && !source_.tokens[at].is(")") &&
             !source_.tokens[at].is("}")) {
        at = closed(at) ? source_.partner[at] + 1 : at + 1;
      }
      out.end = std::min(at, count_);
    }
    out_.push_back(out);
  }

  const Source& source_;
  uint32_t count_;
  std::vector<Definition> out_;
};

// True if the name is written like a constant's: GONE, kGone.
bool is_constant(const Token& name) {
  if (!name.word()) return false;
  const bool k =
      name.text.size() > 1 && name.text[0] == 'k' && name.text[1] >= 'A' && name.text[1] <= 'Z';
  return k || std::none_of(name.text.begin(), name.text.end(),
                           [](char c) { return c >= 'a' && c <= 'z'; });
}

// Finds GONE = 410, static final int GONE = 410; constexpr int kGone = 410; A name that also gets another
// value is left out.
void find_numbers(Source* source) {
  std::set<std::string_view> others;
  const auto count = static_cast<uint32_t>(source->tokens.size());
  for (uint32_t i = 1; i + 1 < count; ++i) {
    const Token& name = source->tokens[i - 1];
    if (!is_constant(name) || !(source->is(i, "=") || source->is(i, ":="))) continue;
    const Token& end = source->token(i + 2);
    const bool number = source->tokens[i + 1].kind == Token::Kind::kNumber &&
                        (i + 2 >= count || end.first_in_line || end.is(";"));
    if (number && source->numbers.try_emplace(name.text, i + 1).second) continue;
    others.insert(name.text);
  }
  for (const std::string_view name : others) source->numbers.erase(name);
}

}  // namespace

const Token& Source::token(size_t at) const {
  static const Token kNothing{};
  return at < tokens.size() ? tokens[at] : kNothing;
}

std::string Source::line_text(const Token& place, size_t most) const {
  const size_t at = std::min<size_t>(place.offset, text.size());
  const size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  std::string_view rest =
      std::string_view(text).substr(before == std::string::npos ? 0 : before + 1);
  rest = rest.substr(0, rest.find('\n'));
  const size_t first = rest.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  rest = rest.substr(first, rest.find_last_not_of(" \t\r") - first + 1);
  std::string out(rest.substr(0, most));
  if (rest.size() > most) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
    if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xC0) out.pop_back();
    out += " ...";
  }
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return out;
}

std::unique_ptr<const Source> read_source(std::string path, std::string text) {
  auto out = std::make_unique<Source>();
  out->language = language_of(path);
  out->path = std::move(path);
  out->text = std::move(text);
  out->tokens = tokenize(out->text, out->language);
  out->partner = match_brackets(out->tokens);
  out->definitions = out->language == Language::kPython ? PythonDefinitions(*out).run()
                                                        : BraceDefinitions(*out).run();
  find_numbers(out.get());
  uint32_t covered = 0;
  for (Definition& one : out->definitions) {
    one.outermost = one.begin >= covered;
    covered = std::max(covered, one.end);
  }
  return out;
}

std::vector<Span> elements_of(const Source& source, Span list) {
  std::vector<Span> out;
  if (list.size() == 0) return out;
  Span now{list.begin, list.begin};
  for (uint32_t i = list.begin; i < list.end; ++i) {
    const uint32_t other = source.partner[i];
    if (other < list.end && other > i) {
      i = other;
    } else if (source.tokens[i].is(",")) {
      now.end = i;
      out.push_back(now);
      now.begin = i + 1;
    }
  }
  now.end = list.end;
  out.push_back(now);
  return out;
}

std::vector<Span> arguments_of(const Source& source, uint32_t open) {
  const auto count = static_cast<uint32_t>(source.tokens.size());
  if (open >= count || source.partner[open] >= count || source.partner[open] < open) return {};
  return elements_of(source, {open + 1, source.partner[open]});
}

}  // namespace filibuster::analysis
