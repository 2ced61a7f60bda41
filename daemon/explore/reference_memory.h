// The reference execution as the store keeps it: whether a later execution without faults did the same.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "daemon/explore/dispatcher.h"
#include "daemon/explore/variability.h"
#include "daemon/model/execution_record.h"
#include "daemon/store/store.h"

namespace filibuster {

using Texts = std::map<std::string, std::string>;
// What is saved as a JSON object of texts. nullopt: the store does not have it.
Result<std::optional<Texts>> saved_texts(search::SearchStore* store, search::Saved which);

// What differs between two executions of one plan.
struct Differences {
  std::vector<std::string> what;
  size_t answers = 0;  // of these: the answer is another one, with the same status
  // RPCs that the second lacks (""), or whose outcome was this one in the first alone.
  std::vector<std::pair<Hash128, std::string>> lost;
};

class ReferenceMemory {
 public:
  explicit ReferenceMemory(const Variability* varies) : varies_(*varies) {}
  // Both outlive it, or are replaced by another call.
  void keep_in(search::SearchStore* store, Dispatcher* dispatcher) {
    store_ = store;
    dispatcher_ = dispatcher;
  }

  // `files_by_hand`: of services that were started by hand, with their digests.
  Result<void> keep(const ExecutionRecord& record, const Texts& files_by_hand);
  // What differs from what was kept; "": nothing.
  Result<std::string> changed(const ExecutionRecord& record, const Texts& files_by_hand);
  Result<Differences> differences(const ExecutionRecord& record);
  // What differs between two executions of one plan; "": nothing.
  Result<std::string> differ(const ExecutionRecord& one, const ExecutionRecord& other);

 private:
  Result<Texts> texts_of(const ExecutionRecord& whole);

  const Variability& varies_;
  search::SearchStore* store_ = nullptr;
  Dispatcher* dispatcher_ = nullptr;
};

}  // namespace filibuster
