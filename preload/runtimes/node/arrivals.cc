// Requests whose caller has no agent. The library formed their context when it read them, which is just
// before Node hands them to the program, on the same thread.
#include "preload/rpc/causality.h"
#include "preload/runtimes/node/node.h"
#include "preload/session/state.h"
#include "preload/stream/registry.h"

namespace filibuster::preload::node {
namespace {

// next_entry and entry_now run on the thread that reads and answers this connection, so nothing changes
// meanwhile.
template <typename Predicate>
TaskContext find_entry(int fd, Predicate matches) {
  TaskContext task;
  const Attachment* a = g_attachment.load(std::memory_order_acquire);
  const Pinned c = find(fd);
  const Followed* protocol = c ? c->protocol() : nullptr;
  if (a == nullptr || protocol == nullptr || c->role != Role::kServer) return task;
  for (uint32_t i = 0; i < protocol->open_requests(); ++i) {
    const Incoming* incoming = protocol->incoming_at(i);
    if (incoming == nullptr || !incoming->entry || incoming->generation != a->generation ||
        !matches(incoming->rpc))
      continue;
    const uint32_t version = incoming->path_version.load(std::memory_order_acquire);
    task.state = TaskContext::State::kRequest;
    task.cause = {a->lane->session, static_cast<uint16_t>(a->lane->lane), incoming->execution,
                  incoming->rpc, incoming->paths[version & 1]};
    return task;
  }
  return task;
}

}  // namespace

TaskContext next_entry(int fd, const TaskContext& after) {
  // Ids grow: the first younger request is the next that Node sees, even if one read brought several.
  const uint64_t last = after.state == TaskContext::State::kRequest ? after.cause.rpc : 0;
  return find_entry(fd, [last](uint64_t rpc) { return rpc > last; });
}

TaskContext entry_now(int fd, const TaskContext& entry) {
  const TaskContext now = find_entry(fd, [&entry](uint64_t rpc) { return rpc == entry.cause.rpc; });
  return now.state == TaskContext::State::kRequest ? now : entry;
}

}  // namespace filibuster::preload::node
