// Takes the connections that agents hand off when a fault fires: the finisher gets those that are
// to end, the relays those on which other streams go on, both with what the plan says of the fault.
// What they have to say goes into the recorder. The caller serialises the calls (the hub: by its
// lock).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "daemon/agents/finisher.h"
#include "daemon/agents/late_passages.h"
#include "daemon/agents/recorder.h"
#include "daemon/agents/registration.h"
#include "daemon/relay/relays.h"

namespace filibuster {

class HandOffs final : RelayHost {
 public:
  // Watched descriptors carry one of the tags as epoll data, and a number in the low 56 bits.
  // `recorder` outlives this.
  HandOffs(int epoll_fd, uint64_t finisher_tag, uint64_t relay_tag, Recorder* recorder,
           std::chrono::milliseconds hang_limit, std::function<double()> slowdown);

  void set_hang_limit(std::chrono::milliseconds limit) { hang_limit_ = limit; }

  // Takes the message's descriptors over. False: it is not a hand-off, or makes no sense.
  bool take(const EventSource& agent, Message* message, uint64_t now_ns);
  // epoll reported something for `number` (without the tag).
  void finisher_ready(uint64_t number, uint32_t events, uint64_t now_ns) {
    if ((number & kLate) != 0) {
      late_.ready(number & ~kLate, now_ns);
    } else {
      finisher_.ready(number, events);
    }
  }
  void relay_ready(uint64_t number, uint64_t now_ns) { relays_.ready(number, now_ns); }
  // A thread waits without a limit for the rest of the answer to this RPC, which a fault holds back.
  void waits_without_limit(uint64_t rpc) { finisher_.waits_without_limit(rpc); }
  // Does a request wait that belongs to this entry of the plan?
  bool is_held(uint32_t plan_entry) const {
    return finisher_.is_held(plan_entry) || late_.is_held(plan_entry);
  }
  // Such requests leave from now on, in this execution.
  void release(uint32_t plan_entry, uint64_t now_ns);
  void expire(uint64_t now_ns);
  // CLOCK_MONOTONIC of the next limit; 0: none.
  uint64_t next_deadline_ns() const;
  // Resets the connections of this execution, and ends what is left of its faults in relayed ones.
  void end_execution(uint32_t execution);

  // Called when the session ends: relayed connections take no new streams. Returns how many of them
  // are still there.
  size_t retire(uint64_t now_ns);
  void expire_relays(uint64_t now_ns) { relays_.expire(now_ns); }

 private:
  const FaultSpec* fault_of(const StreamOrder& order) override;
  uint64_t hang_limit_ns() const override;
  uint64_t patience_ns() const override;
  void report(uint32_t execution, uint64_t rpc, const HangLimit& limit) override;
  bool spares_errors(const StreamOrder& order) const override;
  void spared(const StreamOrder& order) override;
  void unmet(const StreamOrder& order, const std::string& why) override;
  void note(const std::string& text, bool harmed) override;

  // Tells numbers of late_ from those of finisher_, whose tag they share.
  static constexpr uint64_t kLate = 1ull << 54;

  Recorder* const recorder_;
  std::chrono::milliseconds hang_limit_;
  const std::function<double()> slowdown_;  // Pulse::slowdown(), from 1
  Finisher finisher_;
  LatePassages late_;
  Relays relays_;
  std::set<uint32_t> released_;  // entries of the plan of this execution
};

}  // namespace filibuster
