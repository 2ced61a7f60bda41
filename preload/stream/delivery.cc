#include "preload/stream/delivery.h"

#include "preload/inject/aside.h"
#include "preload/inject/inject.h"
#include "preload/stream/sender.h"

namespace filibuster::preload {
namespace {

using State = ConnectionState::State;
using Event = ConnectionState::Event;

}  // namespace

bool end_with_fault(Connection& c, int fd, OutgoingCall* call, bool after, bool head_request) {
  c.state.change(Event::kBeginFault);
  const bool done = after ? inject_after_effect(fd, c.transport.load(), call, head_request)
                          : inject_before_effect(fd, c.transport.load(), call, head_request);
  if (!done) {
    if (c.state.change(Event::kFaultFailed) == State::kMissed)
      report_given_up(c, NotInterposedReason::kMidStream);
    return false;
  }
  c.state.change(Event::kFaultFired);
  g_faults_fired.store(true);
  c.wire.edits.reset();
  release_hold(c.wire);
  update_debt(c);
  return true;
}

const char* answer_aside(Connection& c, int fd, std::string_view answer) {
  int real = -1;
  if (const char* why = put_aside(fd, c.transport.load(), answer, &real)) return why;
  c.aside.store(real);
  g_faults_fired.store(true);
  return nullptr;
}

void go_on(Connection& c, int fd) {
  const Followed* protocol = c.protocol();
  if (c.aside.load() < 0 && (protocol == nullptr || !protocol->may_go_on(c))) return;
  if (!enter_requests(c)) return;  // the owner of the flow comes here when it leaves
  Transport* const transport = c.transport.load();
  if (c.aside.load() >= 0 && is_replaced(fd) && unread_bytes(fd) == 0 &&
      (transport == nullptr || transport->all_is_read())) {
    put_back(fd, c.aside.exchange(-1));
    update_debt(c);
  }
  c.request_flow.release();
  settle(c);
  if (c.aside.load() < 0 && protocol != nullptr && protocol->may_go_on(c)) flush(c, fd);
}

}  // namespace filibuster::preload
