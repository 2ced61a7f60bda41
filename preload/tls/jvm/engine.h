// A session of the JDK's TLS on a thread of the agent (tls/pump.h).
#pragma once

#include <jni.h>

#include <string_view>

namespace filibuster::preload::jvm {

// Starts a pump with `object`, a FilibusterPumped. `received`: what the application has received and the session
// has not seen; `unsent`: what the session has given and the application has not sent. False: nothing has changed.
bool pump_object(JNIEnv* env, jobject object, std::string_view received, std::string_view unsent,
                 int real, int plain);

}  // namespace filibuster::preload::jvm
