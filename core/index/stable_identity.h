// The stable identity of an RPC: which RPC of a test it is, said so that it survives an edit of other
// lines, another build and another machine. An execution index does not: a call that moves by one line has
// another one. For what outlives an exploration (baselines, names of findings, replays after an edit); an
// exploration itself goes by indexes.
//
// It is made of the identity of the RPC that caused this one, of who calls whom for what, of the functions
// on the call stack, and of the position among the RPCs for which all of these are the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/hash.h"

namespace filibuster {

// What of a frame survives an edit: "users.py get_bookings" of "/srv/shop/users.py:31 (get_bookings)",
// "libshop.so" of "libshop.so+0x1234".
std::string frame_without_line(std::string_view frame);

// RPCs that only their order tells apart. `call`: "users -> bookings GET /bookings/1". `stack`: the kept
// frames, innermost first.
Hash128 stable_kind(Hash128 parent_identity, std::string_view call,
                    std::span<const std::string> stack);
// `number`: from 1, in order of issue among the RPCs of one kind.
Hash128 stable_identity(Hash128 kind, uint32_t number);

}  // namespace filibuster
