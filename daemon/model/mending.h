// What would mend a failure, in one sentence (daemon/lint/mending.h). What the fault of an execution brings in stands apart
// from the rest, so that failures of one cause share a sentence. Pure.
#pragma once

#include <string>
#include <vector>

namespace filibuster {

struct Mending {
  std::string begin;             // "Catch "; empty: nothing is said
  std::vector<std::string> of;   // {"`httpx.ConnectError`"}; may be empty
  std::string end;               // " at `front.py:10 (handle)`: nothing caught it."
  std::string end_of_several{};  // `end` where `of` has several; empty: the same

  bool empty() const { return begin.empty(); }
};

// "Catch `httpx.ConnectError` and `httpx.ReadTimeout` at `front.py:10 (handle)`: nothing caught them."
// "": nothing is said.
std::string to_text(const Mending& mending);

// "a", "a and b", "a, b and c"
std::string listed_with_and(const std::vector<std::string>& texts);

// Whether two sentences say the same but for what their faults bring in.
bool says_the_same(const Mending& one, const Mending& other);
// Adds what `other`, which says the same, has in `of` beyond `mending`.
void add(const Mending& other, Mending* mending);

}  // namespace filibuster
