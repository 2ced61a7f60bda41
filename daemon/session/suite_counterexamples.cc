#include "daemon/session/suite_counterexamples.h"

#include <algorithm>
#include <filesystem>

#include "daemon/explore/test_run.h"
#include "daemon/model/counterexample.h"
#include "daemon/report/counterexample_json.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;

constexpr size_t kShownOutput = 4000;  // bytes in a counterexample

// The files that are there already, by their numbers.
class Files {
 public:
  explicit Files(const std::string& folder) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
      const std::string name = entry.path().stem().string();
      if (name.empty() || name.find_first_not_of("0123456789") != name.npos || name.size() > 9)
        continue;
      const auto number = static_cast<uint32_t>(std::stoul(name));
      last_ = std::max(last_, number);
      const auto text = read_file(entry.path().string());
      if (!text) continue;
      auto known = parse_counterexample(text.value());
      if (known && known->faults.size() == 1) known_[number] = std::move(known).value();
    }
  }

  // A failure keeps its number from run to run.
  uint32_t number_of(const std::string& test, const InjectedFault& fault) {
    for (const auto& [number, known] : known_) {
      if (known.test == test && known.faults[0].index == fault.index &&
          known.faults[0].identity() == fault.identity())
        return number;
    }
    return ++last_;
  }

 private:
  std::map<uint32_t, Counterexample> known_;
  uint32_t last_ = 0;
};

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
  const std::string folder = root + "/counterexamples";
  const auto made = make_private_folder(folder);
  if (!made) results->notes.push_back(made.error().message);
  Files files(folder);
  for (retries::ClusterRow& row : results->clusters) {
    const size_t first = row.cluster.members.front();
    const SuiteEvidence& seen = evidence.at(first);
    row.number = files.number_of(row.test, seen.faults.front());
    const std::string path = folder + "/" + std::to_string(row.number) + ".json";
    const auto written = write_file(
        path, to_json(counterexample(request, tests.at(row.test), seen, results->faults[first])));
    if (written) {
      row.counterexample = path;
    } else {
      results->notes.push_back("counterexample " + std::to_string(row.number) +
                               " was not written: " + written.error().message);
    }
  }
}

}  // namespace filibuster
