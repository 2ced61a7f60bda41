#include "cli/wrap.h"

#include <algorithm>

namespace filibuster::cli {
namespace {

// How lines begin that a person copies (daemon/report/).
constexpr std::string_view kCopied[] = {
    "run it again: ",       "to go on: ",  "to accept one for a while: ",
    "\"nondeterminism\": ", "\"hooks\": ", "\"restart\": "};
constexpr size_t kTab = 8;           // columns
constexpr size_t kLongestName = 16;  // of what stands in a column of its own before its text

std::string without_tabs(std::string_view line) {
  std::string out;
  for (const char c : line) {
    if (c != '\t') out += c;
    if (c == '\t') out.append(kTab - columns_of(out) % kTab, ' ');
  }
  return out;
}

// What the second line begins with: the place of the text of "  call site     users.py:31 (get)", the bar before a line of a test's
// output, else two more blanks than the line has.
std::string hanging(std::string_view line, size_t columns) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::string out(indent, ' ');
  const std::string_view rest = line.substr(indent);
  if (rest.starts_with("| ")) {
    const size_t own = std::min(rest.find_first_not_of(' ', 1), rest.size()) - 1;
    return out + "|" + std::string(2 * (indent + own) > columns ? 1 : own, ' ') + "  ";
  }
  out += "  ";
  const size_t gap = rest.find("  ");
  if (gap > kLongestName || rest.substr(0, gap).find("->") != rest.npos) return out;
  const size_t text = rest.find_first_not_of(' ', gap);
  if (text == rest.npos || 2 * (indent + text) > columns) return out;
  return std::string(indent + text, ' ');
}

// "==========", which stands for no word.
bool is_rule(std::string_view word) {
  constexpr size_t kShortest = 4;
  return word.size() >= kShortest && std::string_view("=-_*#~").find(word[0]) != word.npos &&
         word.find_first_not_of(word[0]) == word.npos;
}

std::string wrapped_line(std::string_view given, size_t columns) {
  const std::string line = without_tabs(given);
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const bool copied =
      std::any_of(std::begin(kCopied), std::end(kCopied), [&](std::string_view begin) {
        return std::string_view(line).substr(indent).starts_with(begin);
      });
  if (columns_of(line) <= columns || copied) return std::string(given);
  const std::string hang = hanging(line, columns);
  std::string out, current(indent, ' ');
  bool has_word = false;
  for (size_t at = indent; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    const size_t next = std::min(line.find_first_not_of(' ', end), line.size());
    std::string word = line.substr(at, end - at);
    const size_t room = columns - std::min(columns, columns_of(current));
    if (is_rule(word) && room > 0) word.resize(std::min(word.size(), room));
    if (has_word && columns_of(current) + columns_of(word) > columns) {
      out += current.substr(0, current.find_last_not_of(' ') + 1) + "\n";
      current = hang;
    }
    current += word + line.substr(end, next - end);
    has_word = true;
    at = next;
  }
  return out + current.substr(0, current.find_last_not_of(' ') + 1);
}

}  // namespace

size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string wrapped(std::string_view text, size_t columns) {
  if (columns == 0) return std::string(text);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += wrapped_line(text.substr(at, end - at), columns);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

std::string first_words(std::string_view line, size_t columns) {
  if (columns_of(line) <= columns) return std::string(line);
  size_t fits = 0;
  for (size_t blank = line.find(' '); blank != line.npos; blank = line.find(' ', blank + 1))
    if (columns_of(line.substr(0, blank)) <= columns) fits = blank;
  return std::string(line.substr(0, fits));
}

}  // namespace filibuster::cli
