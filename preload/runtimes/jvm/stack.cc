// HotSpot 11 and later: JVMTI GetStackTrace of the calling thread, which is in native code in a
// hooked system call. The text of a frame is resolved once (some microseconds) and kept: method ids
// of HotSpot are never used again, not even those of unloaded classes. Nothing here runs Java code,
// and a pending exception stays as it is (JVMTI preserves it).
#include "preload/runtimes/jvm/stack.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/text/number.h"
#include "preload/os/pages.h"
#include "preload/os/pool.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/jvm/vm.h"
#include "preload/runtimes/loop_frames.h"

namespace filibuster::preload {
namespace {

constexpr jint kMaxFrames = 256;
constexpr size_t kMaxText = 208;
constexpr size_t kKnownFrames = 8192;  // a power of two; 2 MiB, touched as far as used
constexpr size_t kProbes = 16;

enum class Kind : uint8_t {
  kKept,
  kLibrary,    // of the JDK or a library: kept only if nothing else is left
  kLoop,       // of an event loop or of a pool of threads: never kept
  kGenerated,  // made while the program runs, with a name of the moment: never kept
  kBoundary,   // where a task of ours began: what is below depends on which thread ran it
};

struct Frame {
  Hash128 hash;
  Kind kind;
  bool program;  // code of the program, whatever counts as a call site
  uint16_t size;
  char text[kMaxText];  // "Users.java:31 com.example.Users.get"
};

struct Known {
  enum State : uint32_t { kFree = 0, kClaimed = 1, kReady = 2 };
  std::atomic<uint32_t> state;
  jmethodID method;
  jlocation location;
  uint32_t rules;  // version of the frame lists that decided what counts
  Frame frame;
};

constinit std::atomic<Known*> g_known{nullptr};
constinit char g_description[96] = {};

Known* known_frames() {
  Known* known = g_known.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  auto* fresh = static_cast<Known*>(map_pages(sizeof(Known) * kKnownFrames));
  if (fresh == nullptr) return nullptr;
  if (g_known.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh;
  unmap_pages(fresh, sizeof(Known) * kKnownFrames);
  return known;
}

// A text that JVMTI allocates, given back at the end.
class Text {
 public:
  explicit Text(jvmtiEnv* tools) : tools_(tools) {}
  ~Text() { tools_->Deallocate(reinterpret_cast<unsigned char*>(text_)); }
  Text(const Text&) = delete;
  char** out() { return &text_; }
  std::string_view view() const { return text_ != nullptr ? text_ : std::string_view{}; }

 private:
  jvmtiEnv* tools_;
  char* text_ = nullptr;
};

uint32_t line_of(jvmtiEnv* tools, jmethodID method, jlocation location) {
  jint count = 0;
  jvmtiLineNumberEntry* entries = nullptr;
  if (location < 0 || tools->GetLineNumberTable(method, &count, &entries) != JVMTI_ERROR_NONE)
    return 0;
  jint line = 0;
  jlocation best = -1;
  for (jint i = 0; i < count; ++i) {
    if (entries[i].start_location > location || entries[i].start_location < best) continue;
    best = entries[i].start_location;
    line = entries[i].line_number;
  }
  tools->Deallocate(reinterpret_cast<unsigned char*>(entries));
  return line > 0 ? static_cast<uint32_t>(line) : 0;
}

// "Lcom/example/Users;" -> "com.example.Users"
std::string_view class_name(std::string_view signature, char* out, size_t capacity) {
  if (signature.size() < 2 || signature.front() != 'L') return "?";
  signature = signature.substr(1, signature.size() - 2).substr(0, capacity);
  std::replace_copy(signature.begin(), signature.end(), out, '/', '.');
  return {out, signature.size()};
}

void resolve(JNIEnv* env, jvmtiEnv* tools, jmethodID method, jlocation location, Frame* frame) {
  Text name(tools), signature(tools), source(tools);
  tools->GetMethodName(method, name.out(), nullptr, nullptr);
  jclass holder = nullptr;
  if (tools->GetMethodDeclaringClass(method, &holder) == JVMTI_ERROR_NONE) {
    tools->GetClassSignature(holder, signature.out(), nullptr);
    tools->GetSourceFileName(holder, source.out());
    env->DeleteLocalRef(holder);
  }
  char buffer[512];
  const std::string_view type = class_name(signature.view(), buffer, sizeof buffer);
  const std::string_view file = source.view().empty() ? std::string_view{"?"} : source.view();
  const std::string_view function = stable_java_method(name.view());
  const uint32_t line = line_of(tools, method, location);

  frame->kind = Kind::kKept;
  if (is_generated_java_class(type))
    frame->kind = Kind::kGenerated;
  else if (type.starts_with("java.util.concurrent.Filibuster"))
    frame->kind = Kind::kBoundary;
  else if (is_left_out(FrameKind::kClass, type))
    frame->kind = is_loop_frame(FrameKind::kClass, type) ? Kind::kLoop : Kind::kLibrary;

  frame->program = frame->kind != Kind::kBoundary && !is_java_library_class(type);

  size_t size = 0;
  const auto put = [&](std::string_view part) {
    part = part.substr(0, kMaxText - size);
    std::memcpy(frame->text + size, part.data(), part.size());
    size += part.size();
  };
  char digits[20];
  put(file);
  put(":");
  put(number_text(line, 10, digits));
  put(" ");
  put(type);
  put(".");
  put(function);
  frame->size = static_cast<uint16_t>(size);
  frame->hash = combine(frame_hash(file, line, function), hash_text(type));
}

// The frame from the table of known frames. An unknown one is resolved into the table, or into `room`
// where the table is full.
const Frame* find_frame(JNIEnv* env, jvmtiEnv* tools, const jvmtiFrameInfo& at, Frame* room) {
  Known* known = known_frames();
  const uint32_t rules = frame_rules_version();
  const uint64_t key = (reinterpret_cast<uintptr_t>(at.method) >> 3) * 0x9E3779B97F4A7C15u +
                       static_cast<uint64_t>(at.location) * 0xC2B2AE3D27D4EB4Fu;
  for (size_t i = 0; known != nullptr && i < kProbes; ++i) {
    Known& slot = known[((key >> 32) + i) & (kKnownFrames - 1)];
    uint32_t state = slot.state.load(std::memory_order_acquire);
    if (state == Known::kReady && slot.method == at.method && slot.location == at.location &&
        slot.rules == rules)
      return &slot.frame;
    if (state == Known::kFree &&
        slot.state.compare_exchange_strong(state, Known::kClaimed, std::memory_order_acq_rel)) {
      slot.method = at.method;
      slot.location = at.location;
      slot.rules = rules;
      resolve(env, tools, at.method, at.location, &slot.frame);
      slot.state.store(Known::kReady, std::memory_order_release);
      return &slot.frame;
    }
  }
  resolve(env, tools, at.method, at.location, room);
  return room;
}

std::string_view prepare() {
  if (!jvm::find()) return {};
  char text[64];
  const std::string_view version = jvm::version(text, sizeof text);
  constexpr std::string_view kName = "jvm ";
  std::memcpy(g_description, kName.data(), kName.size());
  std::memcpy(g_description + kName.size(), version.data(), version.size());
  return {g_description, kName.size() + version.size()};
}

bool read(FrameSink* sink) {
  return read_java_frames("F ", 0, sink);
}

// Not on the stack of the caller, of which a hook takes little.
struct Work {
  jvmtiFrameInfo frames[kMaxFrames];
  Frame room;
};
Pool<Work, 16, 256> g_work;

bool read_java_frames_with(Work* work, JNIEnv* env, jvmtiEnv* tools, std::string_view mark,
                           int skip, FrameSink* sink) {
  jint count = 0;
  if (tools->GetStackTrace(nullptr, skip, kMaxFrames, work->frames, &count) != JVMTI_ERROR_NONE ||
      count == 0) {
    return false;
  }
  for (const bool keep_all : {false, true}) {
    if (keep_all) sink->begin_with_libraries();
    jint i = 0;
    for (; i < count; ++i) {
      const Frame* frame = find_frame(env, tools, work->frames[i], &work->room);
      if (frame->kind == Kind::kBoundary) break;
      if (frame->kind == Kind::kGenerated || frame->kind == Kind::kLoop ||
          (frame->kind == Kind::kLibrary && !keep_all))
        continue;
      sink->add(frame->hash, {mark, {frame->text, frame->size}});
    }
    if (i == kMaxFrames) sink->mark_incomplete();
    if (sink->frames() > 0) return true;
  }
  return true;
}

}  // namespace

bool read_java_frames(std::string_view mark, int skip, FrameSink* sink) {
  JNIEnv* env = jvm::of_thread();
  if (env == nullptr) return false;
  jvmtiEnv* tools = jvm::tools();
  if (tools == nullptr) return false;
  Work* work = g_work.take();
  if (work == nullptr) {
    sink->mark_incomplete();
    return true;
  }
  const bool found = read_java_frames_with(work, env, tools, mark, skip, sink);
  g_work.give(work);
  return found;
}

bool called_by_program(int skip) {
  JNIEnv* env = jvm::of_thread();
  jvmtiEnv* tools = jvm::tools();
  jvmtiFrameInfo frames[8];
  jint count = 0;
  if (env == nullptr || tools == nullptr ||
      tools->GetStackTrace(nullptr, skip, 8, frames, &count) != JVMTI_ERROR_NONE) {
    return false;
  }
  Frame room;
  for (jint i = 0; i < count; ++i) {
    const Frame* frame = find_frame(env, tools, frames[i], &room);
    if (frame->kind != Kind::kGenerated) return frame->program;
  }
  return false;
}

bool java_client_tries_again() {
  constexpr std::string_view kReads =
      " sun.net.www.http.HttpClient.parseHTTP";  // or parseHTTPHeader
  // Frames that are looked at; in JDK 17 it is 15 frames from connect(2).
  constexpr jint kNear = 48;
  JNIEnv* env = jvm::of_thread();
  jvmtiEnv* tools = jvm::tools();
  jvmtiFrameInfo frames[kNear];
  jint count = 0;
  if (env == nullptr || tools == nullptr ||
      tools->GetStackTrace(nullptr, 0, kNear, frames, &count) != JVMTI_ERROR_NONE) {
    return false;
  }
  Frame room;
  for (jint i = 0; i < count; ++i) {
    const Frame* frame = find_frame(env, tools, frames[i], &room);
    if (std::string_view(frame->text, frame->size).find(kReads) != std::string_view::npos)
      return true;
  }
  return false;
}

constinit const StackReader kJvmReader{prepare, read};

}  // namespace filibuster::preload
