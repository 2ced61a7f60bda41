#include "daemon/principled/block.h"

#include <algorithm>
#include <array>

namespace filibuster::principled {
namespace {

constexpr std::array<std::string_view, 9> kNames = {"setup",    "stub",        "failure",
                                                    "execute",  "assert_test", "assert_stubs",
                                                    "teardown", "on_fault",    "on_exception"};

}  // namespace

std::string_view block_name(Block block) {
  return kNames[static_cast<size_t>(block)];
}

std::optional<Block> parse_block(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Block>(found - kNames.begin());
}

std::string to_text(const Thrown& thrown) {
  if (!thrown.thrown) return "a success";
  return thrown.code + (thrown.message.empty() ? "" : " \"" + thrown.message + "\"");
}

std::string blame_of(const BlockResult& result) {
  return result.message.empty() ? "it failed" : result.message;
}

}  // namespace filibuster::principled
