#include "preload/runtimes/attached/door.h"

#include <cstring>

#include "preload/interpose.h"
#include "preload/rpc/causality.h"
#include "preload/runtimes/attached/origin.h"
#include "preload/runtimes/task.h"
#include "preload/session/state.h"
#include "preload/stream/registry.h"

// The proxy asks between its calls of libc, never inside one. The scope keeps errno, and keeps the hooks
// out of what is done here.
#define FILIBUSTER_DOOR(type, name, params) \
  extern "C" __attribute__((visibility("default"))) type name params

FILIBUSTER_DOOR(void, filibuster_attached_origin,
                (const char* stack, size_t stack_size, const char* cause, size_t cause_size)) {
  using namespace filibuster::preload;
  t_origin_stack = {stack, stack_size};
  TaskContext task;
  if (cause_size != 0 && filibuster::decode_header_value({cause, cause_size}, &task.cause))
    task.state = TaskContext::State::kRequest;
  swap_task(task);
}

namespace {

// As runtimes are told (incoming_begin): what the request causes is counted under its first path.
void write_value(const filibuster::preload::Incoming* incoming, char* value) {
  const filibuster::preload::LaneOfSession lane = filibuster::preload::last_lane();
  if (incoming == nullptr || lane.session == 0) return;
  filibuster::encode_header_value(
      {lane.session, lane.lane, incoming->execution, incoming->rpc, incoming->paths[0]}, value);
}

}  // namespace

FILIBUSTER_DOOR(int, filibuster_attached_incoming, (int fd, char* value, size_t capacity)) {
  using namespace filibuster::preload;
  const HookScope scope;
  const bool room = capacity >= filibuster::kHeaderValueSize;
  if (room) *value = 0;
  const Pinned c = find(fd);
  if (!c || c->role != Role::kServer) return 0;
  Followed* protocol = c->protocol();
  const Incoming* incoming = nullptr;
  const uint32_t open = protocol == nullptr ? 0 : protocol->open_incoming(&incoming);
  if (open == 1 && room) write_value(incoming, value);
  return static_cast<int>(open);
}

FILIBUSTER_DOOR(int, filibuster_attached_stream,
                (int fd, unsigned stream, char* value, size_t capacity)) {
  using namespace filibuster::preload;
  const HookScope scope;
  if (capacity < filibuster::kHeaderValueSize) return 0;
  *value = 0;
  const Pinned c = find(fd);
  if (!c || c->role != Role::kServer) return 0;
  Followed* protocol = c->protocol();
  const Incoming* incoming = protocol == nullptr ? nullptr : protocol->incoming_of_stream(stream);
  write_value(incoming, value);
  return incoming != nullptr ? 1 : 0;
}

FILIBUSTER_DOOR(void, filibuster_attached_request, (const filibuster::AttachedCall* call)) {
  filibuster::preload::t_attached_call = *call;
}

FILIBUSTER_DOOR(int, filibuster_attached_answered, (int fd, uint64_t call, unsigned status)) {
  using namespace filibuster::preload;
  const HookScope scope;
  const Pinned c = find(fd);
  if (!c || c->role != Role::kClient) return 0;
  return answered_elsewhere(*c, call, static_cast<uint16_t>(status)) ? 1 : 0;
}

FILIBUSTER_DOOR(void, filibuster_attached_lost, (int fd)) {
  using namespace filibuster::preload;
  const HookScope scope;
  const Pinned c = find(fd);
  if (c && c->role == Role::kClient) answers_elsewhere_lost(*c);
}

FILIBUSTER_DOOR(void, filibuster_attached_inner, (int fd)) {
  using namespace filibuster::preload;
  const HookScope scope;
  set_mark(fd, Mark::kInner);
}
