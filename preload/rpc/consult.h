// What the plan has for one outgoing RPC.
#pragma once

#include "core/fault/edge.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/attempts.h"
#include "preload/session/state.h"

namespace filibuster::preload {

// `edge`: who calls whom for what. Its texts are read only while a fault is armed for an edge.
// Sets `call->faulted` and `call->plan` if the RPC is to fail, and `call->attempt` if it is an attempt of a sequence.
// Reports why a fault that is planned for it is not injected, and the attempts that pass. `identity` is read only
// while a sequence is planned.
void consult_plan(Attachment* a, OutgoingCall* call, const AttemptIdentity& identity,
                  const EdgeView& edge);

}  // namespace filibuster::preload
