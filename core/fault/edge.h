// Calls that a fault is armed for, whatever their index is: "the next POST /dequeue of web at queue". A part that is empty fits any.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/hash.h"

namespace filibuster {

struct Edge {
  std::string caller;   // the service that calls
  std::string service;  // the one that is called; never empty
  std::string method,
      path;  // without the query; of gRPC "/package.Service/Method", of Redis the command and the key
  bool operator==(const Edge&) const = default;
};

// The same as texts of somebody else's: no allocation.
struct EdgeView {
  std::string_view caller, service, method, path;
};

Hash128 edge_hash(const EdgeView& edge);
// Of all edges that fit a call whose parts are known.
inline constexpr size_t kEdgesOfCall = 8;
std::array<Hash128, kEdgesOfCall> edges_of(const EdgeView& call);

// "web -> queue POST /dequeue"
std::string to_text(const Edge& edge);

}  // namespace filibuster
