// Faults of one logical call, attempt by attempt: a client that is told of a failure may try again, and what it is
// told then is part of the fault. A sequence is one FaultSpec (FaultKind::kAttempts). Its text form:
//
//   timeout:after, 503, pass      the first attempt, the second, the third; every later one passes
//   503 when=1..3                 the first three, then pass
//   503 when=3+3                  every third
//   503 when=4+                   from the fourth on
//   timeout:after, 503 when=2+    the first is silent after its effect, every later one gets an error
//
// `when=first[..last][+[step]]` is read as strace(1) reads it in --inject. An item without it is for the attempt
// after the last one of the item before. The first item that names an attempt decides it; what none names passes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/fault/fault.h"
#include "core/result.h"

namespace filibuster {

inline constexpr uint32_t kMaxAttemptNumber = 65535;
inline constexpr size_t kMaxAttemptRules = 32;
inline constexpr std::string_view kPass = "pass";

// Is this the text of a sequence, and not of one fault?
bool is_attempts_text(std::string_view text);
// The Error names the item that it is about, and the accepted forms.
Result<FaultSpec> parse_attempts(std::string_view text);
// One item: "503", "pass", "timeout:after when=2+". `next`: the attempt that it is for where it does not say; 0: it
// has to say.
Result<AttemptRule> parse_attempt_rule(std::string_view text, uint32_t next);
// "first[..last][+[step]]", without "when=".
Result<Occasions> parse_occasions(std::string_view text);
std::string to_text(const Occasions& when);
// The attempt behind the last one of `when`; 0: there is none, since it has no end.
uint32_t next_after(const Occasions& when);

// Why these rules are no sequence: "" if they are one.
std::string why_no_sequence(const AttemptSequence& attempts);
FaultSpec make_attempts(AttemptSequence attempts);

// What a request gets besides its other default faults, whose client sends it again although it must not be done twice: the
// first attempt acts, and its answer does not come; the next ones pass. As a sequence, it comes only where the server has succeeded.
FaultSpec default_mutation_fault();

// What attempt `number`, from 1, gets; nullptr: it passes.
const FaultSpec* outcome_of(const AttemptSequence& attempts, uint32_t number);

// "503" is short for "status:503".
std::string complete_status(std::string_view text);

}  // namespace filibuster
