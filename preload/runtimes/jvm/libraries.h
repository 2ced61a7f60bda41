// Edits libraries that programs bring into a JVM (grpc-java, Jetty, Tomcat) as the JDK is edited: classes
// that are loaded already, and those that come later, whoever loads them.
#pragma once

#include <jni.h>

#include <string_view>

namespace filibuster::preload::jvm {

// Called once, after the JDK was edited. Returns what went wrong, or empty.
std::string_view edit_libraries(JNIEnv* env);

}  // namespace filibuster::preload::jvm
