#include "daemon/verbs/suite/counterexamples.h"

#include <map>
#include <mutex>

#include "daemon/explore/counterexample_files.h"
#include "daemon/explore/test_run.h"
#include "daemon/model/counterexample.h"

namespace filibuster {
namespace {

constexpr size_t kShownOutput = 4000;  // bytes in a counterexample

Counterexample counterexample(const SessionRequest& request, const SuiteTest& test,
                              const SuiteEvidence& evidence, const retries::FaultRow& row) {
  Counterexample out;
  out.test = row.test;
  out.config_path = request.config.path;
  out.config_text = request.config_text;
  out.directory = request.config.directory;
  out.index_parts = request.config.index_parts;
  out.nondeterminism = to_config_text(test.masks);
  out.descriptors = test.descriptors;
  out.ports = test.ports;
  out.hang_limit_ms =
      static_cast<uint32_t>(hang_limit_of(request.config.bounds, test.row.seconds).count());
  out.faults = evidence.faults;
  // Where the test passes, its replay has to know what to look for.
  out.verdict = evidence.verdict == verdict_name(Verdict::kPassed)
                    ? std::string(oracle_name(row.oracle))
                    : evidence.verdict;
  out.detail = row.evidence;
  out.output = evidence.outcome.failure.text.substr(0, kShownOutput);
  return out;
}

}  // namespace

void write_counterexamples(const std::string& root, const SessionRequest& request,
                           const std::map<std::string, SuiteTest>& tests,
                           const std::map<size_t, SuiteEvidence>& evidence,
                           retries::SuiteResults* results) {
  if (results->clusters.empty()) return;
  std::mutex numbers;
  std::map<std::string, CounterexampleFiles> by_test;
  for (retries::ClusterRow& row : results->clusters) {
    CounterexampleFiles& files =
        by_test.try_emplace(row.test, root + "/counterexamples", row.test, &numbers).first->second;
    const size_t first = row.cluster.members.front();
    CounterexampleFiles::File file;
    const auto written = files.write(
        counterexample(request, tests.at(row.test), evidence.at(first), results->faults[first]),
        &file);
    row.number = file.number;
    row.counterexample = file.path;
    if (!written) {
      results->notes.push_back("counterexample " + std::to_string(row.number) +
                               " was not written: " + written.error().message);
    }
  }
}

}  // namespace filibuster
