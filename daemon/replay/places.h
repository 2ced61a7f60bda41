// Which RPC a call is that reaches a dependency without a process: agents say where on its connection the request of each RPC is, and the
// dependency sees the same connection from the other end.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/agents/recordings.h"
#include "daemon/cases/matching.h"

namespace filibuster::replay {

struct FoundRpc {
  cases::Cause cause = cases::Cause::kNone;
  uint32_t execution = 0;  // of kCase: that of the request that caused it, which may be over
  std::vector<std::string>
      stack;  // innermost first, as agents write it (daemon/agents/symbolize.h)
};

class Places final : public RecordingSink {
 public:
  // The next case. What RPCs of the one before it were is still known, since they may be under way; what is older is forgotten.
  // Connections stay.
  void begin();
  // The RPC whose request is the `number`-th one of a connection from `port`, as RpcAt counts. nullopt: nobody said so.
  std::optional<FoundRpc> at(uint16_t port, uint64_t number) const;
  // The same, for an RPC that has said who it is.
  std::optional<FoundRpc> of(uint64_t rpc) const;
  // Events that were lost since the last begin(): what is not found may be among them.
  uint64_t lost_events() const;

  void event(const EventSource& source, const EventHead& head,
             std::span<const uint8_t> payload) override;
  void bytes(const EventSource&, const EventHead&, const TapeBytes&) override {}
  void gap(const EventSource&, const EventHead&, const TapeGap&) override {}
  void closed(const EventSource&, const EventHead&, const TapeClosed&) override {}
  void draw(const EventSource&, const EventHead&, const TapeDraw&) override {}
  void lost(const EventSource& source, uint64_t records) override;
  void ended(const EventSource&) override {}

 private:
  struct Rpc {
    uint64_t parent = 0;
    uint16_t flags = 0;
    uint32_t execution = 0;
    std::string stack;
    uint64_t round = 0;  // in which it was told
  };
  struct At {
    uint64_t rpc = 0, round = 0;
  };
  using Place = std::tuple<uint32_t, uint64_t, uint64_t>;  // agent, connection, number
  std::optional<FoundRpc> found(uint64_t rpc) const;

  mutable std::mutex mutex_;  // guards all below
  std::map<uint16_t, std::pair<uint32_t, uint64_t>>
      connections_;  // by the port of the caller's end
  std::map<Place, At> places_;
  std::map<uint64_t, Rpc> rpcs_;
  uint64_t lost_ = 0;
  uint64_t round_ = 0;  // how many cases there have been
};

}  // namespace filibuster::replay
