#include "preload/runtimes/grpc/calls.h"

#include <cstring>

#include "core/rpc/header_field.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/grpc/credentials.h"
#include "preload/runtimes/grpc/originals.h"
#include "preload/runtimes/grpc/pointer_table.h"
#include "preload/runtimes/stack.h"
#include "preload/runtimes/task.h"
#include "preload/session/state.h"

namespace filibuster::preload::grpc {
namespace {

constexpr size_t kMaxMetadata = 1024;

constinit PointerTable<uint64_t, 1024> g_channels;  // whose calls are marked, and in which session
constinit PointerTable<char, 4096> g_calls;         // calls on such channels, before they begin

uint64_t site_here() {
  const Scratch scratch;
  if (!scratch) return 0;
  return intern_stack(capture_stack(reinterpret_cast<char*>(scratch.data()), Scratch::kSize));
}

Slice inlined(std::string_view text) {
  static_assert(kHeaderName.size() <= Slice::kInlined);
  Slice slice{};
  slice.inlined.size = static_cast<uint8_t>(text.size());
  std::memcpy(slice.inlined.bytes, text.data(), text.size());
  return slice;
}

}  // namespace

bool runs() {
  return current_execution() != 0 || executing();
}

void channel_made(const Channel* channel, const Credentials* credentials) {
  const uint64_t session = marked_in(credentials);
  if (channel != nullptr && session != kNever) g_channels.insert(channel, session);
}

void channel_destroyed(const Channel* channel) {
  g_channels.remove(channel);
}

void call_made(const Call* call, const Channel* channel) {
  uint64_t session = kNever;
  if (call == nullptr || !g_channels.find(channel, &session) || !runs()) return;
  if (session == kInEachSession || session == session_generation()) g_calls.force(call, 0);
}

void call_released(const Call* call) {
  g_calls.remove(call);
}

MarkedBatch::MarkedBatch(Call* call, const Op* ops, size_t count, const void* caller)
    : given_(ops), caller_(caller) {
  if (ops == nullptr || count == 0 || count > kMaxOps) return;
  for (size_t i = 0; i < count; ++i) {
    if (ops[i].type != kSendInitialMetadata) continue;
    char own = 0;
    if (!g_calls.take(call, &own) || !understood(caller)) return;
    std::memcpy(copy_, ops, count * sizeof *ops);
    if (mark(call, &copy_[i])) given_ = copy_;
    return;
  }
}

bool MarkedBatch::mark(Call* call, Op* op) {
  auto allocate = original<void* (*)(Call*, size_t)>(Function::kCallArenaAlloc, caller_);
  auto copied = original<Slice (*)(const char*, size_t)>(Function::kSliceFromCopiedBuffer, caller_);
  const size_t count = op->metadata.count;
  if (allocate == nullptr || copied == nullptr || count > kMaxMetadata) return false;
  const Metadata* given = op->metadata.elements;
  TaskContext task;
  size_t place = count;  // our field goes behind the others, or where the application forwarded one
  for (size_t i = 0; i < count; ++i) {
    if (text_of(given[i].key) != kHeaderName) continue;
    // A damaged field is reported when the request leaves.
    if (!decode_header_value(text_of(given[i].value), &task.cause)) return false;
    task.state = TaskContext::State::kRequest;
    place = i;
  }
  if (place == count) task = inheritable_task();
  // This array lives as long as the call. The application's own array stays as it is.
  auto* elements = static_cast<Metadata*>(allocate(call, (count + 1) * sizeof(Metadata)));
  if (elements == nullptr) return false;
  if (count > 0) std::memcpy(elements, given, count * sizeof(Metadata));
  char value[kRuntimeValueSize];
  encode_runtime_value(field_of(task, site_here()), value);
  value_ = copied(value, sizeof value);
  holds_value_ = true;
  elements[place] = Metadata{};
  elements[place].key = inlined(kHeaderName);
  elements[place].value = value_;
  op->metadata.count = place == count ? count + 1 : count;
  op->metadata.elements = elements;
  return true;
}

void MarkedBatch::release() {
  if (!holds_value_) return;
  auto unref = original<void (*)(Slice)>(Function::kSliceUnref, caller_);
  if (unref != nullptr) unref(value_);
}

}  // namespace filibuster::preload::grpc
