// Turns what the agents of one service tell, and the bytes of its connections, into recorded cases. An entry is a request that the service receives:
// a case is one with its answer and every call that the service made for it.
//
// Events and tapes have no common order, so everything is joined by names: an RPC by its number, a message by its connection and place
// there (RpcAt). Nothing waits here and nothing looks at a clock: whoever records says up to when everything was given.
//
//   auto assembler = std::make_shared<Assembler>(options);
//   hub.recordings().start(assembler, ...);
//   const uint64_t now = now_ns(); hub.recordings().look(); assembler->passed(now);     // now and then
//   Assembled taken = assembler->take();
//   hub.recordings().stop(); assembler->finish(); taken = assembler->take();
//
// Every public function may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/agents/recordings.h"
#include "daemon/cases/model.h"
#include "daemon/record/assembled.h"
#include "daemon/record/connection_tape.h"

namespace filibuster::record {

// A case is complete when so much time has passed since its answer and the ends of its calls.
inline constexpr uint64_t kSettledNs = 200'000'000;

struct AssemblerOptions {
  std::string service;               // whose cases these are
  std::set<std::string> parts = {};  // services whose processes are taken for this one's
  uint32_t startup_execution = 0;    // requests in it are no cases: readiness is probed
  int64_t epoch_ns = 0;              // what makes times since 1970 of those of the agents
  // The name of the port at which an entry came; "": it is the service's first one.
  std::function<std::string(uint16_t)> port_name = {};
  size_t most_kept = 64u << 20;  // bytes that are under way
  Bounds bounds = {};            // of one case
};

class Assembler final : public RecordingSink {
 public:
  explicit Assembler(AssemblerOptions options);

  void event(const EventSource& source, const EventHead& head,
             std::span<const uint8_t> payload) override;
  void bytes(const EventSource& source, const EventHead& head, const TapeBytes& record) override;
  void gap(const EventSource& source, const EventHead& head, const TapeGap& record) override;
  void closed(const EventSource& source, const EventHead& head, const TapeClosed& record) override;
  void draw(const EventSource& source, const EventHead& head, const TapeDraw& record) override;
  void lost(const EventSource& source, uint64_t records) override;
  void ended(const EventSource& source) override;

  // All that was written before `ns` (CLOCK_MONOTONIC) was given.
  void passed(uint64_t ns);
  // Nothing more comes: what is not whole never is.
  void finish();
  // What is complete since the last call.
  Assembled take();
  // How many RPCs were told since the last call.
  uint64_t take_rpcs();

 private:
  struct Place {
    uint32_t agent = 0;
    uint64_t connection = 0, number = 0;
  };
  struct Entry {
    uint32_t agent = 0;
    uint64_t received_ns = 0, ended_ns = 0;
    uint64_t thread = 0;  // of the agent, too
    uint16_t status = 0;
    bool ended = false;
    bool is_no_case = false;
    std::optional<Place> place;
    std::vector<uint64_t> calls;
    std::string problem;  // the first one
  };
  struct CallState {
    uint32_t agent = 0;
    DraftCall draft;
    bool ended = false;
    bool of_process = false;
    std::optional<Place> place;
  };
  using Names = std::pair<std::string, std::string>;  // method, target

  template <typename Event>
  void take(const EventSource& source, const EventHead& head, std::span<const uint8_t> payload);
  void on(const EventSource& source, const EventHead& head, const RpcIssued& event);
  void on(const EventSource& source, const EventHead& head, const RpcReceived& event);
  void on(const EventSource& source, const EventHead& head, const RpcFinished& event);
  void on(const EventSource& source, const EventHead& head, const IncomingFinished& event);
  void on(const EventSource& source, const EventHead& head, const ConnectionSeen& event);
  void on(const EventSource& source, const EventHead& head, const RpcAt& event);
  void on(const EventSource& source, const EventHead& head, const NotInterposed& event);
  void on(const EventSource& source, const EventHead& head, const UnseenRequests& event);

  bool is_part(std::string_view service) const {
    return options_.parts.contains(std::string(service));
  }
  bool is_ours(const EventSource& source) const {
    return source.service == options_.service || is_part(source.service);
  }
  // Whether what is not known of the agent concerns the requests of that one.
  bool concerns(uint32_t agent, uint32_t other) const {
    return agent == other || agents_of_parts_.contains(agent);
  }
  void join_part(const RpcIssued& event);
  // The request of the service, where parts of it stand between.
  uint64_t cause_through_parts(uint64_t rpc) const;
  ConnectionTape& tape(const EventSource& source, uint64_t connection);
  void bound_tape(ConnectionTape* of, size_t before);
  void note_name(const RpcIssued& event);
  void join_cause(const EventSource& source, const RpcIssued& event, CallState* call);
  bool is_any_open(uint32_t agent) const;
  void spoil_open(uint32_t agent, const std::string& why);
  void spoil(Entry* entry, const std::string& why);
  void end_entry(Entry* entry, uint64_t ns);
  void end_of_agent(uint32_t agent, const std::string& why);
  void settle();
  void spoil_untold();
  bool is_settled(uint64_t rpc, const Entry& entry) const;
  void assemble(uint64_t rpc, Entry* entry);
  void assemble_process(uint64_t rpc);
  Exchange exchange_of(const std::optional<Place>& place);
  void collect_openings();
  void forget();

  const AssemblerOptions options_;
  std::mutex mutex_;
  uint64_t passed_ns_ = 0;
  bool finished_ = false;
  std::map<uint64_t, Entry> entries_;
  std::map<uint64_t, CallState> calls_;
  std::set<uint64_t> of_process_;                       // of these
  std::map<uint64_t, std::vector<uint64_t>> children_;  // calls by what caused them
  std::map<uint64_t, uint64_t> of_parts_;  // calls to parts of the service, with what caused them
  std::deque<uint64_t> of_parts_in_order_;
  std::set<uint32_t> agents_of_parts_;
  std::map<uint64_t, std::vector<DraftDraw>> draws_;  // random numbers, by the same
  std::map<uint32_t, std::set<uint64_t>> open_;       // entries by agent
  std::map<std::pair<uint32_t, uint64_t>, ConnectionTape> tapes_;
  std::set<uint32_t> ended_agents_;
  // Why nothing of an agent is whole any more.
  std::map<uint32_t, std::string> blind_;
  // What others said of a request that the service receives, for those whose bytes are not there.
  std::map<uint64_t, Names> names_;
  std::deque<uint64_t> names_in_order_;
  size_t kept_ = 0;
  uint64_t rpcs_ = 0;
  Assembled out_;
};

}  // namespace filibuster::record
