// What the exploration adds to report.html: every execution with one outcome for each RPC, which fault
// was tried where, and the trees of the findings.
#include <algorithm>

#include "daemon/explore/explorer.h"
#include "daemon/page/data.h"

namespace filibuster {
namespace {

using Clock = std::chrono::steady_clock;

// The live page may cost the exploration one part in so many of its time.
constexpr int kLivePart = 20;
constexpr std::chrono::milliseconds kLivePause{500};

}  // namespace

// Keeps the tree of a failing execution, if it begins a finding of its own.
Result<void> Explorer::keep_tree(const Execution& execution, const ExecutionRecord& record) {
  if (trees_.size() >= kMaxPageTrees || findings_.belongs_to_earlier(execution.faults)) return {};
  trees_.insert(execution.number);
  return store_->put_tree(execution.number, page_tree(record.rpcs));
}

// Gives a live page, if somebody looks at one, what is known so far.
Result<void> Explorer::offer_page() {
  if (!session_.page_is_wanted || Clock::now() < next_offer_ || !session_.page_is_wanted())
    return {};
  const auto began = Clock::now();
  TestReport report;
  report.test = test_.name;
  report.counts = dispatcher_->search().counts();
  report.fault_configuration = describe_faults(config_);
  report.reference = exploration_.report.reference;
  report.reference_seconds = exploration_.report.reference_seconds;
  report.findings = findings_.so_far();
  auto made = builder().page(report.reference, report.findings, ReportBuilder::WithExecutions::kNo);
  if (!made) return made.error();
  report.page = std::move(made).value();
  session_.offer_page(std::move(report));
  next_offer_ =
      Clock::now() + std::max<Clock::duration>(kLivePause, (Clock::now() - began) * kLivePart);
  return {};
}

}  // namespace filibuster
