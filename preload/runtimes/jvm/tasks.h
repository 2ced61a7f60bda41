// What filibuster.Natives does, and what the virtual machine tells us of threads.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include "core/rpc/header_field.h"

namespace filibuster::preload::jvm {

// Binds filibuster.Natives.
bool bind_natives(JNIEnv* env, jclass natives);

// From now on, calls of grpc-java carry their call site and their cause.
void mark_grpc_calls();
// From now on and for good, they do not.
void leave_grpc_calls();

// Called on a new thread, before its first method.
void JNICALL thread_started(jvmtiEnv* tools, JNIEnv* env, jthread thread);
// The calling thread has read an incoming request.
void request_read(const RpcContext& request);

}  // namespace filibuster::preload::jvm
