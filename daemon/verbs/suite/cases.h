// The planned faults of one test of a suite, in the order of the plan. A failure counts if the test still passes without
// faults. That is looked at after the first failure, and once more when all faults were tried (SuiteTest::unchecked).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/explore/case_source.h"
#include "daemon/retries/policies.h"
#include "daemon/retries/suite_results.h"
#include "daemon/verbs/suite/tester.h"

namespace filibuster {

constexpr char kSuiteTimeOver[] = "the time of --max-time was over";

class SuiteCases final : public CaseSource {
 public:
  // All that is pointed to outlives the source. Of the results only the rows of the test are changed.
  struct Options {
    SuiteTester* tester;  // it has prepared `test`
    SuiteTest* test;
    SuiteMemory* memory;
    retries::SuiteResults* results;
    const std::vector<retries::Policy>* policies;
    const std::vector<size_t>* planned;  // of this round, positions in SuiteResults::faults
    bool is_last;                        // no other round comes to the test
    std::function<bool()> time_is_over;
  };
  explicit SuiteCases(const Options& options) : options_(options) {}

  Result<std::optional<Case>> next() override;
  Result<Flow> conclude(const Case& one, CaseOutcome result) override;
  bool time_over() const { return time_over_; }

 private:
  // A test that does not pass any more is left out.
  Result<Flow> check_that_it_passes();
  bool has_failed(size_t position) const;
  void leave_out_the_rest(const std::string& why);

  const Options options_;
  size_t at_ = 0;  // in Options::planned
  bool left_out_ = false, time_over_ = false;
};

}  // namespace filibuster
