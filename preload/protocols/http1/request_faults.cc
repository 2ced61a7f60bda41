// Faults that fire when a request is sent (inject.h does the injection): when one can, and what a
// connection is afterwards.
#include <utility>

#include "core/fault/fault.h"
#include "preload/inject/inject.h"
#include "preload/protocols/http1/http1.h"
#include "preload/stream/delivery.h"
#include "preload/stream/kept.h"

namespace filibuster::preload {
namespace {

void settle_fault(Connection& c, Exchange* x) {
  Http1& h = http1_of(c);
  h.fault = nullptr;
  if (x->request_end != 0) finish_half(c, x, kRequestHalf);
}

void not_injected(Connection& c, const char* why) {
  Http1& h = http1_of(c);
  report_fault(h.fault->call, FaultHow::kNotInjected, why);
  settle_fault(c, h.fault);
}

// Takes the only exchange out of the queue, injects, and forgets the connection: from now on its
// descriptor is an end of a pair. False: nothing has changed.
bool inject(Connection& c, int fd, bool after) {
  Http1& h = http1_of(c);
  Exchange* x = h.fault;
  if (!c.response_flow.acquire()) {
    not_injected(c, "another thread was reading the connection");
    return false;
  }
  // Where the head was read, the rest may not be missing: the timeouts of many clients end with the head.
  const bool begun = after && h.responses.state() != http1::ParseState::kStart;
  if (h.exchanges.front() != x || begun) {
    c.response_flow.release();
    not_injected(c, kAnsweredFirst);
    return false;
  }
  if (!end_with_fault(c, fd, &x->call, after, x->head_request)) {
    c.response_flow.release();
    settle_fault(c, x);  // the injection has reported why
    return false;
  }
  h.exchanges.pop();
  h.fault = nullptr;
  h.current = nullptr;
  const Hash128 parent_path = x->call.parent_path;
  const uint32_t execution = x->call.execution;
  // A silence leaves its call open until the application gives up (inject.h).
  const bool silent =
      x->call.active && static_cast<FaultKind>(x->call.plan.kind) == FaultKind::kTimeout;
  x->call.active = silent;
  finish_half(c, x, kRequestHalf);
  if (silent) {
    h.silenced = x;
  } else {
    finish_half(c, x, kResponseHalf);
  }
  c.response_flow.release();
  end_kept_before_refusal(parent_path, execution);
  return true;
}

// The server's own answer will pass changed. No byte of the request was sent, so no byte of the answer can
// have come. The connection is followed on: what is written to it the daemon hands to the server, and
// what is read on it is what the daemon makes of the answer.
void change(Connection& c, int fd) {
  Http1& h = http1_of(c);
  Exchange* x = h.fault;
  const char* why = "another thread was waiting in a read of the connection";
  if (h.receives.close()) {
    why = "another thread was reading the connection";
    if (c.response_flow.acquire()) {
      why = change_answer(fd, c.transport.load(), x->call, x->head_request);
      if (why == nullptr) {
        c.cookie = socket_cookie(fd);
        g_faults_fired.store(true);
        x->changed = true;
      }
      c.response_flow.release();
    }
  }
  h.receives.open();
  if (why != nullptr) return not_injected(c, why);
  report_fault(x->call, FaultHow::kInjected, "the server's answer passes changed");
  settle_fault(c, x);
}

bool is_change(const OutgoingCall& call) {
  return changes_answer(static_cast<FaultKind>(call.plan.kind));
}

}  // namespace

void keep_readers_out(Connection& c, uint64_t limit) {
  Http1& h = http1_of(c);
  const Exchange* x = h.fault;
  const bool ends_request = x != nullptr && x->call.plan.after_effect != 0 && x->request_end != 0 &&
                            limit >= x->request_end && c.wire.fed <= x->request_end;
  if (!ends_request || h.exchanges.size() != 1 || h.keeps_readers_out) return;
  h.keeps_readers_out = true;
  // A thread that waits in a read stays there. Others need not wait for it: it reads what comes first.
  if (!h.receives.close()) h.receives.open();
}

void let_readers_in(Connection& c) {
  Http1& h = http1_of(c);
  if (std::exchange(h.keeps_readers_out, false)) h.receives.open();
}

bool try_fault_before(Connection& c, int fd) {
  Http1& h = http1_of(c);
  Exchange* x = h.fault;
  if (x == nullptr || x->call.plan.after_effect != 0) return false;
  if (c.wire.edits.position() > x->request_start) {
    not_injected(c, "part of the request had been sent");
  } else if (h.exchanges.size() != 1) {
    not_injected(c, "pipelined with other requests");
  } else if (x->request_end != 0 && c.wire.fed > x->request_end) {
    not_injected(c, "another request follows in the same write");
  } else if (is_change(x->call)) {
    change(c, fd);
  } else {
    return inject(c, fd, false);
  }
  return false;
}

void try_fault_after(Connection& c, int fd) {
  Http1& h = http1_of(c);
  Exchange* x = h.fault;
  if (x == nullptr || x->call.plan.after_effect == 0 || x->request_end == 0) return;
  if (c.wire.edits.position() < x->request_end) return;
  if (h.exchanges.empty()) {
    not_injected(c, kAnsweredFirst);
  } else if (h.exchanges.size() != 1 || c.wire.fed > x->request_end) {
    not_injected(c, "pipelined with other requests");
  } else {
    inject(c, fd, true);
  }
}

}  // namespace filibuster::preload
