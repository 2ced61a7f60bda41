// Which incoming RPC a thread of a gRPC server works for: what came with the event that the
// completion queue gave it, until it asks that queue again. Right for the synchronous server, and
// for asynchronous ones that do their work in line; what an operation that was started for an RPC
// completes, goes on for that RPC.
#pragma once

#include "preload/runtimes/grpc/abi.h"
#include "preload/runtimes/task.h"

namespace filibuster::preload::grpc {

// A batch is started with `tag` for `task` / was not started after all.
void operation_starts(const void* tag, const TaskContext& task);
void operation_forgotten(const void* tag);
// A request will come with `tag`, its metadata in `array`.
void request_awaited(const void* tag, const MetadataArray* array);
// The application keeps metadata here. libgrpc++ keeps that of a synchronous request in the object
// whose address is the request's tag; no function tells.
void array_begins(MetadataArray* array);
void array_ends(MetadataArray* array);

// The calling thread asks for an event; was given one.
void queue_asked(const Queue* queue);
void event_delivered(const Queue* queue, const Event& event);
// Of one operation, by a thread that waits for it alone.
void operation_awaited(const void* tag);

}  // namespace filibuster::preload::grpc
