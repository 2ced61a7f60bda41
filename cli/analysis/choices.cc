#include "cli/analysis/choices.h"

#include <algorithm>
#include <initializer_list>

namespace filibuster::analysis {
namespace {

constexpr uint32_t kMaxSize = 64;  // tokens
constexpr int kMaxNested = 16;

class Choices {
 public:
  explicit Choices(const Source& source)
      : source_(source), count_(static_cast<uint32_t>(source.tokens.size())) {}

  void add(Span span, int nested) {
    while (span.size() > 2 && source_.is(span.begin, "(") &&
           source_.partner[span.begin] == span.end - 1) {
      ++span.begin;
      --span.end;
    }
    const bool tuple = find(span, {","}) != span.end;
    if (!tuple && nested < kMaxNested && (conditional(span, nested) || alternatives(span, nested)))
      return;
    out.push_back(span);
  }

  std::vector<Span> out;

 private:
  bool one_of(uint32_t at, std::initializer_list<std::string_view> words) const {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return source_.is(at, word); });
  }
  // The first of `words` in the span, not within brackets; the end of the span if there is none.
  uint32_t find(Span span, std::initializer_list<std::string_view> words) const {
    for (uint32_t i = span.begin; i < span.end; ++i) {
      if (one_of(i, words)) return i;
      const uint32_t other = source_.partner[i];
      if (other < count_ && other > i) i = other;
    }
    return span.end;
  }
  // The ':' that belongs to the '?' before `from`. Conditionals in between have a ':' of their own.
  uint32_t colon(uint32_t from, uint32_t end) const {
    int open = 0;
    for (uint32_t i = from; i < end; ++i) {
      i = find({i, end}, {"?", ":"});
      if (i == end) break;
      if (source_.is(i, "?")) {
        ++open;
      } else if (open-- == 0) {
        return i;
      }
    }
    return end;
  }

  bool conditional(Span span, int nested) {
    const bool python = source_.language == Language::kPython;
    const uint32_t mark = find(span, {python ? std::string_view("if") : std::string_view("?")});
    if (mark == span.end) return false;
    const uint32_t other =
        python ? find({mark + 1, span.end}, {"else"}) : colon(mark + 1, span.end);
    if (other == span.end) return false;
    add(python ? Span{span.begin, mark} : Span{mark + 1, other}, nested + 1);
    add({other + 1, span.end}, nested + 1);
    return true;
  }
  bool alternatives(Span span, int nested) {
    const uint32_t mark = find(span, {"||", "??", "or"});
    if (mark == span.end) return false;
    add({span.begin, mark}, nested + 1);
    add({mark + 1, span.end}, nested + 1);
    return true;
  }

  const Source& source_;
  uint32_t count_;
};

// True if an expression continues over the line break before `at`: an operator stands at the end of the
// line before, or at the beginning of this one.
bool goes_on(const Source& source, uint32_t at) {
  const auto joins = [&](uint32_t i) {
    return source.is(i, "||") || source.is(i, "??") ||
           (source.language != Language::kPython && (source.is(i, "?") || source.is(i, ":")));
  };
  return joins(at) || joins(at - 1) || source.is(at - 1, "or") || source.is(at - 1, "else");
}

// What the `return` before `at` returns, up to the semicolon or line that ends it; empty if it returns
// nothing.
Span returned_at(const Source& source, uint32_t at) {
  const auto count = static_cast<uint32_t>(source.tokens.size());
  uint32_t i = at;
  for (; i < count && !source.tokens[i].first_in_line && !source.tokens[i].is(";"); ++i) {
    const uint32_t other = source.partner[i];
    if (other < count && other > i) i = other;
  }
  return {at, i};
}

}  // namespace

Span expression_at(const Source& source, uint32_t at) {
  const auto count = static_cast<uint32_t>(source.tokens.size());
  uint32_t i = at;
  for (; i < count && i - at < kMaxSize; ++i) {
    const Token& token = source.tokens[i];
    if (token.is(",") || token.is(";") || token.is(")") || token.is("]") || token.is("}")) break;
    if (i > at && token.first_in_line && !goes_on(source, i)) break;
    const uint32_t other = source.partner[i];
    if (other < count && other > i) i = other;
  }
  return {at, std::min(i, count)};
}

std::vector<Span> tuples_returned(const Source& source, uint32_t at) {
  const Span whole = returned_at(source, at + 1);
  // "a, 404 if missing else 200" is one tuple.
  if (elements_of(source, whole).size() > 1) return {whole};
  return choices_of(source, whole);
}

std::vector<Span> choices_of(const Source& source, Span expression) {
  Choices choices(source);
  choices.add(expression, 0);
  return std::move(choices.out);
}

}  // namespace filibuster::analysis
