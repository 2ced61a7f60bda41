#include "daemon/proxy/go_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace filibuster::proxy {

// Of two requests of a machine the later one has the higher number.
void GoCalls::begin(uint32_t process, uint64_t call, GoRequest request) {
  if (calls_.size() >= kMost) {
    std::vector<uint64_t> unsent;
    for (const auto& [number, each] : calls_) {
      if (each.pair == 0) unsent.push_back(number);
    }
    std::sort(unsent.begin(), unsent.end());
    for (size_t i = 0; i < (unsent.size() + 1) / 2; ++i) calls_.erase(unsent[i]);
  }
  if (calls_.size() < kMost) calls_.insert_or_assign(call, Call{process, std::move(request)});
}

const GoRequest* GoCalls::find(uint64_t call) const {
  const auto known = calls_.find(call);
  return known == calls_.end() ? nullptr : &known->second.request;
}

const GoRequest* GoCalls::find_unsent(uint64_t call) const {
  const auto known = calls_.find(call);
  return known == calls_.end() || known->second.pair != 0 ? nullptr : &known->second.request;
}

std::optional<GoCalls::Answer> GoCalls::sent(uint64_t call, uint64_t pair) {
  const auto known = calls_.find(call);
  if (known == calls_.end()) return std::nullopt;
  known->second.pair = pair;
  if (!known->second.over) return std::nullopt;
  const Answer answer{call, pair, known->second.status};
  calls_.erase(known);
  return answer;
}

std::optional<GoCalls::Answer> GoCalls::answered(uint64_t call, uint16_t status) {
  const auto known = calls_.find(call);
  if (known == calls_.end()) return std::nullopt;
  if (known->second.pair == 0) {
    known->second.over = true;
    known->second.status = status;
    return std::nullopt;
  }
  const Answer answer{call, known->second.pair, status};
  calls_.erase(known);
  return answer;
}

void GoCalls::closed(uint64_t pair) {
  std::erase_if(calls_, [&](const auto& entry) { return entry.second.pair == pair; });
}

void GoCalls::exited(uint32_t process) {
  std::erase_if(calls_, [&](const auto& entry) { return entry.second.process == process; });
}

}  // namespace filibuster::proxy
