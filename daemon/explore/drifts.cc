#include "daemon/explore/drifts.h"

#include <algorithm>
#include <utility>

#include "daemon/report/again.h"

namespace filibuster {

using search::Saved;

Result<void> Drifts::load() {
  auto text = store_->saved(Saved::kDrifts);
  if (!text) return text.error();
  again_.drifts = drifts_from(text.value().value_or("[]"));
  return {};
}

void Drifts::clear() {
  again_ = {};
}

Result<void> Drifts::as_before(uint32_t execution) {
  last_as_before_ = execution;
  if (!is_open()) return {};
  again_.drifts.back().until = execution;
  return store_->save(Saved::kDrifts, to_json(again_.drifts));
}

Result<void> Drifts::differed(uint32_t lane, uint32_t execution, std::vector<std::string> what,
                              const std::function<uint32_t()>& last_seen) {
  if (lane == 0 && is_open()) return {};  // it was told
  Drift drift;
  drift.after = std::max(lane == 0 ? last_as_before_ : 0, last_seen());
  drift.seen = execution;
  drift.what = std::move(what);
  if (lane != 0) {
    for (std::string& one : drift.what) one = "on lane " + std::to_string(lane) + ": " + one;
  }
  session_.warn(
      "the application changed during the exploration: without faults, " + drift.what.front() +
      (drift.what.size() == 1 ? "" : ", and " + std::to_string(drift.what.size() - 1) + " more") +
      "; since execution " + std::to_string(drift.after + 1) + " at the earliest");
  again_.drifts.push_back(std::move(drift));
  return store_->save(Saved::kDrifts, to_json(again_.drifts));
}

}  // namespace filibuster
