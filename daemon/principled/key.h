// Which calls and which faults a statement of a principled test is about (dissertation 11.3.2).
//
// A key names a method, and may name the call's arguments and the fault, too. Of the keys that match a faulted call, the
// most precise one counts: method, arguments and fault; method and arguments; method and fault; the method alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/stubs/stub.h"

namespace filibuster::principled {

struct Key {
  std::string service;  // of the configuration; "": any
  stubs::Stub call;     // which calls: the conditions of a stub, without its answers
  std::string fault;    // as to_text(FaultSpec); "": any
  bool has_arguments() const { return call.has_whole || !call.fields.empty(); }
  bool has_method() const { return !call.method.empty() || !call.path.empty(); }
  bool operator==(const Key& other) const;
};

// A call that an execution has shown, as keys see it.
struct SeenCall {
  stubs::Call call;   // its `service` is that of the configuration
  std::string fault;  // as to_text(FaultSpec); "": none
};

// "shop.UserService/GetUser" and "GET /users/7" as a text, or an object with `service`, `method`, `path`, `grpc`, `request`,
// `fields` and `fault`. Error: says what was expected.
Result<Key> read_key(const nlohmann::json& json);
// `shop.UserService/GetUser {"session_id":"s1"} (grpc:UNAVAILABLE)`
std::string to_text(const Key& key);
// The method of the call, as keys of it name it: "shop.UserService/GetUser", "GET /users/7", "GET user:7".
std::string method_text(const stubs::Call& call);

// Does the key name this call? Its fault is not looked at.
bool names_call(const Key& key, const stubs::Call& call);
// The same with its fault.
bool matches(const Key& key, const SeenCall& seen);

// 0: the method alone; 1: and the fault; 2: and arguments; 3: and both.
int precision(const Key& key);
// Those of `keys` that match and that no other one of them is more precise than. Several: of equal precision.
std::vector<size_t> most_precise(const std::vector<const Key*>& keys, const SeenCall& seen);

}  // namespace filibuster::principled
