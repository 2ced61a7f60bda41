// By what calls are told apart. Keys are computed when a case is loaded and when a call comes, so
// that other masks need no other recording.
#pragma once

#include <span>
#include <string>

#include "core/hash.h"
#include "daemon/cases/fields.h"
#include "daemon/cases/model.h"

namespace filibuster::cases {

struct Keys {
  // What is called: kind, service, method and route, or command and kind of key. Two calls of one
  // point with other inputs have the same.
  Hash128 point;
  // That, and everything that the call brings, under masks. Only what is equal here is an answer to
  // it.
  Hash128 input;
  bool operator==(const Keys&) const = default;
};
Keys keys_of(const CallInput& input, const Fields& fields);

// The site of a call by its stack, innermost frame first ("/srv/orders.py:31 (price)"): the same
// where lines have moved. "": no frame.
std::string site_of(std::span<const std::string> stack);

// Names the file of a case: the request and what its calls ask. Answers are not in it, so a case
// whose answers are accepted anew keeps its name.
Hash128 hash_of_case(const Case& of, const Rules& rules);

// "POST /orders" of orders, "GET price:7" of cache: for messages.
std::string call_text(const CallInput& input);

}  // namespace filibuster::cases
