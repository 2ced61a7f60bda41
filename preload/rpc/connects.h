// Between outgoing.cc and connects.cc.
#pragma once

#include "preload/session/state.h"

namespace filibuster::preload {

// The rules after 'the request carries our header', for what this thread does now at this call
// site.
CauseOf cause_of_thread(Attachment* attachment, uint32_t execution, Hash128 site);

// Something could not be counted or told: the execution is reported as incomplete.
void lane_is_incomplete(Attachment* attachment);

// Counts an RPC, or a connect that was refused in the place of one, for the connects that follow.
void count_call(Attachment* attachment, uint32_t execution, Hash128 place, Hash128 service_place);
// What follows at these places is not what the plan was made from: nothing is refused there at
// connect any more.
void stop_counting(Attachment* attachment, uint32_t execution, const PlanEntry& entry);

// refusals.cc. Is this connect the own second attempt of a client whose last request (of this thread) was
// to be refused, and was reset because its connection was open? Then it is refused in its place; that
// is reported, and `*entry` its plan.
bool refuse_second_attempt(Attachment* attachment, uint32_t execution, Hash128 parent_path,
                           Hash128 service, PlanEntry* entry);
// Another request follows.
void forget_last_reset();

// A request went out over the connection of this group: further tries are not its alternatives.
void connect_carries_request(uint64_t group);

}  // namespace filibuster::preload
