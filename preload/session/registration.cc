// Registration with the daemon of the session: one bounded exchange, at the first use, by one
// thread.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "core/protocol/messages.h"
#include "core/protocol/shown_clock.h"
#include "preload/os/bounded_wait.h"
#include "preload/os/copies.h"
#include "preload/os/own_stack.h"
#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/attempts.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/runtimes.h"
#include "preload/runtimes/stack.h"
#include "preload/session/reach.h"
#include "preload/session/state.h"

namespace filibuster::preload {

constinit std::atomic<Attachment*> g_attachment{nullptr};
constinit std::atomic<bool> g_will_execute{false};

namespace {

constinit std::atomic<uint64_t> g_last_lane{0};  // session << 16 | lane
constinit std::atomic<bool> g_parent_was_recorded{false};

constexpr uint64_t kRegistrationNs = 1'000'000'000;
// The daemon renews its lease every 100 ms. A lease this old belongs to a daemon that died: the process
// goes on as without us. (A daemon that was only stopped finds the gap counted in counters_lost.)
constexpr uint64_t kGoneNs = 30 * kLeaseNs;

// Registrations of this process. The memory of an old one is given back by the first new registration
// that comes kReuseNs after its end: by then no call that began under it can still run. If kAttachments
// of them come sooner (sessions of less than 160 ms each), the next session is passed by.
constexpr uint32_t kAttachments = 64;
constexpr uint64_t kReuseNs = 10'000'000'000;
Attachment g_attachments[kAttachments];  // under g_registering

constinit std::atomic<bool> g_registering{false};
// The generation with which no session could be joined. The process is inert until it changes.
constinit std::atomic<uint64_t> g_failed_generation{0};
// Generation of the session that this process follows, or followed last. A forked child follows its
// parent's.
constinit std::atomic<uint64_t> g_followed{0};

bool wait_for(int fd, short events, uint64_t deadline) {
  for (;;) {
    // `fd` is looked at once after the deadline, too: this thread may have lost its processor before.
    const uint64_t now = now_ns();
    const uint64_t left = deadline > now ? deadline - now : 0;
    timespec time{static_cast<time_t>(left / 1'000'000'000),
                  static_cast<long>(left % 1'000'000'000)};
    pollfd wait{fd, events, 0};
    const long n = raw_syscall(SYS_ppoll, &wait, 1, &time, nullptr, 8);
    if (n > 0) return true;
    if ((n != -EINTR && n != 0) || left == 0) return false;
  }
}

// Field 22 of /proc/self/stat: with the pid it names this process for good.
uint64_t start_time() {
  char text[1024];
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  const long size = raw_syscall(SYS_read, fd, text, sizeof text - 1);
  raw_syscall(SYS_close, fd);
  if (size <= 0) return 0;
  text[size] = '\0';
  // The second field is the name in parentheses and may hold anything.
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  uint64_t value = 0;
  for (; at != nullptr && *at >= '0' && *at <= '9'; ++at)
    value = value * 10 + static_cast<uint64_t>(*at - '0');
  return value;
}

bool say_hello(const Reached& daemon, uint32_t sessions) {
  Hello hello;
  hello.sessions = sessions;
  if (daemon.token != nullptr) std::memcpy(hello.token, daemon.token, sizeof hello.token);
  const Identity& id = identity();
  hello.pid = static_cast<uint32_t>(raw_syscall(SYS_getpid));
  hello.parent_pid = static_cast<uint32_t>(raw_syscall(SYS_getppid));
  hello.lane = id.lane;
  hello.start_time = start_time();
  const WayToPage& way = way_to_page();
  hello.belonging = way.belonging;
  hello.folder_device = way.folder_device;
  hello.folder_inode = way.folder_inode;
  std::memcpy(hello.service, id.service, sizeof hello.service);
  std::memcpy(hello.executable, id.executable, sizeof hello.executable);
  const size_t size = describe_runtimes(hello.notes, sizeof hello.notes - 1);
  hello.notes[size < sizeof hello.notes ? size : 0] = '\0';
  return raw_syscall(SYS_sendto, daemon.socket, &hello, sizeof hello, MSG_NOSIGNAL, nullptr, 0) ==
         static_cast<long>(sizeof hello);
}

// Receives the welcome, and the descriptors that came with it (-1: none).
bool receive_welcome(int fd, Welcome* welcome, int (&descriptors)[kWelcomeDescriptors]) {
  for (int& none : descriptors) none = -1;
  iovec data{welcome, sizeof *welcome};
  alignas(cmsghdr) char control[CMSG_SPACE((kWelcomeDescriptors + 1) * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  long size;
  do {
    size = raw_syscall(SYS_recvmsg, fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (size == -EINTR);
  if (size < 0) return false;
  int got = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int received;
      std::memcpy(&received, CMSG_DATA(c) + i * sizeof(int), sizeof received);
      if (got < kWelcomeDescriptors) {
        descriptors[got++] = received;
      } else {
        raw_syscall(SYS_close, received);
      }
    }
  }
  return size >= static_cast<long>(sizeof *welcome) && welcome->magic == kWelcomeMagic;
}

template <typename Memory>
Memory* map_memory(int fd, uint64_t magic) {
  struct stat status;
  if (fd < 0 || raw_syscall(SYS_fstat, fd, &status) != 0 ||
      status.st_size < static_cast<off_t>(sizeof(Memory)))
    return nullptr;
  const long at =
      raw_syscall(SYS_mmap, nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at < 0 && at > -4096) return nullptr;
  auto* memory = reinterpret_cast<Memory*>(at);
  if (memory->magic == magic && memory->major == kProtocolMajor) return memory;
  raw_syscall(SYS_munmap, memory, sizeof(Memory));
  return nullptr;
}

void unmap(Attachment* a) {
  if (a->lane != nullptr) raw_syscall(SYS_munmap, a->lane, sizeof(LaneMemory));
  if (a->ring != nullptr) raw_syscall(SYS_munmap, a->ring, sizeof(RingMemory));
  if (a->tape != nullptr) raw_syscall(SYS_munmap, a->tape, sizeof(TapeMemory));
  a->lane = nullptr;
  a->ring = nullptr;
  a->tape = nullptr;
  a->generation = 0;
  a->agent = 0;
  a->retired_ns = 0;
}

// Gives back the registrations that no call can still use. Returns a free slot, or nullptr.
Attachment* take_slot(uint64_t now) {
  Attachment* out = nullptr;
  for (Attachment& a : g_attachments) {
    if (a.retired_ns != 0 && now - a.retired_ns >= kReuseNs) unmap(&a);
    if (a.lane == nullptr && out == nullptr) out = &a;
  }
  return out;
}

// The session that is to be joined.
struct Choice {
  // Its generation on the page; nullptr: there is none.
  const std::atomic<uint64_t>* session = nullptr;
  uint64_t generation = 0;
  Reached daemon;
};

// Registers over choice.daemon.socket, which belongs to the registration from then on, or is released.
Attachment* exchange(const Choice& choice, uint64_t deadline) {
  Attachment* a = take_slot(now_ns());
  const int socket = choice.daemon.socket;
  if (a == nullptr) {
    release_descriptor(socket);
    return nullptr;
  }
  Welcome welcome;
  int descriptors[kWelcomeDescriptors] = {-1, -1, -1};
  bool done = say_hello(choice.daemon, 1) && wait_for(socket, POLLIN, deadline) &&
              receive_welcome(socket, &welcome, descriptors) && welcome.refused == 0 &&
              welcome.major == kProtocolMajor && welcome.generation == choice.generation &&
              welcome.agent != 0;
  if (done) {
    a->lane = map_memory<LaneMemory>(descriptors[0], kLaneMagic);
    a->ring = map_memory<RingMemory>(descriptors[1], kRingMagic);
    a->tape = map_memory<TapeMemory>(descriptors[2], kTapeMagic);
    done = a->lane != nullptr && a->ring != nullptr && a->lane->size == sizeof(LaneMemory) &&
           a->ring->size == kRingBytes;
  }
  for (int received : descriptors) {
    if (received >= 0) raw_syscall(SYS_close, received);
  }
  if (!done) {
    const GivenUp message;
    raw_syscall(SYS_sendto, socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT, nullptr,
                0);
    release_descriptor(socket);
    unmap(a);
    return nullptr;
  }
  a->generation = choice.generation;
  g_last_lane.store(uint64_t{a->lane->session} << 16 | static_cast<uint16_t>(a->lane->lane),
                    std::memory_order_release);
  a->agent = welcome.agent;
  a->socket.store(socket, std::memory_order_relaxed);
  a->last_rpc.store(0, std::memory_order_relaxed);
  return a;
}

// The session of the page that this process is to follow: its parent's, or else the only one whose daemon
// answers. (Daemons that were killed are still on the page.) If several answer, each of them is told.
Choice choose(const ControlPage* page, uint64_t deadline) {
  const std::atomic<uint64_t>* const followed = g_session.load(std::memory_order_acquire);
  const uint64_t of_parent = g_followed.load(std::memory_order_acquire);
  Choice found[ControlPage::kSlots];
  uint32_t count = 0;
  for (const SessionSlot& slot : page->slots) {
    const uint64_t generation = slot.generation.load(std::memory_order_acquire);
    if (generation == 0 || generation == kSessionEnded) continue;
    const bool only = followed == &slot.generation && generation == of_parent;
    if (only) {
      for (; count > 0; --count) release_descriptor(found[count - 1].daemon.socket);
    }
    const Reached daemon = reach(slot.socket_path, &slot, deadline);
    if (daemon.socket >= 0) found[count++] = {&slot.generation, generation, daemon};
    if (only) break;
  }
  if (count == 1) return found[0];
  for (uint32_t i = 0; i < count; ++i) {
    say_hello(found[i].daemon, count);
    release_descriptor(found[i].daemon.socket);
  }
  return {};
}

Attachment* current() {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  return a != nullptr && a->generation == session_generation() ? a : nullptr;
}

// The daemon speaks another version of the protocol. We say Hello, so that its report names us.
void say_hello_to_another_protocol(const ControlPage* page, uint64_t deadline) {
  const Reached daemon = reach(page->socket_path, nullptr, deadline);
  if (daemon.socket < 0) return;
  say_hello(daemon, 1);
  release_descriptor(daemon.socket);
}

Attachment* join(const ControlPage* page) {
  // When the session that we followed has ended, the head of the page counts again.
  const std::atomic<uint64_t>* session = g_session.load(std::memory_order_acquire);
  uint64_t generation = session->load(std::memory_order_acquire);
  if (session != &page->generation && generation != g_followed.load(std::memory_order_relaxed)) {
    session = &page->generation;
    g_session.store(session, std::memory_order_release);
    generation = session->load(std::memory_order_acquire);
  }
  if (generation == 0 || g_failed_generation.load(std::memory_order_acquire) == generation)
    return nullptr;
  // A forked child may be in another time namespace than its parent.
  g_clock.find_namespace(kRawCall);
  const uint64_t deadline = now_ns() + kRegistrationNs;
  Attachment* a = nullptr;
  if (page->magic == kControlMagic && page->major != kProtocolMajor) {
    say_hello_to_another_protocol(page, deadline);
  } else if (page->magic == kControlMagic) {
    const Choice choice = choose(page, deadline);
    if (choice.session != nullptr) a = exchange(choice, deadline);
    if (a != nullptr) {
      set_frame_rules(a->lane->frames);
      know_field_names(a->lane);
      Attachment* old = g_attachment.exchange(a, std::memory_order_acq_rel);
      g_followed.store(choice.generation, std::memory_order_release);
      g_session.store(choice.session, std::memory_order_release);
      if (old != nullptr) {
        old->retired_ns = now_ns();
        const int socket = old->socket.exchange(-1);
        if (socket >= 0) release_descriptor(socket);
      }
      return a;
    }
  }
  if (session->load(std::memory_order_acquire) == generation)
    g_failed_generation.store(generation, std::memory_order_release);
  return nullptr;
}

void report_inert_copy() {
  const char* inert = path_of_inert_copy();
  const char* own = inert != nullptr ? path_of_this_copy() : nullptr;
  if (own == nullptr) return;
  report_note({"two copies of the library are loaded: ", own, " is used, and ", inert,
               " does nothing (LD_PRELOAD names both)"},
              NoteKind::kRuntime);
}

Attachment* register_anew(uint64_t generation) {
  if (g_failed_generation.load(std::memory_order_acquire) == generation) return nullptr;
  // This is a signal handler that came while this thread registers, or a vfork child.
  if (t_state.registering || !own_process()) return nullptr;

  if (g_registering.exchange(true, std::memory_order_acq_rel)) {
    // Another thread registers. Nothing may leave before the plan is here, so wait for it.
    wait_until([] { return !g_registering.load(std::memory_order_acquire); }, kRegistrationNs);
    return current();
  }
  t_state.registering = true;
  Attachment* a = current();
  const bool fresh = a == nullptr;
  if (fresh) a = on_own_stack([] { return join(control_page()); });
  if (fresh && a != nullptr) {
    reset_reports();
    report_inert_copy();
    if (const char* why = why_clock_is_not_shown()) report_note({kTimeNotShown, why});
    report_listening_sockets(a);
  }
  t_state.registering = false;
  g_registering.store(false, std::memory_order_release);
  // This runs code of the host's runtime, so no lock of ours is held.
  if (fresh && a != nullptr) install_runtimes();
  return a;
}

}  // namespace

Attachment* attach() {
  const std::atomic<uint64_t>* session = g_session.load(std::memory_order_acquire);
  if (session == nullptr) return nullptr;
  const uint64_t generation = session->load(std::memory_order_acquire);
  if (generation == 0) return nullptr;
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || a->generation != generation) return register_anew(generation);
  if (g_runtimes_postponed.load(std::memory_order_relaxed) && !t_state.registering &&
      own_process() && g_runtimes_postponed.exchange(false, std::memory_order_relaxed)) {
    install_runtimes();
  }
  return a;
}

Attachment* attach_executing(uint32_t* execution, uint64_t* now) {
  Attachment* a = attach();
  if (a == nullptr || a->lane->state.load(std::memory_order_acquire) !=
                          static_cast<uint32_t>(LaneState::kExecuting))
    return nullptr;
  *execution = a->lane->execution.load(std::memory_order_acquire);
  if (!own_process()) return nullptr;
  const uint64_t renewed = a->lane->lease_ns.load(std::memory_order_relaxed);
  *now = now_ns();
  if (*now > renewed && *now - renewed > kGoneNs) {
    a->lane->lost(Incomplete::kLeaseOver);
    return nullptr;
  }
  return a;
}

bool follows_session() {
  const std::atomic<uint64_t>* session = g_session.load(std::memory_order_acquire);
  const uint64_t followed = g_followed.load(std::memory_order_acquire);
  return session != nullptr && followed != 0 &&
         session->load(std::memory_order_acquire) == followed;
}

bool attached() {
  return attach() != nullptr;
}

bool registration_failed() {
  const uint64_t failed = g_failed_generation.load(std::memory_order_acquire);
  return failed != 0 && failed == session_generation();
}

bool executing() {
  Attachment* a = attach();
  return a != nullptr &&
         (a->lane->state.load(std::memory_order_acquire) ==
              static_cast<uint32_t>(LaneState::kExecuting) ||
          g_will_execute.load(std::memory_order_relaxed)) &&
         own_process();
}

bool parent_was_recorded() {
  return g_parent_was_recorded.load(std::memory_order_relaxed);
}

LaneOfSession last_lane() {
  const uint64_t packed = g_last_lane.load(std::memory_order_acquire);
  return {static_cast<uint32_t>(packed >> 16), static_cast<uint16_t>(packed)};
}

uint32_t current_execution() {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || a->lane->state.load(std::memory_order_acquire) !=
                          static_cast<uint32_t>(LaneState::kExecuting))
    return 0;
  return a->lane->execution.load(std::memory_order_acquire);
}

uint32_t lane_options() {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  return a != nullptr ? a->lane->options : 0;
}

LaneSettings lane_settings() {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr) return {};
  return {a->lane->max_held_body, a->lane->payload_sample};
}

void registration_after_fork() {
  g_registering.store(false, std::memory_order_relaxed);
  Attachment* inherited = g_attachment.exchange(nullptr, std::memory_order_relaxed);
  if (inherited == nullptr) return;
  g_parent_was_recorded.store(inherited->lane->recording.load(std::memory_order_relaxed) != 0,
                              std::memory_order_relaxed);
  // The registration is the parent's: for the daemon the parent lives as long as its end of the socket,
  // and nobody else writes its ring. Lane memory comes again with the child's own registration.
  const int socket = inherited->socket.exchange(-1);
  if (socket >= 0) release_descriptor(socket);
  unmap(inherited);
}

void forget_agent_socket(int from, int to) {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr) return;
  int expected = from;
  a->socket.compare_exchange_strong(expected, to);
}

}  // namespace filibuster::preload
