#include "preload/runtimes/stack.h"

#include <cstring>

#include "preload/runtimes/reader.h"

namespace filibuster::preload {
namespace {

// The first reader that applies to the calling thread gives its stack. The native one applies to all.
constexpr const StackReader* kStackReaders[] = {&kAttachedReader, &kCpythonReader, &kJvmReader,
                                                &kRubyReader,     &kPhpReader,     &kNativeReader};

// True while this thread captures a stack. A hook that the capture calls, or a signal handler of the
// host that interrupts it, must not begin another capture.
constinit thread_local bool t_capturing __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

CapturedStack capture_stack(char* buffer, size_t capacity) {
  FrameSink sink(buffer, capacity);
  if (t_capturing || capacity == 0) return {Hash128{}, buffer, 0, true};
  t_capturing = true;
  for (const StackReader* reader : kStackReaders) {
    sink.clear();
    if (reader->read(&sink)) break;
  }
  t_capturing = false;
  return {sink.hash(), buffer, sink.text_size(), sink.incomplete(), sink.of_libraries()};
}

size_t describe_runtimes(char* out, size_t capacity) {
  size_t used = 0;
  const auto put = [&](std::string_view text) {
    const size_t n = text.size() < capacity - used ? text.size() : capacity - used;
    std::memcpy(out + used, text.data(), n);
    used += n;
  };
  for (const StackReader* reader : kStackReaders) {
    const std::string_view text = reader->prepare();
    if (text.empty()) continue;
    if (used > 0) put("; ");
    put(text);
  }
  return used;
}

}  // namespace filibuster::preload
