#include "cli/init/variables.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace filibuster::init {
namespace {

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

size_t end_of_name(std::string_view text, size_t at) {
  if (at == text.size() || !begins_name(text[at])) return at;
  while (at < text.size() && is_in_name(text[at])) ++at;
  return at;
}

// The place of the brace that closes the one before `at`; npos: there is none.
size_t closing_brace(std::string_view text, size_t at) {
  for (int open = 1; at < text.size(); ++at) {
    if (text[at] == '{' && text[at - 1] == '$') ++open;
    if (text[at] == '}' && --open == 0) return at;
  }
  return text.npos;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// What stands between double quotes: \n, \" and \\ are one character each; a `\$` is left to stand
// for `$`.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char next = text[++i];
    if (next == '$') {
      out += "$$";
    } else if (next == 'n' || next == 'r' || next == 't') {
      out += next == 'n' ? '\n' : next == 'r' ? '\r' : '\t';
    } else {
      out += next;
    }
  }
  return out;
}

// The end of a text between quotes that may go over lines: the quote that closes it, or npos.
size_t closing_quote(std::string_view text, char quote) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i;
    }
  }
  return text.npos;
}

// An unquoted value ends before " # a comment".
std::string_view without_remark(std::string_view line) {
  if (line.starts_with('#')) return {};
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '#' && (line[i - 1] == ' ' || line[i - 1] == '\t'))
      return trimmed(line.substr(0, i));
  }
  return trimmed(line);
}

}  // namespace

std::string Interpolator::replaced(std::string_view text, int depth) {
  if (depth > kDeepest || too_long()) return std::string(text);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const char next = text[i] == '$' && i + 1 < text.size() ? text[i + 1] : '\0';
    const size_t name = end_of_name(text, i + 1);
    if (next == '$') {
      out += '$';
      i += 2;
    } else if (next == '{') {
      const size_t close = closing_brace(text, i + 2);
      const std::string_view inside =
          close == text.npos ? std::string_view() : text.substr(i + 2, close - i - 2);
      const bool whole = end_of_name(inside, 0) > 0;
      out += whole ? braced(inside, depth) : std::string(text.substr(i, 2));
      i = whole ? close + 1 : i + 2;
    } else if (next != '\0' && name > i + 1) {
      out += braced(text.substr(i + 1, name - i - 1), depth);
      i = name;
    } else {
      out += text[i++];
    }
  }
  written_ += out.size();
  return out;
}

// "NAME", "NAME:-otherwise", ...
std::string Interpolator::braced(std::string_view inside, int depth) {
  const size_t end = end_of_name(inside, 0);
  const std::string name(inside.substr(0, end));
  std::string_view rest = inside.substr(end);
  const bool empty_is_unset = rest.starts_with(':');
  if (empty_is_unset) rest.remove_prefix(1);
  const char how = rest.empty() ? '\0' : rest[0];
  if (!rest.empty()) rest.remove_prefix(1);
  const std::optional<std::string> value = variable_(name);
  const bool set = value && !(empty_is_unset && value->empty());
  if (how == '+') return set ? replaced(rest, depth + 1) : "";
  if (set) {
    written_ += value->size();
    return too_long() ? "" : *value;
  }
  if (how == '-') return replaced(rest, depth + 1);
  if (how == '?') {
    required_.emplace(name, rest);
  } else if (!value) {
    unset_.insert(name);
  }
  return value.value_or("");
}

void add_variables(std::string_view text, const ReadVariable& variable,
                   std::map<std::string, std::string>* out) {
  Interpolator values([&](const std::string& name) -> std::optional<std::string> {
    if (auto value = variable(name)) return value;
    const auto found = out->find(name);
    return found == out->end() ? std::nullopt : std::optional(found->second);
  });
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    if (line.starts_with("export ")) line = trimmed(line.substr(7));
    const size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == line.npos) {
      text.remove_prefix(std::min(end + 1, text.size()));
      continue;
    }
    const std::string name(trimmed(line.substr(0, equals)));
    const size_t value_at = text.find('=') + 1;  // of this line: it has one
    const size_t first = std::min(text.find_first_not_of(" \t", value_at), text.size());
    const std::string_view rest = text.substr(first);
    const char quote = rest.empty() ? '\0' : rest[0];
    const size_t close =
        quote == '"' || quote == '\'' ? closing_quote(rest, quote) : std::string_view::npos;
    if (close != rest.npos) {
      const std::string_view inside = rest.substr(1, close - 1);
      (*out)[name] = quote == '"' ? values(unescaped(inside)) : std::string(inside);
      text = rest.substr(close);
      text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    } else {
      (*out)[name] = values(without_remark(trimmed(line.substr(equals + 1))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (values.too_long()) return;
  }
}

}  // namespace filibuster::init
