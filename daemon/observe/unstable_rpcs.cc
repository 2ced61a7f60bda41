#include "daemon/observe/unstable_rpcs.h"

#include <nlohmann/json.hpp>

#include "daemon/model/caller.h"
#include "daemon/observe/rpc_matching.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;

std::string call_key(std::string_view caller, std::string_view service, std::string_view method) {
  std::string out;
  for (const std::string_view part : {caller, service, method}) {
    out += std::to_string(part.size()) + ":";
    out += part;
  }
  return out;
}

std::string call_key(const UnstableKind& kind) {
  return call_key(kind.caller, kind.service, kind.method);
}

bool is_at(const UnstableKind& kind, const RpcRecord& rpc) {
  return kind.stack.is_zero() || kind.stack == rpc.stack;
}

}  // namespace

void UnstableRpcs::insert(UnstableKind kind) {
  any_sometimes_ = any_sometimes_ || kind.sometimes;
  by_call_[call_key(kind)].add(kind.path, static_cast<uint32_t>(kinds_.size()));
  kinds_.push_back(std::move(kind));
}

void UnstableRpcs::add(UnstableKind kind) {
  if (const auto known = by_call_.find(call_key(kind)); known != by_call_.end()) {
    for (const uint32_t number : known->second.at(kind.path))
      if (kinds_[number] == kind) return;
  }
  insert(std::move(kind));
}

template <typename Is>
const UnstableKind* UnstableRpcs::first(const RpcRecord& rpc, Is is) const {
  if (kinds_.empty()) return nullptr;
  const auto known = by_call_.find(call_key(caller_of(rpc), rpc.service, rpc.method));
  if (known == by_call_.end()) return nullptr;
  constexpr uint32_t kNone = UINT32_MAX;
  uint32_t out = kNone;
  known->second.each(request_path_of(rpc), [&](uint32_t number) {
    if (number < out && is(kinds_[number])) out = number;
  });
  return out == kNone ? nullptr : &kinds_[out];
}

void UnstableRpcs::add_index(Hash128 index, std::string reason) {
  UnstableKind& kind = by_index_[index];
  kind.reason = std::move(reason);
  kind.sometimes = any_sometimes_ = true;
}

void UnstableRpcs::add(const UnstableRpcs& other) {
  for (const UnstableKind& kind : other.kinds_) add(kind);
  by_index_.insert(other.by_index_.begin(), other.by_index_.end());
  stable_.insert(other.stable_.begin(), other.stable_.end());
  recurring_.insert(other.recurring_.begin(), other.recurring_.end());
  any_sometimes_ = any_sometimes_ || other.any_sometimes_;
}

const UnstableKind* UnstableRpcs::find(const RpcRecord& rpc) const {
  const bool recurring = recurring_.contains(rpc.index);
  const auto known = by_index_.find(rpc.index);
  if (known != by_index_.end() && !recurring) return &known->second;
  if (stable_.contains(rpc.index)) return nullptr;
  return first(rpc, [&](const UnstableKind& kind) {
    return !kind.answer && !(kind.sometimes && recurring) && is_at(kind, rpc);
  });
}

const UnstableKind* UnstableRpcs::comes_sometimes(const RpcRecord& rpc) const {
  if (!any_sometimes_) return nullptr;
  const auto known = by_index_.find(rpc.index);
  if (known != by_index_.end()) return &known->second;
  if (stable_.contains(rpc.index)) return nullptr;
  return first(rpc, [&](const UnstableKind& kind) { return kind.sometimes && is_at(kind, rpc); });
}

UnstableRpcs UnstableRpcs::without_recurring() const {
  UnstableRpcs out = *this;
  out.recurring_.clear();
  return out;
}

UnstableRpcs UnstableRpcs::lasting() const {
  UnstableRpcs out;
  for (const UnstableKind& kind : kinds_) {
    if (!kind.sometimes) out.add(kind);
  }
  if (!out.kinds_.empty()) out.stable_ = stable_;
  return out;
}

bool UnstableRpcs::concerns(const RpcRecord& rpc) const {
  return first(rpc, [](const UnstableKind&) { return true; }) != nullptr;
}

bool UnstableRpcs::answer_varies(const RpcRecord& rpc) const {
  return first(rpc, [&](const UnstableKind& kind) {
           return kind.answer && kind.failed == rpc.answered_with_error() && is_at(kind, rpc);
         }) != nullptr;
}

bool UnstableRpcs::ending_varies(const RpcRecord& rpc) const {
  return first(rpc, [&](const UnstableKind& kind) { return kind.ending && is_at(kind, rpc); }) !=
         nullptr;
}

std::string UnstableRpcs::to_json() const {
  Json kinds = Json::array(), indexes = Json::object();
  for (const UnstableKind& kind : kinds_) {
    kinds.push_back({{"caller", kind.caller},
                     {"service", kind.service},
                     {"method", kind.method},
                     {"path", kind.path},
                     {"stack", filibuster::to_hex(kind.stack)},
                     {"reason", kind.reason},
                     {"answer", kind.answer},
                     {"failed", kind.failed},
                     {"ending", kind.ending},
                     {"sometimes", kind.sometimes}});
  }
  for (const auto& [index, kind] : by_index_) indexes[filibuster::to_hex(index)] = kind.reason;
  const auto texts = [](const std::set<Hash128>& of) {
    Json out = Json::array();
    for (const Hash128& index : of) out.push_back(filibuster::to_hex(index));
    return out;
  };
  return Json{{"kinds", kinds},
              {"indexes", indexes},
              {"stable", texts(stable_)},
              {"recurring", texts(recurring_)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<UnstableRpcs> UnstableRpcs::from_json(const std::string& text) {
  UnstableRpcs out;
  try {
    const Json json = Json::parse(text);
    for (const Json& row : json.at("kinds")) {
      UnstableKind kind;
      kind.caller = row.at("caller");
      kind.service = row.at("service");
      kind.method = row.at("method");
      kind.path = row.at("path");
      kind.reason = row.at("reason");
      kind.answer = row.at("answer");
      kind.failed = row.at("failed");
      kind.ending = row.value("ending", false);  // a session of an earlier version says nothing
      kind.sometimes = row.at("sometimes");
      if (!from_hex(row.at("stack").get<std::string>(), &kind.stack))
        return Error{"the store's list of unstable RPCs is damaged"};
      out.insert(std::move(kind));
    }
    for (const auto& [hex, reason] : json.at("indexes").items()) {
      Hash128 index;
      if (!from_hex(hex, &index)) return Error{"the store's list of unstable RPCs is damaged"};
      out.add_index(index, reason.get<std::string>());
    }
    for (const Json& hex : json.at("stable")) {
      Hash128 index;
      if (!from_hex(hex.get<std::string>(), &index))
        return Error{"the store's list of unstable RPCs is damaged"};
      out.keep(index);
    }
    // A session of an earlier version has none.
    for (const Json& hex : json.value("recurring", Json::array())) {
      Hash128 index;
      if (!from_hex(hex.get<std::string>(), &index))
        return Error{"the store's list of unstable RPCs is damaged"};
      out.comes_again(index);
    }
  } catch (const Json::exception&) {
    return Error{"the store's list of unstable RPCs is damaged"};
  }
  return out;
}

}  // namespace filibuster
