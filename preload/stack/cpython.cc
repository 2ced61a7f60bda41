// CPython 3.9 and later: the frames of the calling thread through the public API. The GIL is free
// in a hooked send, so it is taken for a moment. No Python code runs: the attributes of code
// objects are plain members, and the collector, which could run finalisers, is off meanwhile.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "preload/stack/frame_filter.h"
#include "preload/stack/reader.h"

namespace filibuster::preload {
namespace {

constexpr int kMaxFrames = 128;

struct Object;

struct Api {
  int (*is_initialized)();
  int (*is_finalizing)();
  Object* (*this_thread_state)();
  int (*gil_ensure)();
  void (*gil_release)(int);
  Object* (*thread_state_get)();
  Object* (*thread_state_get_frame)(Object*);
  Object* (*frame_get_back)(Object*);
  Object* (*frame_get_code)(Object*);
  int (*frame_get_line_number)(Object*);
  Object* (*get_attribute)(Object*, const char*);
  const char* (*as_utf8)(Object*, intptr_t*);
  void (*decrease_reference)(Object*);
  void (*error_fetch)(Object**, Object**, Object**);
  void (*error_restore)(Object*, Object*, Object*);
  int (*gc_disable)();  // since 3.10; before, walking frames creates no object that it tracks
  int (*gc_enable)();
};

enum class Runtime : uint8_t { kUnknown, kAbsent, kUnreadable, kReady };
constinit Api g_api{};
constinit std::atomic<Runtime> g_runtime{Runtime::kUnknown};
constinit char g_description[64] = {};

template <typename Function>
bool find(Function* function, const char* name) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return *function != nullptr;
}

Runtime resolve(Api* api) {
  if (!find(&api->is_initialized, "Py_IsInitialized")) return Runtime::kAbsent;
  find(&api->gc_disable, "PyGC_Disable");
  find(&api->gc_enable, "PyGC_Enable");
  const bool finalizing =
      find(&api->is_finalizing, "Py_IsFinalizing") || find(&api->is_finalizing, "_Py_IsFinalizing");
  const bool all = finalizing && find(&api->this_thread_state, "PyGILState_GetThisThreadState") &&
                   find(&api->gil_ensure, "PyGILState_Ensure") &&
                   find(&api->gil_release, "PyGILState_Release") &&
                   find(&api->thread_state_get, "PyThreadState_Get") &&
                   find(&api->thread_state_get_frame, "PyThreadState_GetFrame") &&
                   find(&api->frame_get_back, "PyFrame_GetBack") &&
                   find(&api->frame_get_code, "PyFrame_GetCode") &&
                   find(&api->frame_get_line_number, "PyFrame_GetLineNumber") &&
                   find(&api->get_attribute, "PyObject_GetAttrString") &&
                   find(&api->as_utf8, "PyUnicode_AsUTF8AndSize") &&
                   find(&api->decrease_reference, "Py_DecRef") &&
                   find(&api->error_fetch, "PyErr_Fetch") &&
                   find(&api->error_restore, "PyErr_Restore");
  return all ? Runtime::kReady : Runtime::kUnreadable;  // 3.8 and earlier have no PyFrame_GetCode
}

std::string_view prepare() {
  Api api{};
  const Runtime runtime = resolve(&api);
  if (runtime == Runtime::kAbsent) {
    g_runtime.store(runtime, std::memory_order_release);
    return {};
  }
  // Registered anew: the same functions again.
  if (g_runtime.load(std::memory_order_acquire) != Runtime::kReady) g_api = api;
  g_runtime.store(runtime, std::memory_order_release);

  size_t used = 0;
  const auto put = [&](const char* text, char end) {
    while (*text != '\0' && *text != end && used < sizeof g_description - 1)
      g_description[used++] = *text++;
  };
  put("cpython ", '\0');
  const char* (*version)() = nullptr;
  if (find(&version, "Py_GetVersion")) put(version(), ' ');  // "3.11.2 (main, ...) [GCC ...]"
  if (runtime == Runtime::kUnreadable) put(" (frames not readable: needs 3.9)", '\0');
  return {g_description, used};
}

struct Text {
  Object* object = nullptr;
  std::string_view view = "?";
};
Text text_of(const Api& api, Object* code, const char* name) {
  Text text;
  text.object = api.get_attribute(code, name);
  if (text.object == nullptr) return text;
  intptr_t size = 0;
  const char* utf8 = api.as_utf8(text.object, &size);
  if (utf8 != nullptr && size >= 0) text.view = {utf8, static_cast<size_t>(size)};
  return text;
}

// One pass over the frames; `keep_all`: those of libraries too.
void walk(const Api& api, bool keep_all, FrameSink* sink) {
  Object* frame = api.thread_state_get_frame(api.thread_state_get());
  for (int depth = 0; frame != nullptr; ++depth) {
    if (depth == kMaxFrames) {
      sink->mark_incomplete();
      api.decrease_reference(frame);
      return;
    }
    if (Object* code = api.frame_get_code(frame)) {
      const Text file = text_of(api, code, "co_filename");
      if (keep_all || !is_library_file(file.view)) {
        const Text function = text_of(api, code, "co_name");
        const int line = api.frame_get_line_number(frame);
        const uint32_t number = line > 0 ? static_cast<uint32_t>(line) : 0;
        char digits[20];
        sink->add(frame_hash(file.view, number, function.view),
                  {"F ", file.view, ":", number_text(number, 10, digits), " ", function.view});
        if (function.object != nullptr) api.decrease_reference(function.object);
      }
      if (file.object != nullptr) api.decrease_reference(file.object);
      api.decrease_reference(code);
    } else {
      sink->mark_incomplete();
    }
    Object* back = api.frame_get_back(frame);
    api.decrease_reference(frame);
    frame = back;
  }
}

bool read(FrameSink* sink) {
  const Runtime runtime = g_runtime.load(std::memory_order_acquire);
  if (runtime != Runtime::kReady && runtime != Runtime::kUnreadable) return false;
  const Api& api = g_api;
  if (api.is_initialized() == 0) return false;
  if (runtime == Runtime::kUnreadable) {
    sink->mark_incomplete();
    return true;
  }
  // A thread that Python knows nothing of, or an interpreter that ends: taking the GIL would create
  // a thread state, or end the thread.
  if (api.is_finalizing() != 0 || api.this_thread_state() == nullptr) return false;

  const int gil = api.gil_ensure();
  const int collecting = api.gc_disable != nullptr ? api.gc_disable() : 0;
  Object *type = nullptr, *value = nullptr, *traceback = nullptr;
  api.error_fetch(&type, &value, &traceback);
  walk(api, false, sink);
  if (sink->frames() == 0) {
    sink->clear();
    walk(api, true, sink);
  }
  const bool any = sink->frames() > 0;
  api.error_restore(type, value, traceback);  // whatever we raised goes, what was there is back
  if (collecting != 0 && api.gc_enable != nullptr) api.gc_enable();
  api.gil_release(gil);
  return any;
}

}  // namespace

constinit const StackReader kCpythonReader{prepare, read};

}  // namespace filibuster::preload
