// The way to a daemon: its socket, or its door (core/protocol/control_page.h).
#pragma once

#include <cstdint>

#include "core/protocol/control_page.h"

namespace filibuster::preload {

// A socket of ours that is connected to a daemon.
struct Reached {
  int socket = -1;                 // -1: no daemon answers
  const uint8_t* token = nullptr;  // to be shown: it is connected to the door
};

// At `path`, or at the door of the slot (nullptr: none), if this process cannot open the path any more.
Reached reach(const char* path, const SessionSlot* slot, uint64_t deadline);

}  // namespace filibuster::preload
