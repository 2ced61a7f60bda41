// The request that a program was started for. A request's handler may run another program (`curl` in a subprocess): what that
// program does, it does for that request. The hooks of hooks/programs.cc put the request into the environment of the program,
// and the library takes it out again before `main`.
//
// It counts in the execution that it belongs to, and until the program reads a request of its own: a server that was started
// by a request works for whoever asks it.
#pragma once

#include <cstddef>

#include "core/rpc/header_field.h"

namespace filibuster::preload {

// The value is that of the header field.
inline constexpr char kProgramCauseVariable[] = "FILIBUSTER_CAUSE";
constexpr size_t kProgramCauseSize = sizeof kProgramCauseVariable + kHeaderValueSize;

// Writes "FILIBUSTER_CAUSE=VALUE", kProgramCauseSize bytes without a zero, for a program that the calling thread starts now.
// False: the thread is not known to work for a request. May be called in a child of fork or vfork.
bool program_cause_to_pass_on(char* out);

// Takes the variable out of the environment. Called once, before main.
void take_program_cause();
// The request that this program was started for. False: there is none, or it does not count (see above).
bool program_cause(RpcContext* cause);
void forget_program_cause();

}  // namespace filibuster::preload
