// What the program of a structured test says (POST /v1/blocks): any JSON is a statement, or is named as none; and whatever is stated,
// a ruling comes of it.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/principled/counts.h"
#include "daemon/principled/ruling.h"

using namespace filibuster;
using namespace filibuster::principled;

namespace {

FaultedCall faulted(const char* path, const nlohmann::json& arguments) {
  FaultedCall out;
  out.seen.call.service = "users";
  out.seen.call.method = "GET";
  out.seen.call.path = path;
  out.seen.call.arguments = arguments;
  out.seen.fault = "status:503";
  out.code = "503";
  return out;
}

}  // namespace

// A byte that says how many faults there are and how the service answered, and then a JSON array of statements.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto json = nlohmann::json::parse(data + 1, data + size, nullptr, false);
  if (!json.is_array()) return 0;
  Statements::Readers readers;
  readers.stub = [](const std::string& service, const nlohmann::json&) -> Result<stubs::Stub> {
    stubs::Stub out;
    out.path = service;
    return out;
  };
  Statements statements;
  const std::vector<nlohmann::json> calls(json.begin(), json.end());
  size_t problems = 0;
  for (int block = 0; block <= static_cast<int>(Block::kOnException); ++block)
    problems += statements.read(static_cast<Block>(block), calls, readers).size();
  // Each statement belongs to a block, and is named in the others.
  if (problems == 0 && !calls.empty()) __builtin_trap();
  std::vector<FaultedCall> faults;
  for (int i = 0; i <= data[0] % 3; ++i)
    faults.push_back(faulted(i % 2 == 0 ? "/a" : "/b", {{"n", i}}));
  const Thrown outcome{data[0] % 2 == 0, "503", ""};
  const Ruling ruling = rule(statements, faults, outcome);
  if (!ruling.diagnostic && ruling.steps.empty()) __builtin_trap();
  for (const size_t each : ruling.matched) {
    if (each >= statements.specifications.size()) __builtin_trap();
  }
  static_cast<void>(contradiction(statements));
  static_cast<void>(uncovered_stub(statements));
  std::vector<DependencyCall> seen;
  for (const FaultedCall& each : faults) seen.push_back({each.seen.call, false, true, true});
  static_cast<void>(wrong_count({statements, seen, &seen, faults, outcome.thrown}));
  return 0;
}
