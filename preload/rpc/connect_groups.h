// Logical connects: a client tries every address of a name (::1, then 127.0.0.1), one connect each;
// all of them are one connect to the program, and a refusal holds for all of them. No globals.
//
// A try joins a group of the same execution, cause, target, port and thread that
//   - did not connect: it was refused (by us or by itself), or its outcome is unknown (EINPROGRESS),
//   - carried no request yet, and
//   - has not tried this address: a second try of one address is a retry, a logical connect of its own.
// Groups that were refused come first, and younger ones before older ones.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/hash.h"
#include "core/protocol/lane_memory.h"
#include "preload/rpc/agent.h"

namespace filibuster::preload {

struct ConnectTry {
  uint32_t execution = 0;
  uint32_t thread = 0;
  Hash128 parent_path;
  Hash128 target;   // of the service name, or of the address where there is none
  Hash128 address;  // address_identity
  uint16_t port = 0;
};

struct ConnectGroup {
  enum class Outcome : uint8_t { kUnknown = 0, kRefused, kConnected };
  static constexpr uint32_t kMaxTries = 8;

  uint64_t used_at = 0;  // 0: free
  uint32_t execution = 0;
  uint32_t thread = 0;
  Hash128 parent_path, target;
  uint16_t port = 0;
  Outcome outcome = Outcome::kUnknown;
  bool carried_request = false;
  bool refused_by_us = false;
  OpenCall handshake;  // ConnectDecision::handshake
  uint8_t tries = 0;
  Hash128 tried[kMaxTries];
  uint64_t id = 0;   // ConnectName::group
  Hash128 place;     // ConnectName::key
  PlanEntry plan{};  // where refused_by_us, or `handshake` is active
};

class ConnectGroups {
 public:
  // Never blocks: a thread that does not get the lock by bounded spinning gets false, and treats its
  // connect as one of which nothing is known.
  class Lock {
   public:
    explicit Lock(ConnectGroups* groups);
    ~Lock();
    Lock(const Lock&) = delete;
    explicit operator bool() const { return held_; }

   private:
    ConnectGroups* groups_;
    bool held_ = false;
  };

  // The group that this try joins (the address is added to it), or nullptr: a new logical connect.
  ConnectGroup* join(const ConnectTry& attempt);
  // A new group with this try in it; the oldest is given up if there is no room.
  ConnectGroup* add(const ConnectTry& attempt);
  // The group by its ConnectName::group; nullptr: it was given up meanwhile.
  ConnectGroup* find(uint64_t id);

  void after_fork() { locked_.store(false, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kGroups = 64;
  std::atomic<bool> locked_{false};
  uint64_t clock_ = 0;
  ConnectGroup groups_[kGroups];
};

}  // namespace filibuster::preload
