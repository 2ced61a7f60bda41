// What a principled test states in one execution: its stubs, how often they are to be called, and how the service behaves under
// faults (dissertation 11.3.1). The blocks of the test make these statements when they run.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/principled/block.h"
#include "daemon/principled/diagnostic.h"
#include "daemon/principled/key.h"

namespace filibuster::principled {

enum class SpecificationKind : uint8_t { kThrows, kPropagates, kNoImpact, kOnFault };

// How the service behaves when the calls of `keys` fail.
struct Specification {
  SpecificationKind kind;
  std::vector<Key> keys;               // several: when they fail together, and no others
  std::string code;                    // kThrows
  std::optional<std::string> message;  // kThrows; nullopt: any
  size_t block = 0;                    // kOnFault: the number of its block
  std::string at;                      // "FILE:LINE"
};
// "assert_fault_throws of shop.UserService/GetUser (order_test.py:41)"
std::string to_text(const Specification& specification);

// What holds whenever the service answers with this code.
struct ExceptionAssertions {
  std::string code;
  size_t block = 0;
  std::string at;
};

// How often calls of a key reach their dependency.
struct Count {
  Key key;
  uint64_t times = 0;
  bool read_only = false;  // any number; `times` says nothing
  std::string at;
};

struct StubStatement {
  std::string service;
  stubs::Stub stub;
  std::string at;
};

struct Statements {
  std::vector<StubStatement> stubs;
  std::vector<Specification> specifications;
  std::vector<ExceptionAssertions> on_exceptions;
  std::vector<Count> counts;  // of the block assert_stubs
  std::vector<Count>
      declared_again;  // of the blocks on_exception and on_fault that ran in this execution

  // Of a stub of a service that speaks Redis, or of any other one. Error: what is wrong with it.
  using ReadStub =
      std::function<Result<stubs::Stub>(const std::string& service, const nlohmann::json& stub)>;
  // The descriptors of gRPC methods complete requests, and know which methods there are. Error: there is no such method.
  using CheckKey = std::function<Result<void>(Key*)>;
  struct Readers {
    ReadStub stub;
    CheckKey key;
  };
  // Reads what a block has called. Returns what is wrong with it, in its order.
  std::vector<Diagnostic> read(Block block, const std::vector<nlohmann::json>& calls,
                               const Readers& readers);
};

// Statements that say different things of the same fault, with equal keys.
std::optional<Diagnostic> contradiction(const Statements& statements);

}  // namespace filibuster::principled
