#include "preload/inject/replacement.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include "preload/inject/inject.h"
#include "preload/inject/raw.h"
#include "preload/inject/replaced.h"
#include "preload/os/own_stack.h"

namespace filibuster::preload {
namespace {

struct CopiedOption {
  int level, name;
  socklen_t size;
  bool tcp_only;
};
constexpr CopiedOption kCopiedOptions[] = {
    {SOL_SOCKET, SO_RCVTIMEO, sizeof(timeval), false},
    {SOL_SOCKET, SO_SNDTIMEO, sizeof(timeval), false},
    {SOL_SOCKET, SO_RCVLOWAT, sizeof(int), false},
    {SOL_SOCKET, SO_KEEPALIVE, sizeof(int), false},
    {SOL_SOCKET, SO_LINGER, sizeof(linger), false},
    {IPPROTO_TCP, TCP_NODELAY, sizeof(int), true},
};

const char* take_registrations(int fd, Replacement* plan) {
  if (!plan->freeze.begin()) return "a thread stays in epoll_ctl";
  if (const char* why = find_registrations(fd, &plan->registrations)) return why;
  for (int i = 0; i < plan->registrations.alias_count; ++i) {
    if (claim_replaced(plan->registrations.aliases[i]) == nullptr) return "no table entry for it";
  }
  return nullptr;
}

}  // namespace

void abandon(Replacement* plan) {
  discard_pair(&plan->pair);
  if (plan->original >= 0) release_descriptor(plan->original);
  plan->original = -1;
  plan->freeze.end();
}

void copy_options(int from, int to, int family) {
  for (const CopiedOption& option : kCopiedOptions) {
    if (option.tcp_only && family == AF_UNIX) continue;
    char value[16];
    socklen_t size = option.size;
    if (raw::get_option(from, option.level, option.name, value, &size) == 0)
      raw::set_option(to, option.level, option.name, value, size);
  }
  const int flags = raw::fcntl(from, F_GETFL);
  if (flags >= 0) raw::fcntl(to, F_SETFL, flags & (O_NONBLOCK | O_ASYNC));
}

namespace {

const char* prepare_here(int fd, Replacement* plan) {
  int family = 0, type = 0;
  socklen_t size = sizeof family;
  const ReplacedEntry* earlier = is_replaced(fd) ? find_replaced(fd) : nullptr;
  if (earlier != nullptr && (earlier->flags.load(std::memory_order_relaxed) & kEntryCarried) == 0)
    return "the connection was replaced by an earlier fault";
  if (raw::get_option(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) < 0) return "not a socket";
  size = sizeof type;
  raw::get_option(fd, SOL_SOCKET, SO_TYPE, &type, &size);
  if (type != SOCK_STREAM || (family != AF_INET && family != AF_INET6 && family != AF_UNIX)) {
    return "not a TCP or Unix stream socket";
  }
  plan->peer_size = plan->local_size = sizeof(sockaddr_storage);
  if (raw::peer_name(fd, reinterpret_cast<sockaddr*>(&plan->peer), &plan->peer_size) < 0) {
    plan->peer_size = 0;
  }
  if (raw::local_name(fd, reinterpret_cast<sockaddr*>(&plan->local), &plan->local_size) < 0) {
    plan->local_size = 0;
  }
  if (earlier != nullptr) {
    plan->peer = earlier->peer;
    plan->local = earlier->local;
    plan->peer_size = earlier->peer_size;
    plan->local_size = earlier->local_size;
  }
  const int copy = raw::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return "no descriptor left";
  plan->original = adopt_descriptor(copy);
  if (plan->original < 0) {
    raw::close(copy);
    return "no descriptor left";
  }
  if (!make_pair(family, &plan->pair)) {
    abandon(plan);
    return "no loopback connection to replace it with";
  }
  copy_options(fd, plan->pair.app, family);
  if (const char* why = take_registrations(fd, plan)) {
    abandon(plan);
    return why;
  }
  return nullptr;
}

}  // namespace

// /proc is read by buffers of some KiB.
const char* prepare(int fd, Replacement* plan) {
  return on_own_stack([=] { return prepare_here(fd, plan); });
}

bool has_unread(const Replacement& plan, Encryption* encryption) {
  if (encryption != nullptr) return encryption->has_unread();
  int unread = 0;
  return raw::call(SYS_ioctl, plan.original, FIONREAD, raw::address_of(&unread)) == 0 && unread > 0;
}

bool decrypt(Replacement* plan, Encryption* encryption) {
  if (encryption == nullptr) return true;
  const int plain = encryption->plain_end(plan->original);
  if (plain < 0) return false;
  plan->original = plain;
  return true;
}

namespace {

// Puts `socket` under every number of `found`. The epoll sets lose the old registration first: the kernel
// drops it by itself only with the last descriptor, and we hold one. A one-shot registration that has
// fired and is not armed again comes back armed for errors and hang-ups (epoll_ctl(2) always adds those).
// Only a reset can show that, by one event too early. `exchanged(i)` is called for each number before a
// reader of it wakes.
template <typename Exchanged>
void exchange_each(int socket, const Registrations& found, const Exchanged& exchanged) {
  for (int i = 0; i < found.count; ++i) {
    raw::epoll_change(found.list[i].set, EPOLL_CTL_DEL, found.list[i].fd, &found.list[i].event);
  }
  for (int i = 0; i < found.alias_count; ++i) {
    const int number = found.aliases[i];
    const int descriptor_flags = raw::fcntl(number, F_GETFD);
    if (descriptor_flags < 0) continue;  // a duplicate, closed meanwhile by another thread
    int result;
    do {
      result = raw::dup3(socket, number, (descriptor_flags & FD_CLOEXEC) ? O_CLOEXEC : 0);
    } while (result == -EBUSY || result == -EINTR);
    if (result < 0) {
      report_note("a descriptor of a faulted connection could not be replaced");
    } else {
      exchanged(i);
    }
  }
  for (int i = 0; i < found.count; ++i) {
    epoll_event event = found.list[i].event;
    const int result =
        raw::epoll_change(found.list[i].set, EPOLL_CTL_ADD, found.list[i].fd, &event);
    if (result < 0 && result != -EEXIST) report_note("an epoll registration was lost in a fault");
  }
}

}  // namespace

void exchange_back(int socket, const Registrations& found) {
  exchange_each(socket, found, [&](int i) { forget_replaced(found.aliases[i]); });
}

void replace(Replacement* plan, Encryption* encryption, uint32_t flags, uint32_t held,
             uint32_t effect) {
  const Registrations& found = plan->registrations;
  if (found.alias_count > 1) flags |= kEntryShared;
  tls::RecordRest rest;
  if (encryption != nullptr && encryption->begin_records(&rest)) flags |= kEntryRecords;
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  raw::get_option(plan->pair.app, SOL_SOCKET, SO_COOKIE, &cookie, &size);
  exchange_each(plan->pair.app, found, [&](int i) {
    ReplacedEntry* entry = claim_replaced(found.aliases[i]);
    entry->cookie = cookie;
    entry->peer = plan->peer;
    entry->local = plan->local;
    entry->peer_size = plan->peer_size;
    entry->local_size = plan->local_size;
    entry->held.store(i == 0 ? held : 0, std::memory_order_relaxed);
    entry->effect.store(effect, std::memory_order_relaxed);
    entry->records.rest = rest;
    entry->records.body = 0;
    entry->records.given.store(0, std::memory_order_relaxed);
    entry->records.taken.store(0, std::memory_order_relaxed);
    publish_replaced(entry, flags);
  });
  raw::close(plan->pair.app);
  plan->freeze.end();
}

}  // namespace filibuster::preload
