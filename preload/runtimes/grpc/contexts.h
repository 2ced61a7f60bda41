// Which incoming RPC a thread of a gRPC server works for: the one of the event that the completion queue
// gave the thread, until the thread asks that queue again. This is right for the synchronous server, and
// for asynchronous servers that do their work in line. When an operation that was started for an RPC
// completes, the thread that is told goes on for that RPC.
#pragma once

#include "preload/runtimes/grpc/abi.h"
#include "preload/runtimes/task.h"

namespace filibuster::preload::grpc {

// A batch is started with `tag` for `task`.
void operation_starts(const void* tag, const TaskContext& task);
// The batch was not started after all, or is not followed.
void operation_forgotten(const void* tag);
// A request will come with `tag`, its metadata in `array`.
void request_awaited(const void* tag, const MetadataArray* array);
// The application keeps metadata in `array` between the two. libgrpc++ keeps that of a synchronous request
// in the object whose address is the request's tag, and no call of a function tells so.
void array_begins(MetadataArray* array);
void array_ends(MetadataArray* array);

// The calling thread asks for an event.
void queue_asked(const Queue* queue);
// The calling thread was given an event.
void event_delivered(const Queue* queue, const Event& event);
// A thread that waited for one operation alone was told of its end.
void operation_awaited(const void* tag);

}  // namespace filibuster::preload::grpc
