// Between outgoing.cc and connects.cc.
#pragma once

#include "preload/agent/state.h"

namespace filibuster::preload {

// The rules after 'the request carries our header', for what this thread does now at this call
// site.
CauseOf cause_of_thread(Attachment* attachment, uint32_t execution, Hash128 site);

// Something could not be counted or told: the execution is reported as incomplete.
void lane_is_incomplete(Attachment* attachment);

// A request went out over the connection of this key: further tries are not its alternatives.
void connect_carries_request(Hash128 key);

}  // namespace filibuster::preload
