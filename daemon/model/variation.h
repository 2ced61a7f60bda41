// What differs between executions that should be equal, and what came of it.
#pragma once

#include <cstdint>
#include <string>

namespace filibuster {

struct Variation {
  enum class Effect : uint8_t {
    kNone,          // nothing: it makes no difference
    kMasked,        // it is left out of indexes and answers
    kNotFaulted,    // its RPC gets no fault
    kStatusAlone,   // the answer counts by its status
    kWhereItComes,  // its RPC gets its faults in the executions in which it comes
    kCount,
  };
  std::string rpc;   // "users -> orders POST /orders/*"
  std::string what;  // "path segment 2", "JSON /id", "the order of ..."
  Effect effect = Effect::kNone;
  std::string reason;
  std::string under;  // the faults under which it varied, "{a -> b GET /: 503}"; "" without faults
  // The RPC itself varies: `what` says in how many executions it appears.
  bool comes_and_goes = false;
  bool operator==(const Variation&) const = default;
};

}  // namespace filibuster
