// The Java virtual machine of this process, found while it runs: no agent, no option, no attach
// mechanism. HotSpot only.
//
// Inside a hook a Java thread is in native code, where JNI and JVMTI may be called. (Not so the
// virtual machine's own threads that use sockets: those are left alone.) JVMTI keeps a pending
// exception as it is; JNI mostly must not be called with one: ExceptionsAside.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>
#include <string_view>

namespace filibuster::preload::jvm {

// Looks for it: cheap, takes the loader's lock. False: there is none (yet).
bool find();
// find() has been true, or would be now: while the machine is being created find() sees it only.
bool known();
// find() saw it, and it is not ready yet: its main thread starts it, or an agent of the program.
bool is_being_created();
// The one thread of HotSpot that uses a stream socket outside native code: its state would be
// damaged by a call into the machine.
bool is_attach_listener();
// "17.0.15+6-..."; empty if it cannot be asked from this thread. `buffer` receives it.
std::string_view version(char* buffer, size_t capacity);
// 17; 0: not known.
int major_version();

// The calling thread's door; nullptr: Java does not know this thread, or it is in no state to ask.
JNIEnv* of_thread();
// Our one JVMTI environment, created at the first call; nullptr: the machine starts or ends.
jvmtiEnv* tools();
// Creates a further one, with these capabilities.
jvmtiEnv* make_tools(const jvmtiCapabilities& capabilities);

// Puts a pending exception of the thread aside, and back at the end in place of ours.
class ExceptionsAside {
 public:
  explicit ExceptionsAside(JNIEnv* env) : env_(env), pending_(env->ExceptionOccurred()) {
    if (pending_ != nullptr) env_->ExceptionClear();
  }
  ~ExceptionsAside() {
    if (env_->ExceptionCheck()) env_->ExceptionClear();
    if (pending_ == nullptr) return;
    env_->Throw(pending_);
    env_->DeleteLocalRef(pending_);
  }
  ExceptionsAside(const ExceptionsAside&) = delete;

 private:
  JNIEnv* env_;
  jthrowable pending_;
};

}  // namespace filibuster::preload::jvm
