// The stack of the attached process, as its proxy has set it for this thread. In a proxy this reader applies
// always: the proxy's own frames say nothing about who makes a call.
#include <cstring>

#include "core/protocol/messages.h"
#include "core/text/base16.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/attached/origin.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/frame_line.h"
#include "preload/runtimes/reader.h"
#include "preload/session/state.h"

namespace filibuster::preload {

constinit thread_local std::string_view t_origin_stack __attribute__((tls_model("initial-exec"))){};
constinit thread_local AttachedCall t_attached_call __attribute__((tls_model("initial-exec"))){};

namespace {

std::string_view prepare() {
  return identity().is_proxy ? kAttachedNote : "";
}

enum class Added : uint8_t { kKept, kLeftOut, kMadeAtRunTime };

// "buildid+offset path". The hash is the one that the native reader gives to the same frame, so that a program
// has the same call sites preloaded and attached.
Added add_native(std::string_view line, bool keep_all, FrameSink* sink) {
  const size_t plus = line.find('+');
  const size_t blank = line.find(' ', plus == std::string_view::npos ? line.size() : plus);
  if (blank == std::string_view::npos) return Added::kMadeAtRunTime;
  const std::string_view id = line.substr(0, plus);
  const std::string_view path = line.substr(blank + 1);
  if (is_engine_module(path)) return Added::kMadeAtRunTime;
  if (!is_kept(FrameKind::kModule, path, keep_all)) return Added::kLeftOut;
  uint64_t offset = 0;
  if (!read_base16(line.substr(plus + 1, blank - plus - 1), &offset)) return Added::kMadeAtRunTime;
  uint8_t bytes[32];
  const size_t size = id == "-" ? 0 : read_base16(id, bytes, sizeof bytes);
  const Hash128 module = size == 0 ? nameless_module_hash(path) : hash_bytes(bytes, size);
  sink->add(native_frame_hash(module, offset), {"N ", line});
  return Added::kKept;
}

Added add_line(std::string_view line, bool keep_all, FrameSink* sink) {
  if (line.starts_with("N ")) return add_native(line.substr(2), keep_all, sink);
  if (!line.starts_with("F ")) return Added::kMadeAtRunTime;
  const FrameLine frame = parse_frame_line(line.substr(2));
  if (!is_kept(FrameKind::kFile, frame.file, keep_all)) return Added::kLeftOut;
  sink->add(frame_hash(frame.file, frame.number, frame.function), {line});
  return Added::kKept;
}

}  // namespace

bool read_origin(std::string_view stack, FrameSink* sink) {
  const bool entry_only = stack.starts_with("E\n");
  if (entry_only) take_line(&stack);
  bool made_at_run_time = false;
  for (bool keep_all : {false, true}) {
    if (keep_all) sink->begin_with_libraries();
    for (std::string_view rest = stack; !rest.empty();) {
      const std::string_view line = take_line(&rest);
      const Added added = line.empty() ? Added::kLeftOut : add_line(line, keep_all, sink);
      if (added == Added::kMadeAtRunTime) made_at_run_time = true;
      if (added == Added::kKept && entry_only) break;
    }
    if (sink->frames() > 0 || made_at_run_time) break;
  }
  return entry_only;
}

namespace {

bool read(FrameSink* sink) {
  if (!identity().is_proxy) return false;
  if (read_origin(t_origin_stack, sink)) {
    report_note(
        "the attached program has no frame pointers: a call site is the innermost function of the "
        "program itself");
  }
  return true;
}

}  // namespace

constinit const StackReader kAttachedReader{prepare, read};

}  // namespace filibuster::preload
