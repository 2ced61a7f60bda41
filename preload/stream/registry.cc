#include "preload/stream/registry.h"

#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>

#include "core/hash.h"
#include "preload/inject/aside.h"
#include "preload/inject/inject.h"
#include "preload/os/pages.h"
#include "preload/os/raw_syscall.h"
#include "preload/session/state.h"
#include "preload/stream/ready_made.h"
#include "preload/stream/sender.h"
#include "preload/stream/tape.h"

namespace filibuster::preload {

std::atomic<bool> g_registry_used{false};

namespace {

constexpr size_t kPageEntries = 1024;
constexpr size_t kPages = 1024;  // descriptors up to 1,048,575 (fs.nr_open's default)
using Slot = std::atomic<uintptr_t>;
std::atomic<Slot*> g_pages[kPages];

Slot* entry_of(int fd, bool make) {
  if (fd < 0 || static_cast<size_t>(fd) >= kPageEntries * kPages) return nullptr;
  std::atomic<Slot*>& slot = g_pages[static_cast<size_t>(fd) / kPageEntries];
  Slot* page = slot.load(std::memory_order_acquire);
  if (page == nullptr) {
    if (!make) return nullptr;
    page = static_cast<Slot*>(map_pages(sizeof(Slot) * kPageEntries));
    if (page == nullptr) return nullptr;
    Slot* expected = nullptr;
    if (!slot.compare_exchange_strong(expected, page, std::memory_order_acq_rel)) {
      unmap_pages(page, sizeof(Slot) * kPageEntries);
      page = expected;
    }
    g_registry_used.store(true, std::memory_order_relaxed);
  }
  return page + static_cast<size_t>(fd) % kPageEntries;
}

constexpr bool is_mark(uintptr_t value) {
  return value <= static_cast<uintptr_t>(Mark::kLastMark);
}

Connection* as_connection(uintptr_t value) {
  return reinterpret_cast<Connection*>(value);
}

// One descriptor number names `c` no longer. When the last one goes, the connection ends.
void drop_descriptor(Connection* c) {
  if (c->descriptors.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    // A child's copy is not reported, because the parent reports the connection.
    if (c->fork_epoch == g_fork_epoch.load(std::memory_order_relaxed)) {
      c->closing.store(true);
      if (taping() != 0) tape_closed(*c, 0, false);
      end_silence(*c);
      settle(*c);
    } else {
      forget_holds(*c);
    }
  }
  unpin(c);
}

void set_entry(int fd, uintptr_t value) {
  Slot* entry = entry_of(fd, value != 0);
  if (entry == nullptr) return;
  const uintptr_t old = entry->exchange(value, std::memory_order_acq_rel);
  if (!is_mark(old)) drop_descriptor(as_connection(old));
}

Pinned pin_entry(const Slot& entry) {
  for (;;) {
    const uintptr_t value = entry.load(std::memory_order_acquire);
    if (is_mark(value)) return Pinned();
    Connection* c = as_connection(value);
    if (!pin(c)) continue;
    if (entry.load(std::memory_order_acquire) == value) return Pinned(c);
    unpin(c);
  }
}

// Enters `c` (made with one pin, which the entry takes over) and pins it for the caller.
Pinned enter(int fd, Connection* c) {
  if (entry_of(fd, true) == nullptr) {
    unpin(c);
    return Pinned();
  }
  c->descriptors.store(1);
  pin(c);
  set_entry(fd, reinterpret_cast<uintptr_t>(c));
  return Pinned(c);
}

void set_peer(Connection& c, const sockaddr* address, socklen_t size) {
  c.address_size = std::min<socklen_t>(size, sizeof c.address);
  std::memcpy(&c.address, address, c.address_size);
  c.peer_size = static_cast<uint8_t>(
      std::min(describe_address(address, size, c.peer, sizeof c.peer), sizeof c.peer));
}

Connection* make(int fd, Role role, const sockaddr* address, socklen_t size) {
  Connection* c = make_connection();
  if (c == nullptr) {
    char peer[160];
    const size_t length = describe_address(address, size, peer, sizeof peer);
    report_not_interposed(NotInterposedReason::kTableFull, role != Role::kServer,
                          {peer, std::min(length, sizeof peer)}, {});
    return nullptr;
  }
  c->role = role;
  c->cookie = socket_cookie(fd);
  set_peer(*c, address, size);
  return c;
}

// Gives the connection up if its peer is never interposed, or is configured so.
void apply_target(Connection& c) {
  if (!c.target.known) return;
  if ((c.target.flags & kTargetNever) != 0) {
    give_up_silently(c);
  } else if ((c.target.flags & kTargetIgnored) != 0) {
    give_up(c, NotInterposedReason::kUnknownProtocol);
  }
  settle(c);
}

Noted note_of(uintptr_t mark) {
  if (mark == static_cast<uintptr_t>(Mark::kFirstNote)) return Noted::kFirst;
  if (mark == static_cast<uintptr_t>(Mark::kSecondNote)) return Noted::kSecond;
  return Noted::kNothing;
}

// Other numbers that this program got for the same socket: a program that inetd starts reads from 0 and writes to 1.
void share_inherited(int fd, uint64_t cookie) {
  const uint64_t inherited = inherited_streams();
  if (fd >= 64 || (inherited >> fd & 1) == 0 || cookie == 0) return;
  for (int other = 0; other < 64; ++other) {
    if (other == fd || (inherited >> other & 1) == 0 || find(other)) continue;
    if (mark_of(other) == Mark::kUnknown && socket_cookie(other) == cookie) share(fd, other);
  }
}

// A descriptor moves bytes that is not known, or of which only the first bytes are known.
Pinned classify(int fd, Noted noted) {
  sockaddr_storage peer;
  socklen_t size;
  const DescriptorKind kind = kind_of(fd, &peer, &size);
  if (kind == DescriptorKind::kDatagram || kind == DescriptorKind::kNotStream) {
    set_mark(fd, kind == DescriptorKind::kDatagram ? Mark::kDatagram : Mark::kNotStream);
    return Pinned();
  }
  made_stream_socket();
  if (!attached()) return Pinned();
  if (kind == DescriptorKind::kListening) set_mark(fd, Mark::kListening);
  if (kind != DescriptorKind::kConnected) return Pinned();
  const ReadyMade ready = look_at_ready_made(fd);
  Connection* c = make(fd, ready.role, reinterpret_cast<sockaddr*>(&peer), size);
  if (c == nullptr) {
    set_mark(fd, Mark::kNotStream);
    return Pinned();
  }
  c->ready_made = true;
  c->seen_from_start = ready.untouched;
  if (ready.role == Role::kServer) {
    name_server(*c, fd);
  } else {
    c->target = lookup_target(reinterpret_cast<sockaddr*>(&peer), size);
    apply_target(*c);
  }
  for (const ProtocolRow& row : protocol_table()) {
    if (noted != Noted::kNothing && row.begin_noted != nullptr) row.begin_noted(*c, noted);
  }
  Pinned entered = enter(fd, c);
  if (entered) share_inherited(fd, c->cookie);
  return entered;
}

// Called in a forked child at the first use of a connection that it has copied. What was held or open belongs
// to the parent. A server's requests go on, because the child may answer them.
void adopt_in_child(Connection& c) {
  c.fork_epoch = g_fork_epoch.load(std::memory_order_relaxed);
  c.watched.store(false);
  const bool held = c.debt.load();
  if (held) forget_holds(c);
  const bool busy = !c.request_flow.acquire();
  if (!busy) c.request_flow.release();
  const bool receiving = !c.response_flow.acquire();
  if (!receiving) c.response_flow.release();
  if (c.role != Role::kServer) {
    if (Followed* protocol = c.protocol()) protocol->adopt_in_child(c);
  }
  if (held || busy || receiving) give_up(c, NotInterposedReason::kMidStream);
}

}  // namespace

Mark mark_of(int fd) {
  const Slot* entry = entry_of(fd, false);
  const uintptr_t value = entry == nullptr ? 0 : entry->load(std::memory_order_relaxed);
  return is_mark(value) ? static_cast<Mark>(value) : Mark::kUnknown;
}

void set_mark(int fd, Mark mark) {
  set_entry(fd, static_cast<uintptr_t>(mark));
}

Mark mark_for(Noted noted) {
  switch (noted) {
    case Noted::kFirst:
      return Mark::kFirstNote;
    case Noted::kSecond:
      return Mark::kSecondNote;
    case Noted::kNothing:
      break;
  }
  return Mark::kUnknown;
}

Pinned find(int fd) {
  const Slot* entry = entry_of(fd, false);
  if (entry == nullptr || is_mark(entry->load(std::memory_order_relaxed))) return Pinned();
  return pin_entry(*entry);
}

Pinned follow(int fd) {
  const Slot* entry = entry_of(fd, false);
  const uintptr_t value = entry == nullptr ? 0 : entry->load(std::memory_order_relaxed);
  Noted noted = Noted::kNothing;
  if (value != 0 && is_mark(value)) {
    noted = note_of(value);
    if (noted == Noted::kNothing) return Pinned();
  }
  const uint64_t generation = session_generation();
  if (!is_mark(value)) {
    const Connection* c = as_connection(value);
    if (c->state.is_passing() && c->generation == generation) return Pinned();
  }
  if (fd < 0 || !own_process()) return Pinned();
  if (!is_mark(value)) {
    Pinned c = pin_entry(*entry);
    if (c) {
      if (c->fork_epoch != g_fork_epoch.load(std::memory_order_relaxed)) {
        adopt_in_child(*c);
        // Our answer, which stands in the place of the connection, is for the parent to read.
        if (const int aside = c->aside.exchange(-1); aside >= 0) put_back(fd, aside);
      }
      const Followed* protocol = c->protocol();
      if (c->generation == generation || (protocol != nullptr && protocol->cannot_be_left()))
        return c;
      // Another session, or none: bytes may have gone by unseen.
      give_up_silently(*c);
      settle(*c);
      // A connection that stands aside is a debt, too.
      if (c->debt.load() || c->state.is_replaced()) return c;
      noted = c->noted;
      c.drop();
      set_mark(fd, mark_for(noted));
    }
  }
  if (generation == 0 || registration_failed()) return Pinned();
  if (!waits_for_given_stream() && !attached()) return Pinned();
  return classify(fd, noted);
}

void forget(int fd) {
  if (!g_registry_used.load(std::memory_order_relaxed)) return;
  const Slot* entry = entry_of(fd, false);
  if (entry == nullptr || entry->load(std::memory_order_relaxed) == 0 || !own_process()) return;
  forget_replaced(fd);
  set_mark(fd, Mark::kUnknown);
}

bool given_anew(const Connection& c, int fd) {
  if (c.role == Role::kJoining || c.debt.load()) return false;
  const uint64_t stand_in = stand_in_cookie(fd);
  if (c.state.is_replaced() && stand_in == 0) return false;
  return socket_cookie(fd) != (stand_in != 0 ? stand_in : c.cookie);
}

void closing(int fd) {
  if (!g_registry_used.load(std::memory_order_relaxed)) return;
  const Slot* entry = entry_of(fd, false);
  if (entry == nullptr || entry->load(std::memory_order_relaxed) == 0 || !own_process()) return;
  {
    Pinned c = find(fd);
    if (c && c->fork_epoch == g_fork_epoch.load(std::memory_order_relaxed)) {
      flush(*c, fd, true);
      // A client that waits for bytes does not leave some unread.
      if (c->in_answer.load(std::memory_order_relaxed) && waits_for_rest(*c) &&
          unread_bytes(fd) > 0)
        note_answer(*c, true);
    }
  }
  forget_replaced(fd);
  set_mark(fd, Mark::kUnknown);
}

void share(int fd, int copy) {
  if (!g_registry_used.load(std::memory_order_relaxed) || !own_process()) return;
  Pinned c = find(fd);
  if (!c) {
    set_mark(copy, mark_of(fd));
    return;
  }
  if (is_replaced(fd)) duplicate_replaced(fd, copy);
  if (entry_of(copy, true) == nullptr || !pin(&*c)) return;
  c->descriptors.fetch_add(1, std::memory_order_acq_rel);
  set_entry(copy, reinterpret_cast<uintptr_t>(&*c));
}

void name_server(Connection& c, int fd) {
  sockaddr_storage address;
  socklen_t size = sizeof address;
  if (raw_syscall(SYS_getsockname, fd, &address, &size) != 0) return;
  report_listen(reinterpret_cast<sockaddr*>(&address), size);
  set_peer(c, reinterpret_cast<sockaddr*>(&address), size);
  c.target = {};
}

void accepted(int listener, int fd) {
  forget(fd);
  // The listening socket may be one that somebody else has made.
  made_stream_socket();
  if (!session_present() || !own_process() || !attached()) return;
  if (!is_stream_socket(fd)) return;
  // A server's connection is named by our own address. The callers' ports tell nothing, and each would be
  // reported by itself. A proxy's listener accepts what was sent to addresses of the attached process.
  sockaddr_storage address;
  socklen_t size = sizeof address;
  const int named = identity().is_proxy ? fd : listener;
  if (raw_syscall(SYS_getsockname, named, &address, &size) != 0) return;
  report_listen(reinterpret_cast<sockaddr*>(&address), size);
  Connection* c = make(fd, Role::kServer, reinterpret_cast<sockaddr*>(&address), size);
  if (c == nullptr) return;
  c->seen_from_start = true;
  enter(fd, c);
}

void watched(int fd, const sockaddr* address, socklen_t size, bool from_start) {
  forget(fd);
  made_stream_socket();
  if (!session_present() || !own_process() || !attached()) return;
  Connection* c = make(fd, from_start ? Role::kServer : Role::kJoining, address, size);
  if (c == nullptr) return;
  c->seen_from_start = from_start;
  enter(fd, c);
}

Pinned connecting(int fd, const sockaddr* address, socklen_t size) {
  {
    // The second call on a descriptor whose connect is under way (or done) only asks how it went.
    Pinned c = find(fd);
    if (c && c->connect_state.load() != ConnectState::kNone && c->cookie == socket_cookie(fd)) {
      return c;
    }
  }
  Connection* c = make(fd, Role::kClient, address, size);
  if (c == nullptr) return Pinned();
  c->seen_from_start = true;
  c->target = lookup_target(address, size);
  apply_target(*c);
  return enter(fd, c);
}

void each_connection(void (*visit)(int fd, Connection& connection, const void* context),
                     const void* context) {
  for (size_t page = 0; page < kPages; ++page) {
    const Slot* entries = g_pages[page].load(std::memory_order_acquire);
    for (size_t i = 0; entries != nullptr && i < kPageEntries; ++i) {
      if (is_mark(entries[i].load(std::memory_order_relaxed))) continue;
      Pinned c = pin_entry(entries[i]);
      if (c) visit(static_cast<int>(page * kPageEntries + i), *c, context);
    }
  }
}

void report_datagram(const sockaddr* address, socklen_t size) {
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) {
    return;
  }
  constexpr size_t kSeen = 64;
  static std::atomic<uint64_t> seen[kSeen];
  char peer[160];
  const size_t length = std::min(describe_address(address, size, peer, sizeof peer), sizeof peer);
  const uint64_t key = (hash_bytes(peer, length).lo ^ session_generation()) | 1;
  for (std::atomic<uint64_t>& slot : seen) {
    uint64_t old = slot.load(std::memory_order_relaxed);
    if (old == key) return;
    if (old != 0) continue;
    if (slot.compare_exchange_strong(old, key)) {
      const TargetInfo target = lookup_target(address, size);
      return report_not_interposed(NotInterposedReason::kUdp, true, {peer, length}, target.name());
    }
    if (old == key) return;
  }
}

}  // namespace filibuster::preload
