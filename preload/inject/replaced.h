// What is known of each replaced descriptor: a two-level table by number, lock-free, never freed.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>

#include "core/tls/records.h"
#include "preload/rpc/agent.h"

namespace filibuster::preload {

enum ReplacedFlags : uint32_t {
  kEntryUsed = 1u << 0,
  kEntrySwallows = 1u << 1,  // an answer or a silence: what is sent goes nowhere
  kEntrySilent = 1u << 2,
  kEntryElapsed = 1u << 3,  // its first visible wait was elapsed
  kEntryShared = 1u << 4,   // has duplicates: the held end stays open until it is the oldest one
  kEntryRecords = 1u << 5,  // its reader finds records (records.h)
  kEntryCarried =
      1u << 6,  // the daemon carries what is sent and read, unchanged: it may be replaced again
};

// How far that reader has come.
struct Records {
  std::atomic<uint32_t> busy;
  tls::RecordRest rest;
  uint32_t body;  // bytes of the record that has begun which are still in the pair
  std::atomic<uint64_t> given, taken;  // bytes of our records: to the application, by its session
};

struct ReplacedEntry {
  std::atomic<uint32_t> flags;  // stored last (release): 0 = not replaced
  std::atomic<uint32_t> held;   // 1 + slot of its held end (keep_held_end), 0 = none
  std::atomic<uint32_t>
      effect;  // the same of a copy of the real connection (silence after effect):
               // it hangs up when the daemon has read the real answer away
  // The answer to this call does not come, or not to its end (begin_silence), and the daemon was not yet told that a thread waits
  // for it without a limit.
  std::atomic<bool> stalls;
  OpenCall stalled;
  uint64_t cookie;  // of the socket that stands there: the number may be closed behind our back
  Records records;
  socklen_t peer_size;
  socklen_t local_size;
  sockaddr_storage peer;
  sockaddr_storage local;
};

// The entry of a replaced descriptor, else nullptr.
ReplacedEntry* find_replaced(int fd);
// A free entry to fill in, then to publish with `flags`; nullptr: no memory, or `fd` is too high.
ReplacedEntry* claim_replaced(int fd);
void publish_replaced(ReplacedEntry* entry, uint32_t flags);

// Keeps `held` (one of our own descriptors) open until it is dropped, or the oldest of too many.
// Returns its slot + 1. `drain`: what can be read from it is read away before it is closed (a FIN, not
// a reset); not for a real connection, whose answer is the daemon's.
uint32_t keep_held_end(int held, bool drain);
void drop_held_end(uint32_t slot_and_one);
// The descriptor in a slot; -1 if it was dropped meanwhile.
int held_descriptor(uint32_t slot_and_one);

}  // namespace filibuster::preload
