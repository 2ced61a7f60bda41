#include "daemon/redact/pattern.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <utility>

namespace filibuster {
namespace {

constexpr size_t kMostSteps = 4000;
constexpr size_t kMostDepth = 50;
constexpr int kMostTimes = 1000;
constexpr int kAnyTimes = -1;

bool is_word_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_word_edge(std::string_view text, size_t at) {
  const bool before = at > 0 && is_word_byte(text[at - 1]);
  const bool behind = at < text.size() && is_word_byte(text[at]);
  return before != behind;
}

}  // namespace

// A tree first, since what is repeated is compiled as often as it may come.
class PatternCompiler {
 public:
  explicit PatternCompiler(std::string_view text) : text_(text) {}

  std::variant<Pattern, Pattern::Wrong> compile() {
    if (text_.empty()) return Pattern::Wrong{0, "the pattern is empty"};
    Node tree = alternatives(0);
    if (!wrong_ && at_ < text_.size()) fail(at_, "')' without '('");
    if (wrong_) return *wrong_;
    emit(tree);
    out_.steps_.push_back({Pattern::Op::kMatch, 0, 0});
    if (out_.steps_.size() > kMostSteps)
      return Pattern::Wrong{0, "the pattern is too large: it repeats too much"};
    if (out_.fits("")) return Pattern::Wrong{0, "the pattern matches the empty text"};
    std::vector<size_t> met(out_.steps_.size(), SIZE_MAX);
    first(0, &met);
    return std::move(out_);
  }

 private:
  using Bytes = Pattern::Bytes;
  enum class Kind : uint8_t { kEmpty, kBytes, kInTurn, kEither, kRepeated, kEdge, kBegin, kEnd };
  struct Node {
    Kind kind = Kind::kEmpty;
    Bytes bytes;
    int least = 0, most = 0;
    std::vector<Node> children;
  };

  void fail(size_t at, std::string message) {
    if (!wrong_) wrong_ = Pattern::Wrong{at, std::move(message)};
    at_ = text_.size();
  }
  bool more() const { return at_ < text_.size(); }
  bool next_is(char c) const { return more() && text_[at_] == c; }

  Node alternatives(size_t depth) {
    if (depth > kMostDepth) fail(at_, "groups stand too deep in each other");
    Node out{Kind::kEither, {}, 0, 0, {}};
    out.children.push_back(in_turn(depth));
    while (next_is('|')) {
      ++at_;
      out.children.push_back(in_turn(depth));
    }
    return out;
  }

  Node in_turn(size_t depth) {
    Node out{Kind::kInTurn, {}, 0, 0, {}};
    while (more() && text_[at_] != '|' && text_[at_] != ')')
      out.children.push_back(repeated(depth));
    return out;
  }

  Node repeated(size_t depth) {
    const size_t begin = at_;
    Node one = single(depth);
    int least = 1, most = 1;
    if (next_is('*') || next_is('+') || next_is('?')) {
      const char c = text_[at_++];
      least = c == '+' ? 1 : 0;
      most = c == '?' ? 1 : kAnyTimes;
    } else if (next_is('{')) {
      times(&least, &most);
    } else {
      return one;
    }
    if (next_is('?') || next_is('+') || next_is('*') || next_is('{'))
      fail(at_, "one repetition behind another: the longest match counts in any case");
    const bool is_place =
        one.kind == Kind::kEdge || one.kind == Kind::kBegin || one.kind == Kind::kEnd;
    if (is_place) fail(begin, "what matches a place cannot be repeated");
    Node out{Kind::kRepeated, {}, least, most, {}};
    out.children.push_back(std::move(one));
    return out;
  }

  std::optional<int> number() {
    int out = 0;
    const size_t begin = at_;
    for (; more() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_) {
      out = out * 10 + (text_[at_] - '0');
      if (out > kMostTimes) fail(begin, "more than " + std::to_string(kMostTimes) + " times");
    }
    return at_ == begin || wrong_ ? std::nullopt : std::optional(out);
  }

  void times(int* least, int* most) {
    const size_t begin = at_++;
    const auto low = number();
    *least = *most = low.value_or(0);
    if (low && next_is(',')) {
      ++at_;
      *most = next_is('}') ? kAnyTimes : number().value_or(-2);
    }
    const bool good = low && next_is('}') && (*most == kAnyTimes || *most >= *least);
    if (!good)
      return fail(begin, "expected a repetition such as {8}, {2,} or {2,5}; a brace itself is \\{");
    ++at_;
  }

  Node of_bytes(const Bytes& bytes) { return {Kind::kBytes, bytes, 0, 0, {}}; }

  Node single(size_t depth) {
    const size_t begin = at_;
    const char c = text_[at_++];
    switch (c) {
      case '(': {
        if (text_.substr(at_).starts_with("?:")) at_ += 2;
        if (next_is('?')) fail(begin, "groups that look around are not known");
        Node out = alternatives(depth + 1);
        if (!next_is(')')) fail(begin, "'(' without ')'");
        ++at_;
        return out;
      }
      case '[':
        return of_bytes(set(begin));
      case '.': {
        Bytes all;
        all.set();
        all.reset('\n');
        return of_bytes(all);
      }
      case '^':
        return {Kind::kBegin, {}, 0, 0, {}};
      case '$':
        return {Kind::kEnd, {}, 0, 0, {}};
      case '*':
      case '+':
      case '?':
      case '{':
        fail(begin, std::string("'") + c + "' repeats nothing; the letter itself is \\" + c);
        return {};
      case '\\':
        if (next_is('b')) {
          ++at_;
          return {Kind::kEdge, {}, 0, 0, {}};
        }
        return of_bytes(escape(begin));
      default:
        Bytes one;
        one.set(static_cast<unsigned char>(c));
        return of_bytes(one);
    }
  }

  // Behind the backslash.
  Bytes escape(size_t begin) {
    Bytes out;
    if (!more()) {
      fail(begin, "a '\\' at the end");
      return out;
    }
    const char c = text_[at_++];
    const auto small = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (small == 'd' || small == 'w' || small == 's') {
      for (int byte = 0; byte < 256; ++byte) {
        const bool in = small == 'd'   ? byte >= '0' && byte <= '9'
                        : small == 'w' ? byte < 128 && is_word_byte(static_cast<char>(byte))
                                       : byte == ' ' || (byte >= '\t' && byte <= '\r');
        if (in == (c == small)) out.set(static_cast<size_t>(byte));
      }
    } else if (c == 'n' || c == 't' || c == 'r') {
      out.set(c == 'n' ? '\n' : c == 't' ? '\t' : '\r');
    } else if (is_word_byte(c)) {
      fail(begin, std::string("'\\") + c + "' is not known");
    } else {
      out.set(static_cast<unsigned char>(c));
    }
    return out;
  }

  // Behind the bracket.
  Bytes set(size_t begin) {
    Bytes out;
    const bool inverted = next_is('^');
    if (inverted) ++at_;
    for (bool first = true; more() && (first || text_[at_] != ']'); first = false) {
      const size_t place = at_;
      const char low = text_[at_++];
      if (low == '\\') {
        out |= escape(place);
        continue;
      }
      if (static_cast<unsigned char>(low) >= 0x80) fail(place, "letters beyond ASCII in a class");
      char high = low;
      if (next_is('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        high = text_[at_ + 1];
        at_ += 2;
        if (high < low || high == '\\') fail(place, "expected a range such as a-z");
      }
      const size_t last = static_cast<unsigned char>(high);
      for (size_t byte = static_cast<unsigned char>(low); byte <= last; ++byte) out.set(byte);
    }
    if (!next_is(']')) {
      fail(begin, "'[' without ']'");
    } else {
      ++at_;
    }
    return inverted ? ~out : out;
  }

  uint32_t here() const { return static_cast<uint32_t>(out_.steps_.size()); }
  uint32_t step(Pattern::Op op, uint32_t other = 0) {
    // Beyond the bound nothing is compiled any more, and compile() says so.
    if (out_.steps_.size() <= kMostSteps) out_.steps_.push_back({op, here() + 1, other});
    return here() - 1;
  }

  void emit(const Node& node) {
    if (out_.steps_.size() > kMostSteps) return;
    switch (node.kind) {
      case Kind::kEmpty:
        return;
      case Kind::kBytes:
        out_.sets_.push_back(node.bytes);
        step(Pattern::Op::kBytes, static_cast<uint32_t>(out_.sets_.size() - 1));
        return;
      case Kind::kInTurn:
        for (const Node& each : node.children) emit(each);
        return;
      case Kind::kEither: {
        std::vector<uint32_t> jumps;
        for (size_t i = 0; i < node.children.size(); ++i) {
          const bool is_last = i + 1 == node.children.size();
          const uint32_t split = is_last ? 0 : step(Pattern::Op::kSplit);
          emit(node.children[i]);
          if (is_last) break;
          jumps.push_back(step(Pattern::Op::kJump));
          out_.steps_[split].other = here();
        }
        for (const uint32_t each : jumps) out_.steps_[each].next = here();
        return;
      }
      case Kind::kRepeated:
        return emit_repeated(node);
      case Kind::kEdge:
        step(Pattern::Op::kWordEdge);
        return;
      case Kind::kBegin:
        step(Pattern::Op::kBegin);
        return;
      case Kind::kEnd:
        step(Pattern::Op::kEnd);
        return;
    }
  }

  void emit_repeated(const Node& node) {
    const Node& one = node.children.front();
    for (int i = 0; i < node.least; ++i) emit(one);
    if (node.most == kAnyTimes) {
      const uint32_t split = step(Pattern::Op::kSplit);
      emit(one);
      out_.steps_[step(Pattern::Op::kJump)].next = split;
      out_.steps_[split].other = here();
      return;
    }
    std::vector<uint32_t> splits;
    for (int i = node.least; i < node.most; ++i) {
      splits.push_back(step(Pattern::Op::kSplit));
      emit(one);
    }
    for (const uint32_t each : splits) out_.steps_[each].other = here();
  }

  void first(uint32_t at, std::vector<size_t>* met) {
    std::vector<uint32_t> open = {at};
    while (!open.empty()) {
      const uint32_t place = open.back();
      open.pop_back();
      if (std::exchange((*met)[place], 0) == 0) continue;
      const Pattern::Step& each = out_.steps_[place];
      if (each.op == Pattern::Op::kBytes) {
        out_.first_ |= out_.sets_[each.other];
        continue;
      }
      if (each.op == Pattern::Op::kMatch) continue;
      open.push_back(each.next);
      if (each.op == Pattern::Op::kSplit) open.push_back(each.other);
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  std::optional<Pattern::Wrong> wrong_;
  Pattern out_;
};

std::variant<Pattern, Pattern::Wrong> Pattern::compile(std::string_view text) {
  return PatternCompiler(text).compile();
}

// All steps that are reached without a byte.
void Pattern::add(uint32_t step, std::string_view text, size_t at, std::vector<uint32_t>* list,
                  std::vector<size_t>* met) const {
  std::vector<uint32_t> open = {step};
  while (!open.empty()) {
    const uint32_t place = open.back();
    open.pop_back();
    if (std::exchange((*met)[place], at) == at) continue;
    const Step& each = steps_[place];
    const bool goes_on = each.op == Op::kJump || each.op == Op::kSplit ||
                         (each.op == Op::kWordEdge && is_word_edge(text, at)) ||
                         (each.op == Op::kBegin && at == 0) ||
                         (each.op == Op::kEnd && at == text.size());
    if (goes_on) open.push_back(each.next);
    if (each.op == Op::kSplit) open.push_back(each.other);
    if (each.op == Op::kBytes || each.op == Op::kMatch) list->push_back(place);
  }
}

std::vector<size_t> Pattern::ends(std::string_view text, size_t at) const {
  std::vector<size_t> out;
  if (at < text.size() && !first_.none() && !first_.test(static_cast<unsigned char>(text[at])))
    return out;
  std::vector<uint32_t> now, next;
  std::vector<size_t> met(steps_.size(), SIZE_MAX);
  add(0, text, at, &now, &met);
  const size_t limit = std::min(text.size(), at + kMostMatch);
  for (size_t i = at; !now.empty(); ++i) {
    next.clear();
    for (const uint32_t place : now) {
      const Step& each = steps_[place];
      if (each.op == Op::kMatch) {
        out.push_back(i);
      } else if (i < limit && sets_[each.other].test(static_cast<unsigned char>(text[i]))) {
        add(each.next, text, i + 1, &next, &met);
      }
    }
    now.swap(next);
  }
  return out;
}

bool Pattern::fits(std::string_view text) const {
  const std::vector<size_t> all = ends(text, 0);
  return !all.empty() && all.back() == text.size();
}

}  // namespace filibuster
