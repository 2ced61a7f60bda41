// What outgoing.cc, connects.cc and refusals.cc use of each other.
#pragma once

#include "preload/session/state.h"

namespace filibuster::preload {

// The cause of what this thread does now at this call site, by the rules that come after 'the request
// carries our header'.
CauseOf cause_of_thread(Attachment* attachment, uint32_t execution, Hash128 site);

// Counts an RPC, or a connect that was refused in the place of one, for the connects that follow.
void count_call(Attachment* attachment, uint32_t execution, Hash128 place, Hash128 service_place);
// From now on the calls at the places of `entry` are not those that the plan was made from, so nothing is
// refused there at connect any more.
void stop_counting(Attachment* attachment, uint32_t execution, const PlanEntry& entry);

// refusals.cc. The last request of this thread was to be refused, and was reset because its connection was
// open. Is this connect the second attempt that its client makes by itself? Then the attempt is to be
// refused in the request's place. That is reported, and `*entry` is the plan of the request.
bool refuse_second_attempt(Attachment* attachment, uint32_t execution, Hash128 parent_path,
                           Hash128 service, PlanEntry* entry);
// refusals.cc. Called when this thread makes another request.
void forget_last_reset();

// A request went out over the connection of this group: further tries do not belong to the group.
void connect_carries_request(uint64_t group);

}  // namespace filibuster::preload
