// A tiny agent and a tiny daemon in one process, so that preload/inject can be proved alone: what
// it reports is remembered, what it hands off stays in `held` and `real`.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include "preload/inject/inject.h"

namespace fake {
inline std::set<int> own;
inline std::string answer, detail;
inline filibuster::FaultHow how;
inline filibuster::RpcFinished finished;
inline int finishes, notes, held = -1, real = -1;
inline bool daemon_there = true;
inline filibuster::HandOffKind kind;
inline uint32_t options = 0;
inline void close_held() {
  for (int* fd : {&held, &real}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}
}  // namespace fake

namespace filibuster::preload {
void outgoing_refused_as_reset(const OutgoingCall&) {}
int adopt_descriptor(int fd) {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 500);
  if (high < 0) return -1;
  ::close(fd);
  fake::own.insert(high);
  return high;
}
void release_descriptor(int fd) {
  fake::own.erase(fd);
  ::close(fd);
}
bool is_own_descriptor(int fd) {
  return fake::own.count(fd) != 0;
}
void report_fault(const OutgoingCall&, FaultHow how, std::string_view detail) {
  fake::how = how;
  fake::detail = detail;
}
void report_no_limit(const OpenCall&) {}
bool agent_thread_was_refused() {
  return false;
}
void report_note(std::string_view, NoteKind) {
  ++fake::notes;
}
void outgoing_end(OpenCall* call, const RpcFinished& finished) {
  fake::finished = finished;
  fake::finished.body_sample = {};
  ++fake::finishes;
  call->active = false;
}
size_t plan_blob(const PlanEntry& entry, bool head_request, char* out, size_t capacity) {
  const size_t size = head_request ? entry.blob_head_size : entry.blob_size;
  if (size > capacity) return 0;
  memcpy(out, fake::answer.data(), size);
  return size;
}
bool hand_off(const OutgoingCall&, HandOffKind kind, bool, int held, int real) {
  if (!fake::daemon_there) return false;
  fake::kind = kind;
  fake::held = dup(held);
  release_descriptor(held);
  fake::real = real < 0 ? -1 : dup(real);
  if (real >= 0) release_descriptor(real);
  return true;
}
bool hand_off_relay(const OutgoingCall& call, const RelayState&, const char*, int held, int real) {
  return hand_off(call, HandOffKind::kRelay, false, held, real);
}
uint32_t lane_options() {
  return fake::options;
}
}  // namespace filibuster::preload
