// Node's loop writes a command of a database when it likes, and together with others. So the script says
// who made the bytes of each write.
#include "preload/rpc/write_origins.h"
#include "preload/runtimes/node/node.h"
#include "preload/stream/registry.h"

namespace filibuster::preload::node {
namespace {

// Node writes to a socket on the thread of the socket's loop, which is also the thread that says who writes.
WriteOrigins* origins_of(Connection* c) {
  Followed* protocol = c->protocol();
  return protocol == nullptr || c->role != Role::kClient ? nullptr : protocol->write_origins(*c);
}

}  // namespace

bool asks_who_writes(int fd) {
  const Pinned c = find(fd);
  return c && origins_of(&*c) != nullptr;
}

void say_who_writes(int fd, uint64_t start, uint64_t end, const RuntimeField& who) {
  const Pinned c = find(fd);
  if (!c) return;
  if (WriteOrigins* origins = origins_of(&*c)) origins->add(start, end, who);
}

}  // namespace filibuster::preload::node
