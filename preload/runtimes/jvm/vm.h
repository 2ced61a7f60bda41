// The Java virtual machine of this process, found while it runs: no agent, no option, no attach
// mechanism. HotSpot only.
//
// Inside a hook a Java thread is in native code, where JNI and JVMTI may be called. (This is not so for the
// virtual machine's own threads that use sockets: they are left alone.) JVMTI keeps a pending exception as
// it is. Most functions of JNI must not be called while one is pending: ExceptionsAside is for that.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <string_view>

namespace filibuster::preload::jvm {

// Looks for the machine. This is cheap, and takes the loader's lock. False: there is none that is ready.
bool find();
// Has find() found the machine? Or has it seen one that was being created, and is ready now?
bool known();
// Has find() seen a machine that is not ready yet? (Its main thread calls us then, or an agent of the
// program.)
bool is_being_created();
// Is this the one thread of HotSpot that uses a stream socket outside native code? A call into the machine
// would damage its state.
bool is_attach_listener();
// "17.0.15+6-..."; empty if it cannot be asked from this thread. `buffer` receives it.
std::string_view version(char* buffer, size_t capacity);
// 17; 0: not known.
int major_version();

// The calling thread's JNI environment; nullptr: there is no machine, or Java does not know this thread.
JNIEnv* of_thread();
// The same for a thread of ours, which Java gets to know as one that does not keep the machine alive. nullptr: the
// machine ends, or has no memory.
JNIEnv* attach_thread();
void detach_thread();
// Our one JVMTI environment, created at the first call; nullptr: the machine starts or ends, or another
// thread is just creating it.
jvmtiEnv* tools();
// Creates a further environment, with these capabilities.
jvmtiEnv* make_tools(const jvmtiCapabilities& capabilities);

// Puts a pending exception of the thread aside. At the end it is pending again, in place of any of ours.
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
