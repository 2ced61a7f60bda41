// Programs of property-based tests, as data: commands for a client, and faults that are armed between them (Claessen and Hughes 2000;
// stateful, with symbolic results, as Quviq's and quickcheck-state-machine). They are generated before anything runs, so that they can be
// shrunk and executed again in any language.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/fault/edge.h"
#include "core/fault/fault.h"
#include "core/result.h"

namespace filibuster::property {

// A fault that programs may arm.
struct ArmableFault {
  std::string name;
  Edge edge;
  FaultSpec fault;
  uint64_t weight = 1;
  uint64_t lasts = 0;  // items at most, during which it hits each call; 0: it hits one
  std::map<std::string, uint64_t> likelier =
      {};                     // names of faults -> how much likelier one of them is the next one
  bool has_evidence = false;  // somebody says why the service gives it
  bool is_background =
      false;  // calls of the edge come by themselves, whether or not there is a command
};

// One command with its number, or one fault. Commands that run at the same time are a block.
struct Item {
  // Of a command. In `value`, {"result": 3} stands for the answer of command 3 of this program.
  std::string f;
  nlohmann::json value;
  uint32_t number = 0;
  std::optional<nlohmann::json> generator = std::nullopt;  // that `value` comes from (generator.h)
  bool parallel = false;  // it runs at the same time as the item before it, which is a command, too
  // Of a fault: its place among the faults that programs may arm, and the how many-th call from now on gets it.
  std::optional<size_t> fault = std::nullopt;
  uint32_t occurrence = 1;
  uint32_t lasts = 0;  // it hits each call during so many items behind it; 0: it hits one call

  bool is_fault() const { return fault.has_value(); }
  bool operator==(const Item&) const = default;
};

// A command of a block stops before a call of its own, whose request does not leave, until another command of the block has ended (or stops,
// too).
struct Hold {
  uint32_t command = 0;     // Item::number
  Edge edge;                // of the call
  uint32_t occurrence = 1;  // the how many-th of the edge that the command makes
  uint32_t until = 0;       // Item::number
  bool operator==(const Hold&) const = default;
};

struct Program {
  std::vector<Item> items;
  // In the order in which they happen. All of them are of one block, and each is of the command that the one before it waits for.
  std::vector<Hold> holds = {};
  bool operator==(const Program&) const = default;
};

// The items of the block that begins at `at`. Precondition: at < program.items.size().
size_t block_size(const Program& program, size_t at);
// The program without `count` items from `at` on. What is left of a block stays one.
Program without(const Program& program, size_t at, size_t count);

// The numbers of the commands whose results a value refers to.
std::vector<uint32_t> results_in(const nlohmann::json& value);
// The value with answers in the place of references. nullopt: it refers to a command that has none.
std::optional<nlohmann::json> with_results(
    const nlohmann::json& value, const std::vector<std::optional<nlohmann::json>>& answers);

// Are the two commands of each hold in one block, and does each hold begin with the command that the one before it waits for?
bool holds_fit(const Program& program);

// "write "a"", "Full at the next web -> queue POST /enqueue": as reports name an item.
std::string item_text(const Item& item, const std::vector<ArmableFault>& faults);

}  // namespace filibuster::property
