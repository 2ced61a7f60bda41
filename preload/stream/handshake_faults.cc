#include "preload/stream/handshake_faults.h"

#include "preload/stream/delivery.h"

namespace filibuster::preload {

constinit std::atomic<bool> g_certificate_faults{false};
constinit thread_local HandshakeAtWork* t_handshake __attribute__((tls_model("initial-exec"))) =
    nullptr;

namespace {

OutgoingCall call_of(const Connection& c) {
  OutgoingCall call;
  static_cast<OpenCall&>(call) = c.connect.handshake;
  call.plan = c.connect.plan;
  call.faulted = true;
  return call;
}

void end_call(Connection& c, RpcOutcome outcome, uint8_t injected) {
  RpcFinished finished;
  finished.rpc = c.connect.handshake.rpc;
  finished.outcome = outcome;
  finished.injected = injected;
  outgoing_end(&c.connect.handshake, finished);
}

void missed(Connection& c, std::string_view why) {
  report_fault(call_of(c), FaultHow::kNotInjected, why);
  end_call(c, RpcOutcome::kClosed, 0);
}

bool is_of_certificate(TlsFault fault) {
  return fault == TlsFault::kCertificateExpired || fault == TlsFault::kUnknownCa;
}

}  // namespace

TlsFault handshake_fault(const Connection& c) {
  return c.connect.handshake.active ? static_cast<TlsFault>(c.connect.plan.tls) : TlsFault::kNone;
}

bool fail_handshake(Connection& c, int fd) {
  const TlsFault fault = handshake_fault(c);
  if (fault == TlsFault::kNone) return false;
  if (is_of_certificate(fault)) {
    if (const HandshakeAtWork* work = t_handshake) work->set_fault(work->library, work->session, c);
    return false;
  }
  if (!c.response_flow.acquire()) {
    missed(c, "another thread was reading the connection");
    return false;
  }
  OutgoingCall call = call_of(c);
  const bool done = end_with_fault(c, fd, &call, false, false);
  // A silence leaves the call open until the application gives up.
  c.connect.handshake.active = call.active;
  c.response_flow.release();
  if (!done) end_call(c, RpcOutcome::kClosed, 0);  // the injection has reported why
  return done;
}

void certificate_fault_is_set(Connection& c) {
  c.certificate_fault_set = true;
}

void handshake_was_taken(Connection& c) {
  const TlsFault fault = handshake_fault(c);
  if (fault == TlsFault::kNone) return;
  if (!is_of_certificate(fault)) {
    missed(c, "its handshake was not seen");
  } else if (!c.certificate_fault_set) {
    missed(c, kCheckNotReached);
  } else {
    missed(c, kDoesNotCheck);
  }
}

void handshake_ends(Connection& c) {
  const TlsFault fault = handshake_fault(c);
  // A silence lasts until the application gives up.
  if (fault == TlsFault::kNone || c.state.is_replaced()) return;
  // A try of another address of the same name goes on with the call.
  if (c.connect_state.load() == ConnectState::kNone) {
    c.connect.handshake.active = false;
  } else if (!c.closing.load()) {
    missed(c, "its connection could not be followed");
  } else if (!is_of_certificate(fault) || !c.certificate_fault_set) {
    missed(c, kConnectionEndedFirst);
  } else {
    report_fault(call_of(c), FaultHow::kInjected, "the server's certificate was refused");
    end_call(c, RpcOutcome::kClosed, 1);
  }
}

void end_handshake_silence(Connection& c) {
  if (handshake_fault(c) == TlsFault::kHandshakeTimeout)
    end_call(c, RpcOutcome::kTimedOut, c.elapsed.load(std::memory_order_relaxed) ? 2 : 1);
}

}  // namespace filibuster::preload
