#include "cli/analysis/tokens.h"

#include <algorithm>
#include <array>
#include <string>

namespace filibuster::analysis {
namespace {

struct Extension {
  std::string_view end;
  Language language;
};
constexpr Extension kExtensions[] = {
    {".py", Language::kPython},      {".js", Language::kJavaScript},
    {".mjs", Language::kJavaScript}, {".cjs", Language::kJavaScript},
    {".ts", Language::kJavaScript},  {".mts", Language::kJavaScript},
    {".jsx", Language::kJavaScript}, {".tsx", Language::kJavaScript},
    {".java", Language::kJava},      {".kt", Language::kJava},
    {".go", Language::kGo},          {".cc", Language::kCpp},
    {".cpp", Language::kCpp},        {".cxx", Language::kCpp},
    {".c", Language::kCpp},          {".h", Language::kCpp},
    {".hh", Language::kCpp},         {".hpp", Language::kCpp},
};

bool is_word_start(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
         byte == '$' || byte >= 0x80;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Tokenizer {
 public:
  Tokenizer(std::string_view text, Language language) : text_(text), language_(language) {}

  std::vector<Token> run() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = line_start_ = 3;
    if (text_.substr(at_).starts_with("#!")) skip_line();
    while (at_ < text_.size()) step();
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void newline() {
    ++line_;
    line_start_ = at_;
    fresh_ = true;
  }
  // Moves to `end` and counts the lines on the way.
  void move_to(size_t end) {
    end = std::min(end, text_.size());
    while (at_ < end) {
      if (text_[at_++] == '\n') newline();
    }
  }
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  void add(Token::Kind kind, size_t begin, uint32_t line, uint32_t column, std::string_view text) {
    tokens_.push_back({kind, fresh_, static_cast<uint32_t>(begin), line, column, text});
    fresh_ = false;
  }

  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      return newline();
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
      return;
    }
    if (skip_comment()) return;
    if (language_ == Language::kPython && c == '\\' && peek(1) == '\n') {  // the line goes on
      at_ += 2;
      ++line_;
      line_start_ = at_;
      return;
    }
    const size_t prefix = string_prefix();
    if (prefix != std::string_view::npos) return string(prefix);
    if (is_word_start(c)) return word();
    if (is_digit(c)) return number();
    if (language_ == Language::kJavaScript && c == '/' && regex_may_begin()) {
      if (const size_t end = regex_end(); end != 0) {
        const size_t begin = at_;
        const uint32_t column = column_now();
        at_ = end;
        return add(Token::Kind::kString, begin, line_, column, text_.substr(begin, end - begin));
      }
    }
    punctuation();
  }

  uint32_t column_now() const { return static_cast<uint32_t>(at_ - line_start_); }

  bool skip_comment() {
    if (language_ == Language::kPython) {
      if (text_[at_] != '#') return false;
      skip_line();
      return true;
    }
    if (rest().starts_with("//")) {
      skip_line();
      return true;
    }
    if (!rest().starts_with("/*")) return false;
    const size_t end = text_.find("*/", at_ + 2);
    const bool fresh = fresh_;
    move_to(end == std::string_view::npos ? text_.size() : end + 2);
    fresh_ = fresh || fresh_;
    return true;
  }

  // Length of the prefix before the quote of a string that begins here; npos if no string begins here.
  size_t string_prefix() const {
    const auto quote = [&](size_t ahead) { return peek(ahead) == '"' || peek(ahead) == '\''; };
    if (quote(0)) return 0;
    if (text_[at_] == '`' && (language_ == Language::kJavaScript || language_ == Language::kGo))
      return 0;
    std::string_view letters;
    size_t most = 0;
    if (language_ == Language::kPython) letters = "rRbBfFuU", most = 2;
    if (language_ == Language::kCpp) letters = "RLuU8", most = 3;
    for (size_t n = 1; n <= most && letters.find(peek(n - 1)) != std::string_view::npos; ++n) {
      if (quote(n)) return n;
    }
    return std::string_view::npos;
  }

  void string(size_t prefix) {
    const size_t begin = at_;
    const uint32_t line = line_, column = column_now();
    const bool fresh = fresh_;
    const bool raw = language_ == Language::kCpp && prefix > 0 && text_[at_ + prefix - 1] == 'R';
    const size_t open = at_ + prefix;
    size_t inner = open + 1, close = 0, end = 0;
    const std::string_view three = text_.substr(open, 3);
    const bool triple =
        (three == "\"\"\"" && (language_ == Language::kPython || language_ == Language::kJava)) ||
        (three == "'''" && language_ == Language::kPython);
    if (raw && text_[open] == '"') {
      const size_t bracket = text_.find('(', open);
      constexpr size_t kMaxDelimiter = 16;  // [lex.string]
      if (bracket != std::string_view::npos && bracket - open - 1 <= kMaxDelimiter) {
        const std::string closing =
            ")" + std::string(text_.substr(open + 1, bracket - open - 1)) + "\"";
        inner = bracket + 1;
        close = std::min(text_.find(closing, inner), text_.size());
        end = std::min(close + closing.size(), text_.size());
      } else {
        end = close = line_end(open);
      }
    } else if (triple) {
      inner = open + 3;
      close = closing_quotes(inner, three);
      end = std::min(close + 3, text_.size());
    } else if (text_[open] == '`') {
      close = language_ == Language::kGo ? std::min(text_.find('`', inner), text_.size())
                                         : template_end(inner);
      end = std::min(close + 1, text_.size());
    } else {
      close = quote_end(inner, text_[open]);
      end = close < text_.size() && text_[close] == text_[open] ? close + 1 : close;
    }
    move_to(end);
    fresh_ = fresh;
    inner = std::min(inner, text_.size());
    add(Token::Kind::kString, begin, line, column,
        text_.substr(inner, std::max(inner, close) - inner));
  }

  size_t line_end(size_t from) const { return std::min(text_.find('\n', from), text_.size()); }

  size_t closing_quotes(size_t from, std::string_view three) const {
    for (size_t i = from; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_.substr(i, 3) == three) {
        return i;
      }
    }
    return text_.size();
  }

  // The closing quote, or the end of the line.
  size_t quote_end(size_t from, char quote) const {
    size_t i = from;
    while (i < text_.size() && text_[i] != quote && text_[i] != '\n') i += text_[i] == '\\' ? 2 : 1;
    return std::min(i, text_.size());
  }

  // The backtick that ends a template. Its ${...} may contain strings and templates again.
  size_t template_end(size_t from) const {
    std::vector<uint32_t> braces;    // number of open braces in each ${...} around this place
    std::vector<bool> inside{true};  // nesting: a template (true) or an expression (false)
    for (size_t i = from; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '\\') {
        ++i;
      } else if (inside.back()) {
        if (c == '`') {
          inside.pop_back();
          if (inside.empty()) return i;
        } else if (c == '$' && i + 1 < text_.size() && text_[i + 1] == '{') {
          inside.push_back(false);
          braces.push_back(0);
          ++i;
        }
      } else if (c == '`') {
        inside.push_back(true);
      } else if (c == '"' || c == '\'') {
        i = quote_end(i + 1, c);
      } else if (c == '{') {
        ++braces.back();
      } else if (c == '}') {
        if (braces.back() == 0) {
          inside.pop_back();
          braces.pop_back();
        } else {
          --braces.back();
        }
      }
    }
    return text_.size();
  }

  bool regex_may_begin() const {
    if (tokens_.empty()) return true;
    const Token& before = tokens_.back();
    if (before.word()) {
      constexpr std::array<std::string_view, 9> kBefore = {"return", "typeof", "case",  "in", "of",
                                                           "delete", "void",   "throw", "new"};
      return std::find(kBefore.begin(), kBefore.end(), before.text) != kBefore.end();
    }
    return before.kind == Token::Kind::kPunctuation && !before.is(")") && !before.is("]") &&
           !before.is("}");
  }
  // Where the regular expression that begins here ends; 0 if it is none.
  size_t regex_end() const {
    constexpr size_t kMaxRegex = 1000;  // bytes
    const size_t most = std::min(text_.size(), at_ + kMaxRegex);
    bool in_class = false;
    for (size_t i = at_ + 1; i < most && text_[i] != '\n'; ++i) {
      const char c = text_[i];
      if (c == '\\') {
        ++i;
      } else if (c == '[') {
        in_class = true;
      } else if (c == ']') {
        in_class = false;
      } else if (c == '/' && !in_class) {
        return i + 1;
      }
    }
    return 0;
  }

  void word() {
    const size_t begin = at_;
    const uint32_t column = column_now();
    while (at_ < text_.size() && (is_word_start(text_[at_]) || is_digit(text_[at_]))) ++at_;
    add(Token::Kind::kWord, begin, line_, column, text_.substr(begin, at_ - begin));
  }

  void number() {
    const size_t begin = at_;
    const uint32_t column = column_now();
    const auto separator = [&] {
      return language_ == Language::kCpp && text_[at_] == '\'' && at_ + 1 < text_.size() &&
             (is_digit(text_[at_ + 1]) || is_word_start(text_[at_ + 1]));
    };
    while (at_ < text_.size() && (is_digit(text_[at_]) || is_word_start(text_[at_]) ||
                                  (text_[at_] == '.' && is_digit(peek(1))) || separator())) {
      ++at_;
    }
    add(Token::Kind::kNumber, begin, line_, column, text_.substr(begin, at_ - begin));
  }

  void punctuation() {
    constexpr std::string_view kLong[] = {"===", "!==", "...", "<<=", ">>=", "**=", "==", "!=",
                                          "<=",  ">=",  "=>",  "::",  "->",  ":=",  "&&", "||",
                                          "??",  "+=",  "-=",  "*=",  "/=",  "|=",  "&=", "?."};
    size_t length = 1;
    for (std::string_view one : kLong) {
      if (rest().starts_with(one)) {
        length = one.size();
        break;
      }
    }
    const uint32_t column = column_now();
    add(Token::Kind::kPunctuation, at_, line_, column, text_.substr(at_, length));
    at_ += length;
  }

  std::string_view text_;
  Language language_;
  std::vector<Token> tokens_;
  size_t at_ = 0, line_start_ = 0;
  uint32_t line_ = 1;
  bool fresh_ = true;  // no token of this line yet
};

}  // namespace

Language language_of(std::string_view path) {
  if (path.ends_with(".d.ts")) return Language::kNone;  // declarations only
  for (const Extension& row : kExtensions) {
    if (path.ends_with(row.end)) return row.language;
  }
  return Language::kNone;
}

std::vector<Token> tokenize(std::string_view text, Language language) {
  return Tokenizer(text, language).run();
}

std::vector<uint32_t> match_brackets(const std::vector<Token>& tokens) {
  const auto none = static_cast<uint32_t>(tokens.size());
  std::vector<uint32_t> partner(tokens.size(), none);
  std::vector<uint32_t> open;
  constexpr std::string_view kOpening = "([{", kClosing = ")]}";
  for (uint32_t i = 0; i < none; ++i) {
    const Token& token = tokens[i];
    if (token.kind != Token::Kind::kPunctuation || token.text.size() != 1) continue;
    if (kOpening.find(token.text[0]) != std::string_view::npos) {
      open.push_back(i);
      continue;
    }
    const size_t kind = kClosing.find(token.text[0]);
    if (kind == std::string_view::npos) continue;
    // Opening brackets of another kind that were never closed are skipped and get no partner.
    constexpr size_t kMaxSkipped = 32;
    size_t up = open.size();
    while (up > 0 && open.size() - up < kMaxSkipped &&
           tokens[open[up - 1]].text[0] != kOpening[kind])
      --up;
    if (up == 0 || tokens[open[up - 1]].text[0] != kOpening[kind]) continue;
    partner[i] = open[up - 1];
    partner[open[up - 1]] = i;
    open.resize(up - 1);
  }
  return partner;
}

}  // namespace filibuster::analysis
