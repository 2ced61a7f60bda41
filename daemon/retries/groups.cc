#include "daemon/retries/groups.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/rpc/request_ids.h"
#include "core/text/glob.h"
#include "daemon/model/call_name.h"
#include "daemon/retries/effects.h"

namespace filibuster::retries {
namespace {

bool id_needs_path(std::string_view name) {
  static const RequestIdTable known;
  const uint8_t row = known.find(name);
  return row != kNoRequestId && known.with_path(row);
}

// By which groups can be found that an RPC may go on with. Each contains what all attempts of a call have in common:
// the caller and the cause.
struct Keys {
  explicit Keys(const RpcRecord& rpc) {
    const Hash128 cause = combine(combine(hash_text(rpc.caller), rpc.parent_rpc), rpc.parent);
    const auto with = [](Hash128 hash, std::string_view text) {
      return combine(hash, hash_text(text));
    };
    const Hash128 call = with(with(cause, rpc.service), rpc.method);
    request = combine(with(call, rpc.target), rpc.payload);
    site = with(request, rpc.stack_text.empty() ? std::string_view() : rpc.stack_text.front());
    if (rpc.request_id.is_zero()) return;
    id = combine(id_needs_path(rpc.request_id_name) ? with(call, path_of(rpc)) : cause,
                 rpc.request_id);
  }
  Hash128 id;  // zero: the RPC has none
  Hash128 request, site;
};

// The groups that RPCs have begun, by each of the keys; of several the newest.
class Groups {
 public:
  explicit Groups(const ExecutionRecord& record) : record_(record) {}

  std::pair<GroupedBy, size_t> find(const RpcRecord& rpc, const Keys& keys) const {
    constexpr size_t kNone = 0;
    if (rpc.cause == Cause::kNone) return {GroupedBy::kFirst, kNone};
    if (const auto at = by_id_.find(keys.id); !keys.id.is_zero() && at != by_id_.end())
      return {GroupedBy::kRequestId, at->second};
    if (const auto at = by_request_.find(keys.request); (rpc.flags & kRpcWasAttempted) != 0 &&
                                                        at != by_request_.end() &&
                                                        !has_other_id(newest(at->second), rpc))
      return {GroupedBy::kGrpcAttempts, at->second};
    const auto at = by_site_.find(keys.site);
    if (at == by_site_.end()) return {GroupedBy::kFirst, kNone};
    const RpcRecord& last = newest(at->second);
    const bool ended = last.finished_ns != 0 && last.finished_ns <= rpc.issued_ns;
    if (!ended || !has_failed(last) || has_other_id(last, rpc)) return {GroupedBy::kFirst, kNone};
    return {GroupedBy::kSameRequest, at->second};
  }
  void put(const Keys& keys, size_t group) {
    if (!keys.id.is_zero()) by_id_[keys.id] = group;
    by_request_[keys.request] = group;
    by_site_[keys.site] = group;
  }
  std::vector<RetryGroup> all;

 private:
  using Index = std::unordered_map<Hash128, size_t, Hash128Hasher>;

  const RpcRecord& newest(size_t group) const { return record_.rpcs[all[group].rpcs.back()]; }
  // Two requests with ids, and the ids differ: two calls, however alike they are.
  static bool has_other_id(const RpcRecord& a, const RpcRecord& b) {
    return !a.request_id.is_zero() && !b.request_id.is_zero() && a.request_id != b.request_id;
  }
  const ExecutionRecord& record_;
  Index by_id_, by_request_, by_site_;
};

// Client libraries give these to a call. Others are an application's own, or a proxy's.
bool is_of_a_library(std::string_view request_id_name) {
  return request_id_name == "x-ms-client-request-id" || request_id_name == "amz-sdk-invocation-id";
}

// Where the stacks of two attempts part, from the outermost frame inwards.
void compare_stacks(const RpcRecord& first, const RpcRecord& second, RetryGroup* group) {
  const std::vector<std::string>& a = first.stack_text;
  const std::vector<std::string>& b = second.stack_text;
  size_t shared = 0;
  while (shared < a.size() && shared < b.size() &&
         without_async(a[a.size() - 1 - shared]) == without_async(b[b.size() - 1 - shared]))
    ++shared;
  if (shared > 0) group->shared_frame = a[a.size() - shared];
  if (shared < a.size()) group->first_frame = a[a.size() - 1 - shared];
  if (shared < b.size()) group->second_frame = b[b.size() - 1 - shared];
}

void tell_who_retries(const ExecutionRecord& record, RetryGroup* group) {
  if (group->rpcs.size() < 2) return;
  const RpcRecord& first = record.rpcs[group->rpcs[0]];
  const RpcRecord& second = record.rpcs[group->rpcs[1]];
  compare_stacks(first, second, group);
  // A library gives a call its id once, and an application that calls again gets another one.
  const GroupedBy rule = group->grouped_by[1];
  const std::string& parts = group->second_frame.empty() ? group->first_frame : group->second_frame;
  if (rule == GroupedBy::kGrpcAttempts ||
      (rule == GroupedBy::kRequestId && is_of_a_library(second.request_id_name))) {
    group->retried_by = RetriedBy::kLibrary;
  } else if (!parts.empty()) {
    group->retried_by = is_library_frame(parts) ? RetriedBy::kLibrary : RetriedBy::kApplication;
  } else {
    group->retried_by = RetriedBy::kUnknown;
  }
}

bool matches(const std::string& wanted, std::string_view actual) {
  return wanted.empty() || wanted == actual;
}

bool header_matches(const MutationRule& rule, const RpcRecord& rpc) {
  return rule.header.empty() ||
         std::any_of(rpc.told.begin(), rpc.told.end(), [&](const auto& field) {
           return field.first == rule.header && glob_match(rule.header_value, field.second);
         });
}

bool rule_matches(const MutationRule& rule, const RpcRecord& rpc) {
  if (!rule.grpc.empty()) {
    std::string_view name = rpc.target;
    if (name.starts_with('/')) name.remove_prefix(1);
    return rpc.is_grpc() && glob_match(rule.grpc, name) && matches(rule.service, rpc.service);
  }
  return !rpc.is_grpc() && matches(rule.service, rpc.service) && matches(rule.method, rpc.method) &&
         (rule.path.empty() || glob_match(rule.path, path_of(rpc))) &&
         (rule.body.empty() || glob_match(rule.body, rpc.body_sample)) && header_matches(rule, rpc);
}

}  // namespace

std::string_view retried_by_name(RetriedBy who) {
  switch (who) {
    case RetriedBy::kNobody:
      return "nobody";
    case RetriedBy::kLibrary:
      return "library";
    case RetriedBy::kApplication:
      return "application";
    case RetriedBy::kUnknown:
      return "unknown";
  }
  return "";
}

bool has_failed(const RpcRecord& rpc) {
  return !rpc.open && rpc.failed();
}

bool succeeded_at_server(const RpcRecord& rpc) {
  if (rpc.injected) {
    // Of a single fault after effect nobody has looked at the answer.
    return rpc.attempt != 0 && (rpc.fault.after_effect || changes_answer(rpc.fault));
  }
  constexpr uint16_t kFirstError = 400;
  // A client may close the connection when it has seen the status.
  if (!rpc.open && rpc.begun != 0) return rpc.begun < kFirstError;
  return rpc.outcome == RpcOutcome::kAnswered && !rpc.failed() && rpc.status != 0;
}

bool is_library_frame(std::string_view frame) {
  constexpr std::string_view kParts[] = {
      "/site-packages/", "/dist-packages/", "/node_modules/", "/usr/lib/python",
      "/usr/lib/ruby",   "node:",           "<frozen "};
  constexpr std::string_view kModules[] = {"libcurl", "libneon", "libsoup", "libgrpc", "libaws"};
  const auto has = [frame](std::string_view part) { return frame.find(part) != frame.npos; };
  return std::any_of(std::begin(kParts), std::end(kParts), has) ||
         // As mocha prints what is below the folder in which it runs.
         frame.starts_with("node_modules/") || frame.find("(node_modules/") != frame.npos ||
         std::any_of(std::begin(kModules), std::end(kModules), [frame](std::string_view module) {
           return frame.substr(frame.find_last_of('/') + 1).starts_with(module);
         });
}

std::string without_async(std::string frame) {
  if (const size_t at = frame.find("(async "); at != frame.npos) frame.erase(at + 1, 6);
  return frame;
}

std::vector<RetryGroup> group_attempts(const ExecutionRecord& record) {
  Groups groups(record);
  std::map<Hash128, size_t> planned;  // by RpcRecord::attempt_of
  for (size_t i = 0; i < record.rpcs.size(); ++i) {
    const RpcRecord& rpc = record.rpcs[i];
    const Keys keys(rpc);
    GroupedBy rule = GroupedBy::kFirst;
    size_t found = groups.all.size();
    if (rpc.attempt != 0) {
      const auto [place, first] = planned.try_emplace(rpc.attempt_of, found);
      found = place->second;
      if (!first) rule = rpc.grouped_by;
    } else if (const auto known = groups.find(rpc, keys); known.first != GroupedBy::kFirst) {
      rule = known.first;
      found = known.second;
    }
    if (found == groups.all.size()) groups.all.emplace_back();
    RetryGroup& group = groups.all[found];
    group.rpcs.push_back(i);
    group.grouped_by.push_back(rule);
    if (rule == GroupedBy::kRequestId) group.request_id_name = rpc.request_id_name;
    groups.put(keys, found);
  }
  for (RetryGroup& group : groups.all) tell_who_retries(record, &group);
  return std::move(groups.all);
}

bool backs_off(const ExecutionRecord& record, const RetryGroup& group) {
  constexpr size_t kLeastAttempts = 4;
  constexpr uint64_t kGrows = 4;
  const size_t count = group.rpcs.size();
  if (count < kLeastAttempts) return false;
  const auto pause = [&](size_t before) {
    return record.rpcs[group.rpcs[before]].issued_ns -
           record.rpcs[group.rpcs[before - 1]].issued_ns;
  };
  return pause(count - 1) > kGrows * pause(1);
}

bool is_unsafe_mutation(const RpcRecord& rpc, const std::vector<MutationRule>& rules) {
  for (const MutationRule& rule : rules) {
    if (rule_matches(rule, rpc)) return !rule.idempotent;
  }
  // Its server promises to do one key once.
  if (rpc.request_id_name == "idempotency-key") return false;
  const Effect effect = effect_of(rpc);
  if (effect != Effect::kUnknown) return effect == Effect::kWrite;
  return rpc.protocol() == Protocol::kHttp && (rpc.method == "POST" || rpc.method == "PATCH");
}

}  // namespace filibuster::retries
