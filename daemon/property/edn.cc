#include "daemon/property/edn.h"

#include <algorithm>
#include <charconv>

#include "daemon/property/history.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;
using Value = std::optional<Json>;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == '\f';
}
bool ends_word(char c) {
  return is_blank(c) || c == '(' || c == ')' || c == '[' || c == ']' || c == '{' || c == '}' ||
         c == '"' || c == ';';
}

class Reader {
 public:
  explicit Reader(std::string_view* text) : text_(*text) {}

  Result<Value> value(int depth) {
    if (depth > kDeepestValue)
      return Error{"collections that are " + std::to_string(kDeepestValue) + " deep"};
    while (true) {
      skip_blanks();
      if (text_.empty()) return Value();
      if (!text_.starts_with("#_")) break;
      text_.remove_prefix(2);  // what follows is left out
      auto left_out = value(depth + 1);
      if (!left_out) return left_out.error();
      if (!left_out.value()) return Error{"a value behind #_"};
    }
    switch (text_.front()) {
      case '(':
        return sequence(1, ')', depth);
      case '[':
        return sequence(1, ']', depth);
      case '{':
        return map(depth);
      case '"':
        return string();
      case ')':
      case ']':
      case '}':
        return Error{std::string("a value, and not '") + text_.front() + "'"};
      case '#':
        if (text_.starts_with("#{")) return sequence(2, '}', depth);
        if (text_.starts_with("##")) return word();  // ##Inf, ##NaN
        return tagged(depth);
      default:
        return word();
    }
  }

 private:
  void skip_blanks() { skip_edn_blanks(&text_); }

  // Calls `add` for each value up to `end`.
  template <typename Add>
  Result<void> each(size_t opening, char end, int depth, Add add) {
    text_.remove_prefix(opening);
    while (true) {
      skip_blanks();
      if (text_.empty()) return Error{std::string("'") + end + "' at the end of a collection"};
      if (text_.front() == end) {
        text_.remove_prefix(1);
        return {};
      }
      // "#_" may stand last.
      if (text_.starts_with("#_")) {
        text_.remove_prefix(2);
        auto left_out = value(depth + 1);
        if (!left_out) return left_out.error();
        continue;
      }
      auto item = value(depth + 1);
      if (!item) return item.error();
      if (!item.value()) return Error{std::string("'") + end + "' at the end of a collection"};
      add(std::move(*item.value()));
    }
  }

  Result<Value> sequence(size_t opening, char end, int depth) {
    Json out = Json::array();
    auto read = each(opening, end, depth, [&](Json item) { out.push_back(std::move(item)); });
    if (!read) return read.error();
    return Value(std::move(out));
  }

  Result<Value> map(int depth) {
    Json out = Json::object();
    Value key;
    auto read = each(1, '}', depth, [&](Json item) {
      if (!key) {
        key = std::move(item);
        return;
      }
      out[key->is_string() ? key->get<std::string>() : json_text(*key)] = std::move(item);
      key.reset();
    });
    if (!read) return read.error();
    if (key) return Error{"a value for each key of a map"};
    return Value(std::move(out));
  }

  Result<Value> tagged(int depth) {
    while (!text_.empty() && !ends_word(text_.front())) text_.remove_prefix(1);
    auto out = value(depth + 1);
    if (out && !out.value()) return Error{"a value behind a tag"};
    return out;
  }

  Result<Value> string() {
    std::string out;
    text_.remove_prefix(1);
    while (!text_.empty() && text_.front() != '"') {
      char c = text_.front();
      text_.remove_prefix(1);
      if (c != '\\') {
        out += c;
        continue;
      }
      if (text_.empty()) break;
      c = text_.front();
      text_.remove_prefix(1);
      if (c == 'u') {
        if (auto added = add_code(&out); !added) return added.error();
        continue;
      }
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
    if (text_.empty()) return Error{"'\"' at the end of a text"};
    text_.remove_prefix(1);
    return Value(std::move(out));
  }
  // What stands behind \u; a character beyond U+FFFF is a pair of these.
  Result<void> add_code(std::string* out) {
    const std::optional<unsigned> code = four_digits();
    if (!code) return Error{"four digits behind \\u"};
    if (*code < 0xd800 || *code > 0xdfff) {
      append_utf8(*code, out);
      return {};
    }
    const bool is_first = *code < 0xdc00 && text_.starts_with("\\u");
    if (is_first) text_.remove_prefix(2);
    const std::optional<unsigned> second = is_first ? four_digits() : std::nullopt;
    if (!second || *second < 0xdc00 || *second > 0xdfff)
      return Error{"both halves of a character that is written as two \\u"};
    append_utf8(0x10000 + ((*code & 0x3ff) << 10) + (*second & 0x3ff), out);
    return {};
  }
  std::optional<unsigned> four_digits() {
    unsigned code = 0;
    const size_t size = std::min<size_t>(text_.size(), 4);
    const auto [rest, failed] = std::from_chars(text_.data(), text_.data() + size, code, 16);
    if (failed != std::errc() || rest != text_.data() + 4) return std::nullopt;
    text_.remove_prefix(4);
    return code;
  }
  static void append_utf8(unsigned code, std::string* out) {
    if (code < 0x80) {
      *out += static_cast<char>(code);
    } else if (code < 0x800) {
      *out += static_cast<char>(0xc0 | code >> 6);
      *out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      if (code < 0x10000) {
        *out += static_cast<char>(0xe0 | code >> 12);
      } else {
        *out += static_cast<char>(0xf0 | code >> 18);
        *out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
      }
      *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      *out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  Result<Value> word() {
    size_t size = 0;
    while (size < text_.size() && !ends_word(text_[size])) ++size;
    const std::string_view word = text_.substr(0, size);
    text_.remove_prefix(size);
    if (word == "nil") return Value(Json());
    if (word == "true" || word == "false") return Value(Json(word == "true"));
    if (word.starts_with(':')) return Value(Json(std::string(word.substr(1))));
    if (word.starts_with('\\')) return Value(Json(std::string(word.substr(1))));
    return Value(number(word).value_or(Json(std::string(word))));
  }

  // nullopt: it is a symbol.
  static Value number(std::string_view word) {
    std::string_view digits = word;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    if (digits.ends_with('N') || digits.ends_with('M')) digits.remove_suffix(1);
    const char* const end = digits.data() + digits.size();
    int64_t whole = 0;
    if (const auto [rest, failed] = std::from_chars(digits.data(), end, whole);
        failed == std::errc() && rest == end)
      return Json(whole);
    double real = 0;
    const bool has_digit = digits.find_first_of("0123456789") != std::string_view::npos;
    if (const auto [rest, failed] = std::from_chars(digits.data(), end, real);
        has_digit && failed == std::errc() && rest == end)
      return Json(real);
    const size_t slash = digits.find('/');
    int64_t above = 0, below = 0;
    if (slash == std::string_view::npos ||
        std::from_chars(digits.data(), digits.data() + slash, above).ptr != digits.data() + slash ||
        std::from_chars(digits.data() + slash + 1, end, below).ptr != end || below == 0)
      return std::nullopt;
    return Json(static_cast<double>(above) / static_cast<double>(below));
  }

  std::string_view& text_;
};

}  // namespace

Result<Value> read_edn(std::string_view* text) {
  return Reader(text).value(0);
}

void skip_edn_blanks(std::string_view* text) {
  while (!text->empty()) {
    if (is_blank(text->front())) {
      text->remove_prefix(1);
    } else if (text->front() == ';') {
      text->remove_prefix(std::min(text->find('\n'), text->size()));
    } else {
      return;
    }
  }
}

}  // namespace filibuster::property
