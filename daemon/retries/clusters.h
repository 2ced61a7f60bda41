// Failures with one root cause, as far as can be told: faults at the same call site with the same frames of the
// application, or the same assertion (Rainmaker, NSDI 2023, section 5.1). Each cluster has a label of the paper's
// taxonomy (section 3) with its evidence. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/retries/oracles.h"

namespace filibuster::retries {

enum class Taxonomy : uint8_t {
  kNone = 0,            // nothing in the execution tells
  kNoHandling,          // what the client library raised came out as it was
  kUnrelatedException,  // a retry met what its earlier attempt had done, and that error came out
  kSilentSemanticViolation,  // the server did something twice, and the caller was told of one success
  kStateDivergence,          // the application went on as if the call had succeeded, or had not
};
std::string_view taxonomy_name(Taxonomy taxonomy);

// One failing execution. `group`: of the faulted call; nullptr: it was not found.
struct Suspect {
  std::string test, policy;
  std::string call_site;  // of the faulted call
  FaultedTest outcome;
  Verdict verdict;
};

struct Label {
  Taxonomy taxonomy = Taxonomy::kNone;
  std::string evidence;
};
// `group`: the attempts of the faulted call; nullptr: they are not known.
Label label(const Suspect& suspect, const ExecutionRecord& record, const RetryGroup* group);

struct Cluster {
  std::string call_site;
  std::vector<std::string>
      frames;        // of the application, innermost first; empty: `what` tells it apart
  std::string what;  // the assertion, or the oracle's name
  Oracle oracle = Oracle::kNone;
  Label label;
  std::vector<size_t> members;  // positions of the suspects
};

// Clusters in the order of their first members. Only what is_bug() holds of is clustered. `labels`: of each suspect.
std::vector<Cluster> cluster(const std::vector<Suspect>& suspects, const std::vector<Label>& labels,
                             const OracleOptions& options = {});

// Frames of the application, innermost first: without libraries and the test's own code.
std::vector<std::string> application_frames(const suite::Failure& failure,
                                            const OracleOptions& options);

}  // namespace filibuster::retries
