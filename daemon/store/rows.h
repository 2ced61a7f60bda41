// The rows of a search, as the store keeps them and the search makes them.
#pragma once

#include <cstdint>

namespace filibuster::search {

// Interned outcome of one RPC as its caller sees it: a fault specification's text ("status:503",
// "refused") or an organic result; equal texts are equal outcomes, so that an organic 503 equals an
// injected one, if their bodies are equal. 0 is reserved: no result was seen (the caller went on,
// the execution ended).
using OutcomeId = uint32_t;

using AbstractId = uint32_t;
inline constexpr AbstractId kReference = 0;

enum class AbstractState : uint8_t {
  kOpen = 0,  // scheduled, perhaps handed out, and not yet decided
  kExecuted = 1,
  kRedundant = 2,  // pruned by ESR
  kAbandoned = 3,  // could not be concluded; the reason is kept
};

// One abstract execution as a delta to the execution it was scheduled from.
struct AbstractRow {
  AbstractId id = 0;
  AbstractId parent = 0;
  uint32_t rpc = 0;       // number of the newly faulted RPC
  uint32_t position = 0;  // its place among the RPCs of the parent: the end of the prefix
  OutcomeId fault = 0;
  AbstractState state = AbstractState::kOpen;
};

}  // namespace filibuster::search
