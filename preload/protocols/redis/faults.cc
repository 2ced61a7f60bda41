// Faults that fire when a call is sent. A planned reply takes the place of the connection until it is read
// (inject/aside.h), and then the connection goes on, as after an error of the server. A late reply comes through the
// daemon, which carries the connection from then on (inject/inject.h), whether the application still waits for it or
// not. All other faults end the connection.
#include <cstring>
#include <utility>

#include "core/fault/fault.h"
#include "core/resp/render.h"
#include "preload/inject/inject.h"
#include "preload/os/pages.h"
#include "preload/protocols/redis/redis.h"
#include "preload/stream/delivery.h"
#include "preload/stream/kept.h"
#include "preload/stream/wire.h"

namespace filibuster::preload {
namespace {

constexpr size_t kMaxLine = 768;  // the line of an error: its code and its message
constexpr std::string_view kAborted =
    "-EXECABORT Transaction discarded because of previous errors.\r\n";

void next_fault(Redis& r) {
  free_planned_fault(std::exchange(r.fault, r.fault->next));
  r.awaited.store(r.fault != nullptr ? r.fault->first : 0);
  if (r.fault == nullptr) r.is_ending = false;
}

// The bytes of a planned reply, in pages of our own. In a transaction each command is answered. For an error,
// the commands that were to be queued get it, and EXEC is refused for that reason. A null answers EXEC as for
// a transaction whose watched keys have changed.
class PlannedReply {
 public:
  PlannedReply(const PlannedFault& fault, int version) {
    char text[kMaxLine], line[kMaxLine + 3];
    const size_t size = plan_blob(fault.call.plan, false, text, sizeof text);
    if (fault.call.plan.blob_size != size) return;
    const bool null = size == 0;
    const std::string_view error(line,
                                 null ? 0 : resp::error_reply(line, sizeof line, {text, size}, {}));
    if (fault.call.replies == 1) {
      if (reserve(16 + error.size())) null ? add_null(version) : add(error);
      return;
    }
    const std::string_view queued = null ? "+QUEUED\r\n" : error;
    if (!reserve(128 + fault.members * queued.size())) return;
    add("+OK\r\n");
    for (uint32_t i = 0; i < fault.members; ++i) add(queued);
    if (!null) {
      add(kAborted);
    } else {
      add(version == 3 ? "_\r\n" : "*-1\r\n");
    }
  }
  ~PlannedReply() {
    if (pages_ != nullptr) unmap_pages(pages_, capacity_);
  }
  PlannedReply(const PlannedReply&) = delete;
  std::string_view bytes() const { return {pages_, size_}; }

 private:
  bool reserve(size_t size) {
    capacity_ = size;
    pages_ = static_cast<char*>(map_pages(size));
    return pages_ != nullptr;
  }
  void add(std::string_view text) {
    std::memcpy(pages_ + size_, text.data(), text.size());
    size_ += text.size();
  }
  void add_null(int version) {
    size_ += resp::nil_reply(pages_ + size_, capacity_ - size_, version);
  }

  char* pages_ = nullptr;
  size_t capacity_ = 0;
  size_t size_ = 0;
};

// nullptr: the reply is injected, and the connection goes on after the call. Else why not.
const char* reply(Connection& c, int fd, PlannedFault& fault) {
  Redis& r = redis_of(c);
  const PlannedReply planned(fault, r.version.load());
  if (planned.bytes().empty()) return "the plan holds no reply for it";
  // Set before the readers wake, because they look at it at once.
  fault.last->injected = true;
  if (const char* why = answer_aside(c, fd, planned.bytes())) {
    fault.last->injected = false;
    return why;
  }
  report_fault(fault.call, FaultHow::kInjected, "answered before it was sent");
  note_sent(c.wire, static_cast<size_t>(fault.end - fault.start));  // these bytes are never sent
  return nullptr;
}

// nullptr: the reply will be late. Else why not.
const char* delay(Connection& c, int fd, PlannedFault& fault) {
  if (!c.response_flow.acquire()) return "another thread was reading the connection";
  const char* why = change_answer(fd, c.transport.load(), fault.call, false);
  if (why == nullptr) {
    c.cookie = socket_cookie(fd);
    g_faults_fired.store(true);
    fault.last->delayed = true;
  }
  c.response_flow.release();
  if (why == nullptr)
    report_fault(fault.call, FaultHow::kInjected, "the server's reply comes later");
  return why;
}

// False: the reason was reported, and nothing has changed.
bool end_connection(Connection& c, int fd, PlannedFault& fault, bool after) {
  Redis& r = redis_of(c);
  if (!c.response_flow.acquire()) {
    report_fault(fault.call, FaultHow::kNotInjected, "another thread was reading the connection");
    return false;
  }
  if (!end_with_fault(c, fd, &fault.call, after, false)) {
    c.response_flow.release();
    return false;
  }
  const auto kind = static_cast<FaultKind>(fault.call.plan.kind);
  const Hash128 parent_path = fault.call.parent_path;
  const uint32_t execution = fault.call.execution;
  fault.last->call.active = false;
  // A silence leaves its call open until the application gives up (inject.h).
  if (kind == FaultKind::kTimeout) r.silenced = fault.call;
  end_open_calls(c, {});  // no call was formed of what is pipelined behind the fault
  c.response_flow.release();
  end_kept_before_refusal(parent_path, execution);
  return true;
}

// While one exists, a thread that begins a receive waits, because a descriptor must not be replaced under it.
class Firing {
 public:
  explicit Firing(Redis& redis) : redis_(redis) { redis_.firing.store(true); }
  ~Firing() { redis_.firing.store(false); }
  Firing(const Firing&) = delete;

 private:
  Redis& redis_;
};

// True: the fault fired in place of all that was to be sent, and nothing follows it.
bool fire(Connection& c, int fd, bool after) {
  Redis& r = redis_of(c);
  PlannedFault& fault = *r.fault;
  const Firing firing(r);
  if (r.readers.load() != 0) {
    report_fault(fault.call, FaultHow::kNotInjected, "another thread was reading the connection");
  } else if (r.in_reply.load()) {
    report_fault(fault.call, FaultHow::kNotInjected,
                 "a message that nobody asked for was half read");
  } else if (static_cast<FaultKind>(fault.call.plan.kind) == FaultKind::kRedis) {
    if (const char* why = reply(c, fd, fault))
      report_fault(fault.call, FaultHow::kNotInjected, why);
  } else if (static_cast<FaultKind>(fault.call.plan.kind) == FaultKind::kLatency) {
    if (const char* why = delay(c, fd, fault))
      report_fault(fault.call, FaultHow::kNotInjected, why);
  } else if (end_connection(c, fd, fault, after)) {
    next_fault(r);
    return true;
  }
  next_fault(r);
  return false;
}

}  // namespace

void drop_first_fault(Connection& c, const char* why) {
  Redis& r = redis_of(c);
  report_fault(r.fault->call, FaultHow::kNotInjected, why);
  next_fault(r);
}

FaultTurn take_fault_turn(Connection& c, int fd, Sending sending) {
  Redis& r = redis_of(c);
  while (r.fault != nullptr) {
    const PlannedFault& fault = *r.fault;
    const bool after = fault.call.plan.after_effect != 0;
    const uint64_t position = c.wire.edits.position();
    if (position <= fault.start &&
        r.commands.is_answered(fault.first)) {  // the connection's end has answered it
      drop_first_fault(c, kConnectionEndedFirst);
      continue;
    }
    if (position < fault.start) return {fault.start, false};
    if (position > fault.start && !after) {
      drop_first_fault(c, "a part of it had been sent");
      continue;
    }
    if (after && position > fault.start && position < fault.end) return {fault.end, false};
    // What was sent to the server before is answered first.
    const bool its_turn =
        r.commands.is_next(fault.first) && c.aside.load() < 0 && sending != Sending::kAside;
    if (!its_turn) {
      if (position == fault.start) return {fault.start, false};
      drop_first_fault(c, "its answer was read before");
      continue;
    }
    if (after && position == fault.start) return {fault.end, false};
    if (fire(c, fd, after)) return {0, true};
  }
  return {};
}

}  // namespace filibuster::preload
