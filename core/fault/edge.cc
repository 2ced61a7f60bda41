#include "core/fault/edge.h"

namespace filibuster {

Hash128 edge_hash(const EdgeView& edge) {
  return combine(combine(hash_text(edge.caller), hash_text(edge.service)),
                 combine(hash_text(edge.method), hash_text(edge.path)));
}

std::array<Hash128, kEdgesOfCall> edges_of(const EdgeView& call) {
  std::array<Hash128, kEdgesOfCall> out;
  for (size_t i = 0; i < kEdgesOfCall; ++i) {
    const auto part = [&](size_t bit, std::string_view text) {
      return (i >> bit & 1) != 0 ? text : std::string_view();
    };
    out[i] =
        edge_hash({part(0, call.caller), call.service, part(1, call.method), part(2, call.path)});
  }
  return out;
}

std::string to_text(const Edge& edge) {
  std::string out = (edge.caller.empty() ? "any service" : edge.caller) + " -> " + edge.service;
  if (!edge.method.empty()) out += " " + edge.method;
  if (!edge.path.empty()) out += " " + edge.path;
  return out;
}

}  // namespace filibuster
