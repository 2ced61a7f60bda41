// Libraries that programs bring into a JVM (grpc-java), edited as the JDK is: what is there
// already, and what comes later, by whatever loader.
#pragma once

#include <jni.h>

#include <string_view>

namespace filibuster::preload::jvm {

// Once, when the JDK is edited. What is wrong, or empty.
std::string_view edit_libraries(JNIEnv* env);

}  // namespace filibuster::preload::jvm
