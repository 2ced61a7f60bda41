// The built-in kinds of objects, for object.cc.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/property/object.h"

namespace filibuster::property {

// `initial`: null for the state that the kind begins with. Error: "expected ...".
using MakeObject = Result<std::unique_ptr<Object>> (*)(const nlohmann::json& initial);

// One value. read → the value; write V. It begins with null.
Result<std::unique_ptr<Object>> make_register(const nlohmann::json& initial);
// The same, with cas [OLD, NEW]: ok where the value was OLD, ok with the answer
// false where it was not.
Result<std::unique_ptr<Object>> make_cas_register(const nlohmann::json& initial);
// Values by key, each key an object of its own: get or read → the value; put or write V; append V behind a text; delete; cas [OLD, NEW]. What
// is not there is null or "".
Result<std::unique_ptr<Object>> make_kv(const nlohmann::json& initial);
// Values by key, all one object: txn [["read", KEY, null], ["write", KEY, V], ...], which happens at once; its answer has what was read. What is
// not there is null.
Result<std::unique_ptr<Object>> make_multi_register(const nlohmann::json& initial);
// First in, first out: enqueue V; dequeue → the first value, null where there is none.
Result<std::unique_ptr<Object>> make_queue(const nlohmann::json& initial);
// add V; remove V; contains V → true or false; read → all values, in any order.
Result<std::unique_ptr<Object>> make_set(const nlohmann::json& initial);
// append V; read → all values in their order.
Result<std::unique_ptr<Object>> make_list(const nlohmann::json& initial);
// Balances by account: transfer {"from", "to", "amount"}, ok where the balance suffices, ok with the answer false where it does not;
// read → all balances. `initial` is needed.
Result<std::unique_ptr<Object>> make_bank(const nlohmann::json& initial);
// A whole number: add N (1 where it is null); add_and_get N → the number behind it; read → the number. It begins with 0.
Result<std::unique_ptr<Object>> make_counter(const nlohmann::json& initial);
// acquire; release, by whom ever. It begins free.
Result<std::unique_ptr<Object>> make_lock(const nlohmann::json& initial);

}  // namespace filibuster::property
