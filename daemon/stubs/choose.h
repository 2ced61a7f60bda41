// Which of its stubs answers a call: the most specific one of those that match, never the last one that was written.
//
// A stub is more specific than another if it is as specific in each of method, path and arguments, and more specific in one of
// them: a path is more specific than a glob, the whole arguments than some fields, these fields than fewer of them. Where two
// stubs match and none of them is the more specific one, the call is ambiguous, and gets no answer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/stubs/stub.h"

namespace filibuster::stubs {

struct Choice {
  std::optional<size_t> chosen;          // of the stubs that were given
  std::vector<size_t> equal;             // ambiguous: the most specific ones, two or more
  std::optional<size_t> nearest;         // no stub matches: the one with the fewest differences
  std::vector<std::string> differences;  // of that one: "path: /users/8, not /users/7"
};

Choice choose(std::span<const Stub> stubs, const Call& call);

// Why no stub answers the call, in one sentence that names the nearest one and what differs, or those that are equal.
std::string why_none(std::span<const Stub> stubs, const Choice& choice, const Call& call);

// The first two stubs that match the same calls by the same words: no call could be answered by either. nullopt: there are none.
std::optional<std::pair<size_t, size_t>> same_conditions(std::span<const Stub> stubs);

}  // namespace filibuster::stubs
