// The blocks of a principled test (dissertation 11.3), and the program that runs them when it is told to.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace filibuster::principled {

enum class Block : uint8_t {
  kSetup,
  kStub,
  kFailure,
  kExecute,
  kAssertTest,
  kAssertStubs,
  kTeardown,
  kOnFault,      // assertions that replace those of kAssertTest under a fault
  kOnException,  // assertions that hold whenever the service answers with a code
};
// "setup", ..., "on_exception"
std::string_view block_name(Block block);
std::optional<Block> parse_block(std::string_view name);

struct Instruction {
  Block block;
  size_t specification = 0;  // kOnFault, kOnException: the number of the block in this execution
  bool operator==(const Instruction&) const = default;
};

// How the service under test answered its caller.
struct Thrown {
  bool thrown = false;
  std::string code;     // "UNAVAILABLE" of gRPC, "409" of HTTP, "reset", "timeout"
  std::string message;  // the message of a gRPC status, the body of an HTTP answer
};
// `UNAVAILABLE "no user"`, "a success"
std::string to_text(const Thrown& thrown);

struct BlockResult {
  bool passed = true;
  std::string message, at, trace;  // of a block that failed: what, "FILE:LINE", and all of it
  // What the block called of the API: {"api": "stub_for", "at": "FILE:LINE", ...} (docs/api.md).
  std::vector<nlohmann::json> calls;
  std::optional<Thrown> outcome;  // what the test says itself of how the service answered
};
// Of a block that failed: its message, or that it failed.
std::string blame_of(const BlockResult& result);

// The test: commands of the configuration, or a program that asks what it is to do next.
class Program {
 public:
  virtual ~Program() = default;
  // In which language snippets are written: "json", "pytest", "junit", "gtest".
  virtual std::string form() const = 0;
  virtual Result<void> begin(uint32_t execution, const std::string& name) = 0;
  // Error: the program is gone, or says what cannot be understood.
  virtual Result<BlockResult> run(const Instruction& what) = 0;
  struct End {
    uint32_t execution = 0;
    bool passed = true;
    std::string kind, text;  // of its diagnostic
  };
  virtual Result<void> end(const End& end) = 0;
};

}  // namespace filibuster::principled
