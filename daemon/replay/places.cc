#include "daemon/replay/places.h"

#include "core/pieces.h"
#include "core/protocol/events.h"

namespace filibuster::replay {
namespace {

// A chain of causes is shorter than this: entries do not call each other in one process.
constexpr int kMostCauses = 64;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

void Places::begin() {
  const std::lock_guard lock(mutex_);
  const auto is_old = [&](const auto& each) { return each.second.round < round_; };
  std::erase_if(places_, is_old);
  std::erase_if(rpcs_, is_old);
  ++round_;
  lost_ = 0;
}

void Places::event(const EventSource& source, const EventHead& head,
                   std::span<const uint8_t> payload) {
  const std::lock_guard lock(mutex_);
  const auto type = static_cast<EventType>(head.type);
  if (ConnectionSeen seen;
      type == EventType::kConnectionSeen && decode(payload.data(), payload.size(), &seen)) {
    if (seen.server == 0 && seen.local_port != 0)
      connections_[seen.local_port] = {source.agent, seen.connection};
  } else if (RpcAt at; type == EventType::kRpcAt && decode(payload.data(), payload.size(), &at)) {
    if (at.incoming == 0) places_[{source.agent, at.connection, at.number}] = {at.rpc, round_};
  } else if (RpcIssued issued;
             type == EventType::kRpcIssued && decode(payload.data(), payload.size(), &issued)) {
    rpcs_[issued.rpc] = {issued.parent_rpc, issued.flags, head.execution,
                         std::string(issued.stack_text), round_};
  }
}

void Places::lost(const EventSource&, uint64_t records) {
  const std::lock_guard lock(mutex_);
  lost_ += records;
}

uint64_t Places::lost_events() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

std::optional<FoundRpc> Places::at(uint16_t port, uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto connection = connections_.find(port);
  if (connection == connections_.end()) return std::nullopt;
  const auto place = places_.find({connection->second.first, connection->second.second, number});
  return place == places_.end() ? std::nullopt : found(place->second.rpc);
}

std::optional<FoundRpc> Places::of(uint64_t rpc) const {
  const std::lock_guard lock(mutex_);
  return found(rpc);
}

std::optional<FoundRpc> Places::found(uint64_t rpc) const {
  const auto first = rpcs_.find(rpc);
  if (first == rpcs_.end()) return std::nullopt;
  FoundRpc out{cases::Cause::kNone, first->second.execution, lines_of(first->second.stack)};
  if ((first->second.flags & kRpcBackground) != 0) {
    out.cause = cases::Cause::kProcess;
    return out;
  }
  // It belongs to the execution of its cause, which was told long ago.
  if ((first->second.flags & kRpcLate) != 0 && first->second.parent != 0) {
    out.cause = cases::Cause::kCase;
    return out;
  }
  // There is one entry in an execution: the request of its case.
  auto at = first;
  for (int i = 0; i < kMostCauses && at != rpcs_.end(); ++i) {
    if ((at->second.flags & kRpcEntry) != 0) {
      out.cause = cases::Cause::kCase;
      return out;
    }
    if (at->second.parent == 0) break;
    at = rpcs_.find(at->second.parent);
  }
  return out;
}

}  // namespace filibuster::replay
