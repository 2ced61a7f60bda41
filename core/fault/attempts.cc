#include "core/fault/attempts.h"

#include <algorithm>
#include <utility>

namespace filibuster {
namespace {

constexpr std::string_view kWhen = " when=";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes digits off the front of `rest`. False: there are none, or the number is 0 or too large.
bool take_number(std::string_view* rest, uint32_t* out) {
  size_t size = 0;
  while (size < rest->size() && (*rest)[size] >= '0' && (*rest)[size] <= '9') ++size;
  if (size == 0 || size > 5) return false;
  uint32_t value = 0;
  for (const char c : rest->substr(0, size)) value = value * 10 + static_cast<uint32_t>(c - '0');
  rest->remove_prefix(size);
  *out = value;
  return value >= 1 && value <= kMaxAttemptNumber;
}

Error not_occasions(std::string_view text) {
  return Error{
      "'" + std::string(text) +
      "' names no attempts: expected first[..last][+[step]] with numbers from 1 to 65535, as "
      "in 2, 1..3, 4+ or 3+3"};
}

}  // namespace

bool AttemptSequence::operator==(const AttemptSequence& other) const {
  return rules == other.rules;
}

bool Occasions::covers(uint32_t number) const {
  return number >= first && (last == 0 || number <= last) && (number - first) % step == 0;
}

bool is_attempts_text(std::string_view text) {
  return text.find(',') != std::string_view::npos || text.find(kWhen) != std::string_view::npos;
}

std::string complete_status(std::string_view text) {
  const std::string_view number = text.substr(0, text.find(':'));
  const bool is_status = !number.empty() && std::all_of(number.begin(), number.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
  return is_status ? "status:" + std::string(text) : std::string(text);
}

Result<Occasions> parse_occasions(std::string_view text) {
  std::string_view rest = text;
  Occasions when;
  if (!take_number(&rest, &when.first)) return not_occasions(text);
  when.last = when.first;
  if (rest.starts_with("..")) {
    rest.remove_prefix(2);
    if (!take_number(&rest, &when.last) || when.last < when.first) return not_occasions(text);
    if (rest.starts_with('+')) {
      rest.remove_prefix(1);
      if (!rest.empty() && !take_number(&rest, &when.step)) return not_occasions(text);
    }
  } else if (rest.starts_with('+')) {
    rest.remove_prefix(1);
    when.last = 0;
    if (!rest.empty() && !take_number(&rest, &when.step)) return not_occasions(text);
  }
  if (!rest.empty()) return not_occasions(text);
  if (when.last == when.first) when.step = 1;
  return when;
}

std::string to_text(const Occasions& when) {
  std::string text = std::to_string(when.first);
  if (when.last == when.first) return text;
  if (when.last != 0) text += ".." + std::to_string(when.last);
  if (when.last == 0) text += "+";
  if (when.step != 1) text += (when.last != 0 ? "+" : "") + std::to_string(when.step);
  return text;
}

uint32_t next_after(const Occasions& when) {
  return when.last == 0 || when.last >= kMaxAttemptNumber ? 0 : when.last + 1;
}

Result<AttemptRule> parse_attempt_rule(std::string_view text, uint32_t next) {
  AttemptRule rule;
  const size_t at = text.find(kWhen);
  const std::string_view outcome = trimmed(text.substr(0, at));
  if (at != std::string_view::npos) {
    auto when = parse_occasions(trimmed(text.substr(at + kWhen.size())));
    if (!when) return when.error();
    rule.when = when.value();
  } else if (next == 0) {
    return Error{
        "'" + std::string(outcome) +
        "' follows an item that has no end, so it says with when= which attempts it is for"};
  } else {
    rule.when = {next, next, 1};
  }
  if (outcome == kPass) return rule;
  if (outcome.empty())
    return Error{"an attempt is 'pass' or a fault, as in 'timeout:after, 503, pass'"};
  auto fault = parse_fault(complete_status(outcome));
  if (!fault) return fault.error();
  rule.outcome = std::move(fault).value();
  return rule;
}

std::string why_no_sequence(const AttemptSequence& attempts) {
  if (attempts.rules.size() > kMaxAttemptRules)
    return "a sequence has at most " + std::to_string(kMaxAttemptRules) + " items";
  bool any = false;
  for (const AttemptRule& rule : attempts.rules) {
    const FaultKind kind = rule.outcome.kind;
    if (kind == FaultKind::kAttempts) return "a sequence cannot contain another one";
    if (is_at_connect(kind)) {
      return "'" + to_text(rule.outcome) +
             "' happens when a connection is opened, before it is known whose attempt it is for: "
             "use 'reset'";
    }
    any = any || kind != FaultKind::kNone;
  }
  return any ? "" : "a sequence needs an attempt that does not pass";
}

FaultSpec make_attempts(AttemptSequence attempts) {
  FaultSpec fault;
  fault.kind = FaultKind::kAttempts;
  fault.attempts = std::move(attempts);
  return fault;
}

Result<FaultSpec> parse_attempts(std::string_view text) {
  AttemptSequence attempts;
  uint32_t next = 1;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    auto rule = parse_attempt_rule(trimmed(rest.substr(0, comma)), next);
    if (!rule) return rule.error();
    next = next_after(rule->when);
    attempts.rules.push_back(std::move(rule).value());
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (const std::string why = why_no_sequence(attempts); !why.empty())
    return Error{"'" + std::string(text) + "' is no sequence of attempts: " + why};
  return make_attempts(std::move(attempts));
}

std::string to_text(const AttemptSequence& attempts) {
  std::string text;
  uint32_t next = 1;
  for (const AttemptRule& rule : attempts.rules) {
    if (!text.empty()) text += ", ";
    text += rule.outcome.kind == FaultKind::kNone ? std::string(kPass) : to_text(rule.outcome);
    // A single item says when it is meant, since it would be the text of a plain fault otherwise.
    const bool in_turn = rule.when == Occasions{next, next, 1} && attempts.rules.size() > 1;
    if (!in_turn) text += std::string(kWhen) + to_text(rule.when);
    next = next_after(rule.when);
  }
  return text;
}

const FaultSpec* outcome_of(const AttemptSequence& attempts, uint32_t number) {
  for (const AttemptRule& rule : attempts.rules) {
    if (!rule.when.covers(number)) continue;
    return rule.outcome.kind == FaultKind::kNone ? nullptr : &rule.outcome;
  }
  return nullptr;
}

}  // namespace filibuster
