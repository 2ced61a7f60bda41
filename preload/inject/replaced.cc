#include "preload/inject/replaced.h"

#include <sys/stat.h>

#include <cstring>

#include "preload/inject/inject.h"
#include "preload/inject/raw.h"

namespace filibuster::preload {

std::atomic<uint32_t> g_replaced_now{0};
std::atomic<uint32_t> g_replaced_ever{0};

namespace {

constexpr uint32_t kPageEntries = 1024;
constexpr uint32_t kPages = 1024;  // numbers up to 2^20, the kernel's default fs.nr_open
constexpr uint32_t kHeldEnds = 256;

std::atomic<ReplacedEntry*> g_pages[kPages];
// (sequence << 32 | descriptor + 1); 0 = free. The sequence keeps a late drop from closing the end
// that took the slot over.
struct HeldEnd {
  std::atomic<uint64_t> value;
  std::atomic<uint64_t> inode;  // of the socket: a number of ours can be moved away, and reused
  std::atomic<bool> drain;
};
HeldEnd g_held[kHeldEnds];
std::atomic<uint32_t> g_held_next{0};

ReplacedEntry* entry_of(int fd, bool create) {
  const auto number = static_cast<uint32_t>(fd);
  if (number >= kPageEntries * kPages) return nullptr;  // negative ones too
  std::atomic<ReplacedEntry*>& slot = g_pages[number / kPageEntries];
  ReplacedEntry* page = slot.load(std::memory_order_acquire);
  if (page == nullptr) {
    if (!create) return nullptr;
    // Fresh pages are zero: unused entries. Only those that are touched take memory.
    auto* fresh = static_cast<ReplacedEntry*>(raw::map_pages(sizeof(ReplacedEntry) * kPageEntries));
    if (fresh == nullptr) return nullptr;
    if (slot.compare_exchange_strong(page, fresh, std::memory_order_acq_rel)) {
      page = fresh;
    } else {
      raw::unmap_pages(fresh, sizeof(ReplacedEntry) * kPageEntries);
    }
  }
  return page + number % kPageEntries;
}

uint64_t inode_of(int fd) {
  struct stat status = {};
  if (raw::call(SYS_newfstatat, fd, raw::address_of(""), raw::address_of(&status), AT_EMPTY_PATH) <
      0) {
    return 0;
  }
  return status.st_ino;
}

void close_held(int held, uint64_t inode, bool drain) {
  // If it was moved away (relocate_own_descriptor) or closed behind our back, the number is not ours now.
  if (!is_own_descriptor(held) || inode_of(held) != inode) return;
  // Reads away what came. This is bounded: an application that sends faster than we read must not keep
  // its own close waiting.
  char buffer[1024];
  for (int i = 0; drain && i < 4096; ++i) {
    if (raw::receive(held, buffer, sizeof buffer, MSG_DONTWAIT) <= 0) break;
  }
  release_descriptor(held);
}

bool answer_address(const sockaddr_storage& from, socklen_t from_size, sockaddr* address,
                    socklen_t* size) {
  if (from_size == 0) return false;
  const socklen_t copied = *size < from_size ? *size : from_size;
  memcpy(address, &from, copied);
  *size = from_size;
  return true;
}

}  // namespace

ReplacedEntry* find_replaced(int fd) {
  ReplacedEntry* entry = entry_of(fd, false);
  if (entry == nullptr || (entry->flags.load(std::memory_order_acquire) & kEntryUsed) == 0) {
    return nullptr;
  }
  return entry;
}

ReplacedEntry* claim_replaced(int fd) {
  ReplacedEntry* entry = entry_of(fd, true);
  // The number is that of a replaced descriptor, which is replaced again or was closed behind our back.
  if (entry != nullptr && entry->flags.load(std::memory_order_acquire) != 0) {
    forget_replaced_slow(fd);
  }
  return entry;
}

void publish_replaced(ReplacedEntry* entry, uint32_t flags) {
  entry->flags.store(flags | kEntryUsed, std::memory_order_release);
  g_replaced_now.fetch_add(1, std::memory_order_release);
  g_replaced_ever.fetch_add(1, std::memory_order_release);
}

uint32_t keep_held_end(int held, bool drain) {
  const uint32_t sequence = g_held_next.fetch_add(1, std::memory_order_relaxed);
  const uint32_t slot = sequence % kHeldEnds;
  const uint64_t value = static_cast<uint64_t>(sequence) << 32 | static_cast<uint32_t>(held + 1);
  HeldEnd& end = g_held[slot];
  const uint64_t oldest = end.value.exchange(0, std::memory_order_acq_rel);
  if (oldest != 0) {
    close_held(static_cast<int>(oldest & 0xffffffff) - 1, end.inode.load(), end.drain.load());
  }
  end.inode.store(inode_of(held));
  end.drain.store(drain);
  end.value.store(value, std::memory_order_release);
  return sequence + 1;
}

void drop_held_end(uint32_t slot_and_one) {
  if (slot_and_one == 0) return;
  const uint32_t sequence = slot_and_one - 1;
  HeldEnd& end = g_held[sequence % kHeldEnds];
  uint64_t value = end.value.load(std::memory_order_acquire);
  if (value == 0 || static_cast<uint32_t>(value >> 32) != sequence) return;
  const uint64_t inode = end.inode.load();
  const bool drain = end.drain.load();
  if (!end.value.compare_exchange_strong(value, 0, std::memory_order_acq_rel)) return;
  close_held(static_cast<int>(value & 0xffffffff) - 1, inode, drain);
}

int held_descriptor(uint32_t slot_and_one) {
  if (slot_and_one == 0) return -1;
  const HeldEnd& end = g_held[(slot_and_one - 1) % kHeldEnds];
  const uint64_t value = end.value.load(std::memory_order_acquire);
  if (value == 0 || static_cast<uint32_t>(value >> 32) != slot_and_one - 1) return -1;
  const int fd = static_cast<int>(value & 0xffffffff) - 1;
  return is_own_descriptor(fd) && inode_of(fd) == end.inode.load() ? fd : -1;
}

// --- inject.h ---------------------------------------------------------------------------------

bool is_replaced_slow(int fd) {
  return find_replaced(fd) != nullptr;
}

uint64_t stand_in_cookie_slow(int fd) {
  const ReplacedEntry* entry = find_replaced(fd);
  return entry == nullptr ? 0 : entry->cookie;
}

bool swallows_writes_slow(int fd) {
  const ReplacedEntry* entry = find_replaced(fd);
  return entry != nullptr && (entry->flags.load(std::memory_order_relaxed) & kEntrySwallows) != 0;
}

void forget_replaced_slow(int fd) {
  ReplacedEntry* entry = entry_of(fd, false);
  if (entry == nullptr) return;
  const uint32_t held = entry->held.exchange(0, std::memory_order_acq_rel);
  const uint32_t effect = entry->effect.exchange(0, std::memory_order_acq_rel);
  entry->stalls.store(false, std::memory_order_relaxed);
  const uint32_t flags = entry->flags.exchange(0, std::memory_order_acq_rel);
  if ((flags & kEntryUsed) == 0) return;
  g_replaced_now.fetch_sub(1, std::memory_order_release);
  if ((flags & kEntryShared) == 0) {
    drop_held_end(held);
    drop_held_end(effect);
  }
}

void duplicate_replaced(int from, int to) {
  if (from == to || g_replaced_now.load(std::memory_order_relaxed) == 0) return;
  ReplacedEntry* source = find_replaced(from);
  if (source == nullptr) return;
  ReplacedEntry* copy = claim_replaced(to);
  if (copy == nullptr) return;
  copy->cookie = source->cookie;
  copy->peer = source->peer;
  copy->local = source->local;
  copy->peer_size = source->peer_size;
  copy->local_size = source->local_size;
  copy->records.rest = source->records.rest;
  copy->records.body = source->records.body;
  copy->records.given.store(source->records.given.load());
  copy->records.taken.store(source->records.taken.load());
  copy->stalled = source->stalled;
  copy->stalls.store(source->stalls.load());
  copy->held.store(0, std::memory_order_relaxed);
  copy->effect.store(source->effect.load(std::memory_order_relaxed), std::memory_order_relaxed);
  const uint32_t flags = source->flags.fetch_or(kEntryShared, std::memory_order_acq_rel);
  publish_replaced(copy, flags | kEntryShared);
}

bool original_peer(int fd, sockaddr* address, socklen_t* size) {
  if (!is_replaced(fd)) return false;
  const ReplacedEntry* entry = find_replaced(fd);
  return entry != nullptr && answer_address(entry->peer, entry->peer_size, address, size);
}

bool original_local(int fd, sockaddr* address, socklen_t* size) {
  if (!is_replaced(fd)) return false;
  const ReplacedEntry* entry = find_replaced(fd);
  return entry != nullptr && answer_address(entry->local, entry->local_size, address, size);
}

}  // namespace filibuster::preload
