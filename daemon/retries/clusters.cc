#include "daemon/retries/clusters.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "daemon/model/call_name.h"

namespace filibuster::retries {
namespace {

constexpr std::string_view kClusterNames[] = {"unknown", "no handling", "unrelated exception",
                                              "silent semantic violation", "state divergence"};

std::string attempt_text(const RpcRecord& rpc, size_t number) {
  return "attempt " + std::to_string(rpc.attempt != 0 ? rpc.attempt : number + 1);
}

bool acted(const RpcRecord& rpc) {
  return succeeded_at_server(rpc);
}

// Did the application call anything after this attempt?
bool went_on(const ExecutionRecord& record, const RpcRecord& last) {
  return std::any_of(record.rpcs.begin(), record.rpcs.end(), [&](const RpcRecord& rpc) {
    return rpc.issued_ns > last.issued_ns && (rpc.flags & kRpcLate) == 0;
  });
}

// What is told apart in one cluster.
std::string what_of(const Suspect& suspect) {
  if (suspect.verdict.oracle == Oracle::kAssertion)
    return suite::assertion_key(suspect.outcome.failure);
  std::string out(oracle_name(suspect.verdict.oracle));
  // What fails after a silence without end is another matter in each test.
  if (suspect.verdict.oracle == Oracle::kHang) return out;
  if (!suspect.outcome.failure.chain.empty())
    out += ": " + suspect.outcome.failure.chain.front().type;
  return out;
}

}  // namespace

std::string_view taxonomy_name(Taxonomy taxonomy) {
  return kClusterNames[static_cast<size_t>(taxonomy)];
}

Label label(const Suspect& suspect, const ExecutionRecord& record, const RetryGroup* group) {
  const Verdict& verdict = suspect.verdict;
  if (!verdict.repeated.empty() && (verdict.oracle == Oracle::kPossibleSilentViolation ||
                                    verdict.oracle == Oracle::kAssertion)) {
    const Repeated& first = verdict.repeated.front();
    return {Taxonomy::kSilentSemanticViolation,
            "the server acted on " + std::to_string(first.succeeded.size()) + " attempts of " +
                call_name(record.rpcs[first.succeeded.front()],
                          path_of(record.rpcs[first.succeeded.front()]))};
  }
  if (verdict.oracle == Oracle::kConsistentException || verdict.oracle == Oracle::kAnyException)
    return {Taxonomy::kNoHandling, verdict.evidence};
  if (group == nullptr || verdict.oracle == Oracle::kHang) return {};

  size_t before = group->rpcs.size();  // the first attempt that the server acted on
  for (size_t i = 0; i < group->rpcs.size(); ++i) {
    const RpcRecord& rpc = record.rpcs[group->rpcs[i]];
    // The server refused by itself what an earlier attempt had brought about already.
    const bool refused = !rpc.injected && rpc.answered_with_error() && before < i;
    if (refused && verdict.oracle != Oracle::kAssertion) {
      return {Taxonomy::kUnrelatedException,
              "the server acted on " + attempt_text(record.rpcs[group->rpcs[before]], before) +
                  " and answered " + attempt_text(rpc, i) + " with " + ending_name(rpc)};
    }
    if (before == group->rpcs.size() && acted(rpc)) before = i;
  }
  const RpcRecord& last = record.rpcs[group->rpcs.back()];
  const bool server_acted = before < group->rpcs.size();
  const bool told_of_failure = last.injected || has_failed(last);
  if (verdict.oracle == Oracle::kProcessDied && told_of_failure)
    return {Taxonomy::kNoHandling, "the process died when the call had failed"};
  if (verdict.oracle != Oracle::kAssertion && told_of_failure && !went_on(record, last))
    return {Taxonomy::kNoHandling,
            "the failed call is the last one: the exception came of what was made of its answer"};
  if (server_acted && told_of_failure) {
    return {Taxonomy::kStateDivergence, "the server acted on " +
                                            attempt_text(record.rpcs[group->rpcs[before]], before) +
                                            ", and the caller was told of a failure"};
  }
  if (!server_acted && told_of_failure) {
    return {Taxonomy::kStateDivergence,
            "no attempt reached the server, and the application went on to another failure"};
  }
  return {};
}

std::vector<std::string> application_frames(const suite::Failure& failure,
                                            const OracleOptions& options) {
  std::vector<std::string> out;
  if (failure.chain.empty()) return out;
  for (const std::string& frame : failure.chain.front().frames) {
    if (!is_client_frame(frame, options) && !is_test_frame(frame, options)) out.push_back(frame);
  }
  return out;
}

std::vector<Cluster> cluster(const std::vector<Suspect>& suspects, const std::vector<Label>& labels,
                             const OracleOptions& options) {
  using Key = std::tuple<std::string, std::vector<std::string>, std::string>;
  std::map<Key, std::vector<size_t>> known;
  std::vector<Cluster> out;
  for (size_t i = 0; i < suspects.size(); ++i) {
    const Suspect& one = suspects[i];
    if (!is_bug(one.verdict.oracle)) continue;
    const bool has_frames =
        one.verdict.oracle != Oracle::kAssertion && one.verdict.oracle != Oracle::kHang;
    std::vector<std::string> frames;
    if (has_frames) frames = application_frames(one.outcome.failure, options);
    const std::string what = what_of(one);
    // A client without a limit has none at any of its call sites.
    const bool endless = one.verdict.oracle == Oracle::kHang && !one.outcome.endless.empty();
    const std::string& where = endless ? one.outcome.client : one.call_site;
    const Label label = i < labels.size() ? labels[i] : Label{};
    // A cluster has one cause: what fails alike after another one is another bug. What has no label may be any of them.
    std::vector<size_t>& alike = known[{where, frames, what}];
    const auto place = std::find_if(alike.begin(), alike.end(), [&](size_t at) {
      const Taxonomy its = out[at].label.taxonomy;
      return its == label.taxonomy || its == Taxonomy::kNone || label.taxonomy == Taxonomy::kNone;
    });
    if (place == alike.end()) {
      alike.push_back(out.size());
      out.push_back({one.call_site, std::move(frames), what, one.verdict.oracle, label, {i}});
      continue;
    }
    Cluster& known_one = out[*place];
    if (known_one.label.taxonomy == Taxonomy::kNone) known_one.label = label;
    known_one.members.push_back(i);
  }
  return out;
}

}  // namespace filibuster::retries
