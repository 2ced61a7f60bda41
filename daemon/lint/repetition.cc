// Requests that are made more than once: the same request by one service or by several, and requests
// of one call site with other arguments each time. Also requests whose cause is not known.
#include <algorithm>
#include <set>

#include "core/index/execution_index.h"
#include "daemon/lint/passive.h"
#include "daemon/model/execution_record.h"
#include "daemon/model/finding.h"

namespace filibuster::lint {
namespace {

// `rpcs` in groups of equal keys, in order of first appearance.
template <typename Key>
std::vector<Rpcs> grouped(const Rpcs& rpcs, Key key) {
  std::vector<Rpcs> out;
  std::unordered_map<std::string, size_t> places;
  for (const RpcRecord* rpc : rpcs) {
    const auto [place, added] = places.emplace(key(*rpc), out.size());
    if (added) out.emplace_back();
    out[place->second].push_back(rpc);
  }
  return out;
}

bool same_answers(const Rpcs& rpcs) {
  return std::all_of(rpcs.begin(), rpcs.end(), [&](const RpcRecord* rpc) {
    return rpc->status == rpcs.front()->status && rpc->grpc_status == rpcs.front()->grpc_status &&
           rpc->code == rpcs.front()->code && rpc->response == rpcs.front()->response;
  });
}

// A request that may change something at the same service, issued between the first and the last.
const RpcRecord* change_between(const RecordView& view, const Rpcs& repeated) {
  const RpcRecord& first = *repeated.front();
  const RpcRecord& last = *repeated.back();
  if (!is_read_only(first)) return nullptr;
  for (const RpcRecord& rpc : view.rpcs()) {
    if (rpc.service == first.service && !is_read_only(rpc) && rpc.issued_ns > first.issued_ns &&
        rpc.issued_ns < last.issued_ns) {
      return &rpc;
    }
  }
  return nullptr;
}

std::vector<Call> calls_of(const Rpcs& rpcs) {
  std::vector<Call> out;
  for (const RpcRecord* rpc : rpcs) out.push_back(describe_call(*rpc));
  return out;
}

// The requests that were answered well; a request after one that failed is a retry.
Rpcs without_retries(const Rpcs& rpcs) {
  Rpcs out;
  for (const RpcRecord* rpc : rpcs) {
    if ((rpc->flags & kRpcPreliminary) != 0) continue;  // not all of its body is known
    if (succeeded(*rpc)) out.push_back(rpc);
  }
  return out;
}

}  // namespace

std::vector<Finding> redundant_rpcs(const RecordView& view) {
  std::vector<Finding> out;
  for (const RecordView::Group& group : view.groups()) {
    for (const Rpcs& same : grouped(group.rpcs, request_key)) {
      const Rpcs repeated = without_retries(same);
      if (repeated.size() < 2) continue;
      const RpcRecord& first = *repeated.front();
      Finding finding;
      finding.lint = Lint::kRedundantRpc;
      finding.severity = row_of(finding.lint).severity;
      finding.text = caller_of(first) + " sends " + request_text(first) + " " +
                     counted(repeated.size(), "time", "times") + " while it serves " +
                     request_text(*group.incoming);
      if (const RpcRecord* change = change_between(view, repeated)) {
        finding.severity = Severity::kNote;
        finding.text += "; between them " + request_text(*change) + " may have changed the answer";
      } else if (!same_answers(repeated)) {
        finding.severity = Severity::kNote;
        finding.text += "; the answers differ";
      } else {
        finding.text += "; the answers are the same";
      }
      finding.calls = calls_of(repeated);
      out.push_back(std::move(finding));
    }
  }
  return out;
}

std::vector<Finding> redundant_across_services(const RecordView& view) {
  Rpcs candidates;
  for (const RpcRecord& rpc : view.rpcs()) {
    if (is_of_this_execution(rpc) && !is_test_call(rpc)) candidates.push_back(&rpc);
  }
  std::vector<Finding> out;
  for (const Rpcs& same : grouped(candidates, request_key)) {
    // One request for each caller: repetition by one caller is kRedundantRpc.
    Rpcs first_of_each;
    std::set<std::string> callers;
    for (const RpcRecord* rpc : without_retries(same)) {
      if (callers.insert(caller_of(*rpc)).second) first_of_each.push_back(rpc);
    }
    if (callers.size() < 2) continue;
    const RpcRecord* root = view.root_of(*first_of_each.front());
    const bool one_root = root != nullptr && std::all_of(first_of_each.begin(), first_of_each.end(),
                                                         [&](const RpcRecord* rpc) {
                                                           return view.root_of(*rpc) == root;
                                                         });
    std::string names;
    for (size_t i = 0; i < first_of_each.size(); ++i) {
      names += (i == 0                          ? ""
                : i + 1 == first_of_each.size() ? " and "
                                                : ", ") +
               caller_of(*first_of_each[i]);
    }
    Finding finding;
    finding.lint = Lint::kRedundantAcrossServices;
    const bool certain = one_root && same_answers(first_of_each);
    finding.severity = certain ? row_of(finding.lint).severity : Severity::kNote;
    finding.text = names + " all send " + request_text(*first_of_each.front());
    if (first_of_each.size() == 2)
      finding.text = names + " both send " + request_text(*first_of_each[0]);
    if (one_root) finding.text += " while the test waits for " + request_text(*root);
    if (!same_answers(first_of_each)) finding.text += "; the answers differ";
    finding.calls = calls_of(first_of_each);
    out.push_back(std::move(finding));
  }
  return out;
}

std::vector<Finding> n_plus_one(const RecordView& view) {
  std::vector<Finding> out;
  for (const RecordView::Group& group : view.groups()) {
    for (const Rpcs& site : grouped(group.rpcs, site_key)) {
      Rpcs different;
      std::set<std::string> seen;
      for (const RpcRecord* rpc : site) {
        if (seen.insert(request_key(*rpc)).second) different.push_back(rpc);
      }
      if (different.size() < kLeastRepeats) continue;
      const RpcRecord& first = *different.front();
      uint64_t waited = 0;
      for (const RpcRecord* rpc : different) {
        if (rpc->finished_ns > rpc->issued_ns) waited += rpc->finished_ns - rpc->issued_ns;
      }
      Finding finding;
      finding.lint = Lint::kNPlusOne;
      finding.severity = row_of(finding.lint).severity;
      finding.text = caller_of(first) + " asks " + first.service + " " +
                     counted(different.size(), "time", "times") +
                     " from one call site, each time with other arguments, while it serves " +
                     request_text(*group.incoming) + " (" + duration_text(waited) + " in all; " +
                     request_text(first) + " is the first)";
      if (first.stack.is_zero())
        finding.text += "; the call site is not known, the paths are alike";
      finding.calls = calls_of(different);
      out.push_back(std::move(finding));
    }
  }
  return out;
}

std::vector<Finding> unknown_causes(const RecordView& view) {
  Rpcs candidates;
  for (const RpcRecord& rpc : view.rpcs()) {
    if (is_of_this_execution(rpc) && !is_test_call(rpc) && rpc.cause == Cause::kNone)
      candidates.push_back(&rpc);
  }
  std::vector<Finding> out;
  for (const Rpcs& site : grouped(candidates, site_key)) {
    const RpcRecord& first = *site.front();
    Finding finding;
    finding.lint = Lint::kUnknownCause;
    finding.severity = row_of(finding.lint).severity;
    const std::string requests = counted(site.size(), "request", "requests");
    finding.text =
        (first.flags & kRpcBackground) != 0
            ? "a background task of " + caller_of(first) + " sends " + request_text(first) + " (" +
                  requests + "), which no request has led to: such requests are never faulted"
            : "which incoming request made " + caller_of(first) + " send " + request_text(first) +
                  " is not known (" + requests + "): such requests are never faulted";
    finding.calls = {describe_call(first)};
    out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace filibuster::lint
