// Source text as tokens. Comments are left out and a string is one token, so that neither is taken for
// code. There is no grammar: a string without its closing quote (a quote in the text of JSX) ends with
// its line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace filibuster::analysis {

enum class Language : uint8_t { kNone, kPython, kJavaScript, kJava, kGo, kCpp };
// By the extension of the file. TypeScript counts as JavaScript, Kotlin as Java; kNone is any other
// language.
Language language_of(std::string_view path);

struct Token {
  enum class Kind : uint8_t { kWord, kNumber, kString, kPunctuation };
  Kind kind = Kind::kPunctuation;
  bool first_in_line = false;
  uint32_t offset = 0, line = 1, column = 0;  // of its first byte; line from 1, column from 0
  std::string_view text;  // a string has no prefix and quotes here; its escapes are not decoded

  bool is(std::string_view other) const { return kind != Kind::kString && text == other; }
  bool word() const { return kind == Kind::kWord; }
  bool string() const { return kind == Kind::kString; }
};

// The tokens view `text`, which must outlive them.
std::vector<Token> tokenize(std::string_view text, Language language);

// For each bracket the index of its partner, the closing or the opening one; `tokens.size()` for a
// bracket without a partner and for all other tokens.
std::vector<uint32_t> match_brackets(const std::vector<Token>& tokens);

}  // namespace filibuster::analysis
