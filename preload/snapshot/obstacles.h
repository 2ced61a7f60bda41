// What two executions of one process image would share, although two starts do not.
#pragma once

#include <sys/types.h>

#include "core/protocol/snapshot.h"

namespace filibuster::preload {

struct Obstacle {
  char text[240] = {};  // "it has 3 threads"; empty: there is none
  NotForked kind = NotForked::kUnknown;
  bool exclusive = false;  // core/protocol/snapshot.h SnapshotHello
  bool any() const { return text[0] != '\0'; }
};

// Looks at the calling process. `log` is the inode of the test's log, which each execution gets anew.
// `own_socket` is a descriptor of ours that does not count.
void find_obstacle(ino_t log, Obstacle* out);

}  // namespace filibuster::preload
