#include "daemon/redact/expression.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

namespace filibuster {
namespace {

using re2::RE2;
using re2::StringPiece;

// To find the place of a bracket it is compiled in parts, of which there are as many as it has bytes.
constexpr size_t kMostParts = 1000;

StringPiece piece_of(std::string_view text) {
  return {text.data(), text.size()};
}

std::shared_ptr<const RE2> compiled_of(std::string_view text) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_longest_match(true);
  return std::make_shared<const RE2>(piece_of(text), options);
}

// The ')' without '(': the first end of a beginning that has one.
size_t closing_place(std::string_view text) {
  for (size_t size = 1; size <= std::min(text.size(), kMostParts); ++size) {
    if (compiled_of(text.substr(0, size))->error_code() == RE2::ErrorUnexpectedParen)
      return size - 1;
  }
  return 0;
}

// The '(' without ')': the last beginning of an end that lacks one.
size_t opening_place(std::string_view text) {
  if (text.size() > kMostParts) return 0;
  for (size_t at = text.size(); at-- > 0;) {
    const bool is_escaped = at > 0 && text[at - 1] == '\\';
    if (text[at] == '(' && !is_escaped &&
        compiled_of(text.substr(at))->error_code() == RE2::ErrorMissingParen)
      return at;
  }
  return 0;
}

Expression::Wrong wrong_of(const RE2& compiled, std::string_view text) {
  const std::string& part = compiled.error_arg();
  const size_t found = part.empty() ? text.npos : text.find(part);
  const size_t at = found == text.npos ? 0 : found;
  switch (compiled.error_code()) {
    case RE2::ErrorUnexpectedParen:
      return {closing_place(text), "')' without '('"};
    case RE2::ErrorMissingParen:
      return {opening_place(text), "'(' without ')'"};
    case RE2::ErrorMissingBracket:
      // It is open to the end.
      return {text.size() - std::min(part.size(), text.size()), "'[' without ']'"};
    case RE2::ErrorTrailingBackslash:
      return {text.size() - 1, "a '\\' at the end"};
    case RE2::ErrorBadEscape:
      return {at, "'" + part + "' is not known"};
    case RE2::ErrorBadCharClass:
      return {at, "'" + part + "' is no class of letters"};
    case RE2::ErrorBadCharRange:
      return {at, "expected a range such as a-z"};
    case RE2::ErrorRepeatArgument:
      return {at, "'" + part + "' repeats nothing; the letter itself is \\" + part};
    case RE2::ErrorRepeatSize:
      return {at, "expected a repetition such as {8}, {2,} or {2,5}, of at most 1000 times"};
    case RE2::ErrorRepeatOp:
      return {at, "one repetition behind another: the longest match counts in any case"};
    case RE2::ErrorBadPerlOp:
      return {at, "groups that look around are not known"};
    case RE2::ErrorBadNamedCapture:
      return {at, "'" + part + "' is no name of a group"};
    case RE2::ErrorBadUTF8:
      return {at, "the pattern is no UTF-8"};
    case RE2::ErrorPatternTooLarge:
      return {0, "the pattern is too large: it repeats too much"};
    default:
      return {at, "the pattern cannot be read: " + compiled.error()};
  }
}

}  // namespace

std::variant<Expression, Expression::Wrong> Expression::compile(std::string_view text) {
  if (text.empty()) return Wrong{0, "the pattern is empty"};
  auto compiled = compiled_of(text);
  if (!compiled->ok()) return wrong_of(*compiled, text);
  Expression out(std::move(compiled));
  if (out.fits("")) return Wrong{0, "the pattern matches the empty text"};
  return out;
}

std::optional<size_t> Expression::end(std::string_view text, size_t at, size_t limit) const {
  limit = std::min({limit, text.size(), at + kMostMatch});
  StringPiece match;
  if (at >= limit || !compiled_->Match(piece_of(text), at, limit, RE2::ANCHOR_START, &match, 1) ||
      match.empty())
    return std::nullopt;
  return at + match.size();
}

// One that begins within the first half of what is looked at ends in it.
size_t Expression::next(std::string_view text, size_t at) const {
  if (at >= text.size()) return text.size();
  const size_t limit = std::min(text.size(), at + 2 * kMostMatch);
  StringPiece match;
  const size_t found = compiled_->Match(piece_of(text), at, limit, RE2::UNANCHORED, &match, 1)
                           ? static_cast<size_t>(match.data() - text.data())
                           : limit;
  return limit == text.size() ? found : std::min(found, at + kMostMatch);
}

bool Expression::fits(std::string_view text) const {
  StringPiece match;
  return compiled_->Match(piece_of(text), 0, text.size(), RE2::ANCHOR_BOTH, &match, 1);
}

}  // namespace filibuster
