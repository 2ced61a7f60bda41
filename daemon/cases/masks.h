// What of calls and answers takes no part in a comparison, since it varies from run to run: the
// rules of a set, in the form of `nondeterminism` in a configuration. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/index/masks.h"
#include "core/result.h"
#include "daemon/cases/model.h"

namespace filibuster::cases {

class Masks {
 public:
  Masks() = default;  // nothing is masked
  static Result<Masks> compile(const std::vector<NondeterminismRule>& rules);

  // `caller` "": whoever sends the entry.
  RequestMasks of(const std::string& caller, const CallInput& input) const;

 private:
  std::shared_ptr<const MaskTable> table_;
};

// Is the value at this path masked, or one that contains it? `names`: hashes of the names
// (name_hash), outermost first.
bool is_masked(const RequestMasks& masks, MaskPlace place, std::span<const uint64_t> names);

// Are the elements of the list at this path masked as such, by a rule that ends with '*'?
bool has_elements_masked(const RequestMasks& masks, MaskPlace place,
                         std::span<const uint64_t> names);

// The name of a command, in capital letters, and its first key as the pattern of its kind
// ("user:*"); "": it has none.
std::string command_name(const nlohmann::json& command);
std::string command_key_pattern(const nlohmann::json& command);

}  // namespace filibuster::cases
