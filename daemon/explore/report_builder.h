// Parts of a report that follow from what the search, the store and the findings know: what came of each RPC with each of its
// faults, which executions were taken for equal, and the page. Nothing is changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/explore/dispatcher.h"
#include "daemon/explore/ended_executions.h"
#include "daemon/explore/findings_book.h"
#include "daemon/explore/variability.h"
#include "daemon/model/test_report.h"
#include "daemon/page/data.h"
#include "daemon/store/store.h"

namespace filibuster {

class ReportBuilder {
 public:
  struct Sources {
    Dispatcher& dispatcher;  // looks up in the store what it does not know
    search::SearchStore& store;
    const FindingsBook& findings;
    const EndedExecutions& ended;
    const Variability& varies;
  };
  // All that is in them outlives it.
  explicit ReportBuilder(const Sources& from) : from_(from) {}

  // Every RPC with each of its faults, and what is left: `left_because` says why. `report->findings` is known.
  void add_cases(const std::string& left_because, TestReport* report) const;
  void add_pruned_unlike(TestReport* report) const;
  enum class WithExecutions { kNo, kYes };
  Result<std::shared_ptr<const PageTest>> page(const std::vector<RpcRecord>& reference,
                                               const std::vector<Finding>& findings,
                                               WithExecutions with) const;

 private:
  Sources from_;
};

}  // namespace filibuster
