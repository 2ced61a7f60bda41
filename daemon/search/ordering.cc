// The order in which executions are compared: the one without concurrency (search.h).
#include <unordered_map>
#include <vector>

#include "daemon/search/state.h"

namespace filibuster::search {

// Are the RPCs in that order? `prefix`: that
// many RPCs of `like` come first in it. ordered() brings them into that order.
bool Search::State::in_order(std::span<const ObservedRpc> rpcs, const RpcList& like,
                             size_t prefix) {
  if (rpcs.size() < prefix) return false;
  open_rpcs.clear();
  for (size_t at = 0; at < rpcs.size(); ++at) {
    const ObservedRpc& rpc = rpcs[at];
    if (at < prefix && index_of[like[at].rpc] != rpc.index) return false;
    while (!open_rpcs.empty() && open_rpcs.back() != rpc.parent) open_rpcs.pop_back();
    if (open_rpcs.empty() && !rpc.parent.is_zero()) return false;
    open_rpcs.push_back(rpc.index);
  }
  return true;
}

std::vector<ObservedRpc> Search::State::ordered(std::span<const ObservedRpc> rpcs,
                                                const RpcList& like, size_t prefix) const {
  std::vector<size_t> by_sight;
  std::vector<bool> taken(rpcs.size());
  for (size_t at = 0; at < prefix; ++at) {
    for (size_t n = 0; n < rpcs.size(); ++n) {
      if (taken[n] || rpcs[n].index != index_of[like[at].rpc]) continue;
      taken[n] = true;
      by_sight.push_back(n);
      break;
    }
  }
  for (size_t n = 0; n < rpcs.size(); ++n) {
    if (!taken[n]) by_sight.push_back(n);
  }
  // An RPC stands below the last RPC before it that has its parent's index. (Several RPCs have that
  // index where the count is no part of indexes.)
  std::unordered_map<Hash128, size_t, Hash128Hasher> last;
  std::vector<size_t> parent(rpcs.size(), rpcs.size());
  for (size_t n = 0; n < rpcs.size(); ++n) {
    if (const auto place = last.find(rpcs[n].parent); place != last.end())
      parent[n] = place->second;
    last[rpcs[n].index] = n;
  }
  std::vector<std::vector<size_t>> below(rpcs.size() + 1);
  for (const size_t n : by_sight) below[parent[n]].push_back(n);
  std::vector<ObservedRpc> out;
  out.reserve(rpcs.size());
  std::vector<size_t> waiting(below.back().rbegin(), below.back().rend());
  while (!waiting.empty()) {
    const size_t n = waiting.back();
    waiting.pop_back();
    out.push_back(rpcs[n]);
    waiting.insert(waiting.end(), below[n].rbegin(), below[n].rend());
  }
  return out;
}

}  // namespace filibuster::search
