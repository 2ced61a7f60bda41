// The functions of libgrpc that applications and libgrpc++ call. (gRPC that is linked into a
// program, or hidden in a library as grpcio's, is not reached: cpython/helper.py follows the latter.)
#include <optional>

#include "preload/rpc/agent.h"
#include "preload/runtimes/grpc/calls.h"
#include "preload/runtimes/grpc/contexts.h"
#include "preload/runtimes/grpc/credentials.h"
#include "preload/runtimes/grpc/originals.h"
#include "preload/runtimes/native/library_originals.h"
#include "preload/runtimes/task.h"

#define FILIBUSTER_GRPC(type, name, params) \
  extern "C" __attribute__((visibility("default"))) type name params

namespace filibuster::preload::grpc {
namespace {

// Calls `action` unless we are called by ourselves, or no session is there. (The pid is not compared,
// which would be a system call each time: a child of vfork calls nothing of gRPC.)
template <typename Action>
void in_session(Action action) {
  const HookScope scope;
  if (!scope.pass_through() && session_present()) action();
}

// Calls `action` without a session too, because channels last longer than sessions.
template <typename Action>
void always(Action action) {
  const HookScope scope;
  if (!scope.pass_through()) action();
}

template <typename Ask>
Event next_event(const Queue* queue, Ask ask) {
  in_session([&] { queue_asked(queue); });
  const Event event = ask();
  in_session([&] { event_delivered(queue, event); });
  return event;
}

}  // namespace
}  // namespace filibuster::preload::grpc

using namespace filibuster::preload::grpc;
using filibuster::preload::inheritable_task;

// --- channels and calls -------------------------------------------------------------------------

FILIBUSTER_GRPC(Credentials*, grpc_insecure_credentials_create, ()) {
  auto real = original<Credentials* (*)()>(Function::kInsecureCredentialsCreate, FILIBUSTER_CALLER);
  Credentials* made = real();
  always([&] { insecure_credentials_made(made); });
  return made;
}

FILIBUSTER_GRPC(Credentials*, grpc_ssl_credentials_create,
                (const char* roots, void* pair, const void* options, void* reserved)) {
  const void* caller = FILIBUSTER_CALLER;
  auto real = original<Credentials* (*)(const char*, void*, const void*, void*)>(
      Function::kSslCredentialsCreate, caller);
  Credentials* made = real(roots, pair, options, reserved);
  always([&] { tls_credentials_made(made, caller); });
  return made;
}

FILIBUSTER_GRPC(Credentials*, grpc_ssl_credentials_create_ex,
                (const char* roots, void* pair, const void* options, void* reserved)) {
  const void* caller = FILIBUSTER_CALLER;
  auto real = original<Credentials* (*)(const char*, void*, const void*, void*)>(
      Function::kSslCredentialsCreateEx, caller);
  Credentials* made = real(roots, pair, options, reserved);
  always([&] { tls_credentials_made(made, caller); });
  return made;
}

FILIBUSTER_GRPC(Credentials*, grpc_tls_credentials_create, (void* options)) {
  const void* caller = FILIBUSTER_CALLER;
  auto real = original<Credentials* (*)(void*)>(Function::kTlsCredentialsCreate, caller);
  Credentials* made = real(options);
  always([&] { tls_credentials_made(made, caller); });
  return made;
}

FILIBUSTER_GRPC(Credentials*, grpc_composite_channel_credentials_create,
                (Credentials * inner, void* of_calls, void* reserved)) {
  auto real = original<Credentials* (*)(Credentials*, void*, void*)>(
      Function::kCompositeCredentialsCreate, FILIBUSTER_CALLER);
  Credentials* made = real(inner, of_calls, reserved);
  always([&] { composite_credentials_made(made, inner); });
  return made;
}

FILIBUSTER_GRPC(void, grpc_channel_credentials_release, (Credentials * credentials)) {
  auto real =
      original<void (*)(Credentials*)>(Function::kChannelCredentialsRelease, FILIBUSTER_CALLER);
  always([&] { credentials_released(credentials); });
  real(credentials);
}

FILIBUSTER_GRPC(Channel*, grpc_channel_create,
                (const char* target, Credentials* credentials, const void* arguments)) {
  auto real = original<Channel* (*)(const char*, Credentials*, const void*)>(
      Function::kChannelCreate, FILIBUSTER_CALLER);
  Channel* made = real(target, credentials, arguments);
  always([&] { channel_made(made, credentials); });
  return made;
}

FILIBUSTER_GRPC(void, grpc_channel_destroy, (Channel * channel)) {
  auto real = original<void (*)(Channel*)>(Function::kChannelDestroy, FILIBUSTER_CALLER);
  always([&] { channel_destroyed(channel); });
  real(channel);
}

FILIBUSTER_GRPC(Call*, grpc_channel_create_call,
                (Channel * channel, Call* parent, uint32_t propagation, Queue* queue, Slice method,
                 const Slice* host, Timespec deadline, void* reserved)) {
  auto real =
      original<Call* (*)(Channel*, Call*, uint32_t, Queue*, Slice, const Slice*, Timespec, void*)>(
          Function::kChannelCreateCall, FILIBUSTER_CALLER);
  Call* made = real(channel, parent, propagation, queue, method, host, deadline, reserved);
  in_session([&] { call_made(made, channel); });
  return made;
}

FILIBUSTER_GRPC(Call*, grpc_channel_create_registered_call,
                (Channel * channel, Call* parent, uint32_t propagation, Queue* queue, void* method,
                 Timespec deadline, void* reserved)) {
  auto real = original<Call* (*)(Channel*, Call*, uint32_t, Queue*, void*, Timespec, void*)>(
      Function::kChannelCreateRegisteredCall, FILIBUSTER_CALLER);
  Call* made = real(channel, parent, propagation, queue, method, deadline, reserved);
  in_session([&] { call_made(made, channel); });
  return made;
}

FILIBUSTER_GRPC(void, grpc_call_unref, (Call * call)) {
  auto real = original<void (*)(Call*)>(Function::kCallUnref, FILIBUSTER_CALLER);
  in_session([&] { call_released(call); });
  real(call);
}

FILIBUSTER_GRPC(int, grpc_call_start_batch,
                (Call * call, const Op* ops, size_t count, void* tag, void* reserved)) {
  const void* caller = FILIBUSTER_CALLER;
  auto real =
      original<int (*)(Call*, const Op*, size_t, void*, void*)>(Function::kCallStartBatch, caller);
  bool executes = false;
  in_session([&] { executes = runs(); });
  if (!executes) {
    in_session([&] { operation_forgotten(tag); });
    return real(call, ops, count, tag, reserved);
  }
  std::optional<MarkedBatch> batch;
  in_session([&] {
    operation_starts(tag, inheritable_task());
    batch.emplace(call, ops, count, caller);
  });
  const int result = real(call, batch ? batch->ops() : ops, count, tag, reserved);
  in_session([&] {
    if (result != 0) operation_forgotten(tag);
    if (batch) batch->release();
  });
  return result;
}

// --- completion queues and requests -------------------------------------------------------------

FILIBUSTER_GRPC(Event, grpc_completion_queue_next,
                (Queue * queue, Timespec deadline, void* reserved)) {
  auto real = original<Event (*)(Queue*, Timespec, void*)>(Function::kQueueNext, FILIBUSTER_CALLER);
  return next_event(queue, [&] { return real(queue, deadline, reserved); });
}

FILIBUSTER_GRPC(Event, grpc_completion_queue_pluck,
                (Queue * queue, void* tag, Timespec deadline, void* reserved)) {
  auto real =
      original<Event (*)(Queue*, void*, Timespec, void*)>(Function::kQueuePluck, FILIBUSTER_CALLER);
  const Event event = real(queue, tag, deadline, reserved);
  if (event.type == kOpComplete) in_session([&] { operation_awaited(event.tag); });
  return event;
}

FILIBUSTER_GRPC(int, grpc_server_request_call,
                (Server * server, Call** call, CallDetails* details, MetadataArray* metadata,
                 Queue* bound, Queue* notified, void* tag)) {
  const void* caller = FILIBUSTER_CALLER;
  auto real =
      original<int (*)(Server*, Call**, CallDetails*, MetadataArray*, Queue*, Queue*, void*)>(
          Function::kServerRequestCall, caller);
  in_session([&] {
    if (understood(caller)) request_awaited(tag, metadata);
  });
  return real(server, call, details, metadata, bound, notified, tag);
}

FILIBUSTER_GRPC(int, grpc_server_request_registered_call,
                (Server * server, void* method, Call** call, Timespec* deadline,
                 MetadataArray* metadata, ByteBuffer** payload, Queue* bound, Queue* notified,
                 void* tag)) {
  const void* caller = FILIBUSTER_CALLER;
  auto real =
      original<int (*)(Server*, void*, Call**, Timespec*, MetadataArray*, ByteBuffer**, Queue*,
                       Queue*, void*)>(Function::kServerRequestRegisteredCall, caller);
  in_session([&] {
    if (understood(caller)) request_awaited(tag, metadata);
  });
  return real(server, method, call, deadline, metadata, payload, bound, notified, tag);
}

FILIBUSTER_GRPC(void, grpc_metadata_array_init, (MetadataArray * array)) {
  const void* caller = FILIBUSTER_CALLER;
  auto real = original<void (*)(MetadataArray*)>(Function::kMetadataArrayInit, caller);
  real(array);
  in_session([&] {
    if (understood(caller)) array_begins(array);
  });
}

FILIBUSTER_GRPC(void, grpc_metadata_array_destroy, (MetadataArray * array)) {
  auto real =
      original<void (*)(MetadataArray*)>(Function::kMetadataArrayDestroy, FILIBUSTER_CALLER);
  in_session([&] { array_ends(array); });
  real(array);
}
