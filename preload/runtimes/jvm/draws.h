// Edits the JDK's generators of random numbers, so that these are recorded and given back (rpc/draws.h).
#pragma once

#include <jni.h>

#include <string_view>

#include "preload/runtimes/jvm/tls.h"

namespace filibuster::preload::jvm {

// Called once, after our classes were defined, in a process that is a part of a recording or of a replay from its start on.
// Returns what went wrong, or empty.
std::string_view edit_draws(JNIEnv* env, ClassLoading* classes);

}  // namespace filibuster::preload::jvm
