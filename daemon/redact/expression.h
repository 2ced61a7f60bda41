// Regular expressions of rules (RE2's syntax), whose matches are found in linear time, whatever the expression and the text are. The longest
// match counts. What needs to look back (references, lookarounds) is no part of it, and refused.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace re2 {
class RE2;
}

namespace filibuster {

class Expression {
 public:
  struct Wrong {
    size_t at = 0;  // in the text of the expression
    std::string message;
  };
  static std::variant<Expression, Wrong> compile(std::string_view text);

  // No match is longer.
  static constexpr size_t kMostMatch = 4096;
  // The end of the longest match that begins at `at` and ends at `limit` or before it. nullopt: there is none.
  std::optional<size_t> end(std::string_view text, size_t at, size_t limit) const;
  // Before this place, which is beyond `at` or is it, no match begins that begins at `at` or behind it.
  size_t next(std::string_view text, size_t at) const;
  bool fits(std::string_view text) const;  // the whole of it

 private:
  explicit Expression(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace filibuster
