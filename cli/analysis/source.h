// One source file as the analysis sees it: its tokens, and the functions and classes in it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/analysis/tokens.h"

namespace filibuster::analysis {

// A function or a class. Places are indexes of tokens; `end` is the first token behind it.
struct Definition {
  std::string_view name;
  bool is_class = false;
  bool outermost = false;  // in no other function or class
  bool decorated = false;  // a decorator or an annotation stands before it: a framework may call it
  uint32_t begin = 0, end = 0;                  // with its decorators
  uint32_t parameters = 0, parameters_end = 0;  // the tokens between the parentheses; 0, 0: none
  uint32_t body = 0;                            // the first token behind the head
};

struct Source {
  std::string path;  // as it is shown
  Language language = Language::kNone;
  std::string text;
  std::vector<Token> tokens;            // of `text`
  std::vector<uint32_t> partner;        // of brackets (match_brackets)
  std::vector<Definition> definitions;  // in the order of their beginning
  // Constants (GONE, kGone) whose value is a number: name -> token of the number.
  std::map<std::string_view, uint32_t> numbers;

  // The token at index `at`; an empty token if there is none.
  const Token& token(size_t at) const;
  bool is(size_t at, std::string_view wanted) const { return token(at).is(wanted); }
  // The line of a token, without the space around it, at most `most` bytes.
  std::string line_text(const Token& place, size_t most = 100) const;
  // The innermost definition around a token that `wanted` accepts, or null.
  template <typename Wanted>
  const Definition* around(uint32_t at, Wanted wanted) const {
    const Definition* found = nullptr;
    for (const Definition& one : definitions) {
      if (one.begin > at) break;
      if (at < one.end && wanted(one)) found = &one;
    }
    return found;
  }
};

// By pointer, since the tokens view the text and must not move with it.
std::unique_ptr<const Source> read_source(std::string path, std::string text);

// Tokens from `begin` to before `end`.
struct Span {
  uint32_t begin = 0, end = 0;
  uint32_t size() const { return end - begin; }
};
// The elements between the brackets of which the opening one is at `open`.
std::vector<Span> arguments_of(const Source& source, uint32_t open);

// The elements of a list, cut at its commas but not at those in inner brackets; none if it is empty.
std::vector<Span> elements_of(const Source& source, Span list);

}  // namespace filibuster::analysis
