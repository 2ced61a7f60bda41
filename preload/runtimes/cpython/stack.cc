// CPython 3.9 and later: the frames of the calling thread through the public API
// (cpython/api.h). No Python code runs: the attributes of code objects are plain members, and
// the collector, which could run finalisers, is off meanwhile.
#include <cstring>

#include "core/text/number.h"
#include "preload/runtimes/cpython/api.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/reader.h"

namespace filibuster::preload {
namespace {

using cpython::api;
using cpython::Object;
using cpython::Runtime;

constexpr int kMaxFrames = 128;
constinit char g_description[64] = {};

std::string_view prepare() {
  const Runtime runtime = cpython::find_runtime();
  if (runtime == Runtime::kAbsent) return {};
  size_t used = 0;
  const auto put = [&](std::string_view text) {
    const size_t n =
        text.size() < sizeof g_description - used ? text.size() : sizeof g_description - used;
    std::memcpy(g_description + used, text.data(), n);
    used += n;
  };
  char version[32];
  put("cpython ");
  put(cpython::version(version));
  if (runtime == Runtime::kUnreadable) put(" (frames not readable: needs 3.9)");
  return {g_description, used};
}

// --- code objects -------------------------------------------------------------------------------
//
// The name and file of a code object never change, so each is asked once. A reference to it is kept, so
// that its address goes on naming it. The table is used under the GIL only. A program has as many code
// objects as its text has functions.

struct Code {
  Object* object = nullptr;
  Object *file_object = nullptr, *function_object = nullptr;
  std::string_view file, function;
  Hash128 name;  // of both
  bool library = false;
  bool ours = false;   // of the helper: never a call site, whatever the lists say
  uint32_t rules = 0;  // version of the frame lists that decided `library`
};
constexpr std::string_view kHelperFile = "<frozen filibuster>";  // helper.py
constexpr size_t kMaxCodes = 4096;                               // a power of two
constexpr size_t kTries = 16;
constinit Code g_codes[kMaxCodes] = {};

std::string_view text_of(Object* object) {
  intptr_t size = 0;
  const char* utf8 = object != nullptr ? api().as_utf8(object, &size) : nullptr;
  if (utf8 == nullptr || size < 0) return "?";
  return {utf8, static_cast<size_t>(size)};
}

void decide(Code* code) {
  code->rules = frame_rules_version();
  code->ours = code->file == kHelperFile;
  code->library = code->ours || is_left_out(FrameKind::kFile, code->file);
}

void read_code(Object* object, Code* code) {
  code->object = object;
  code->file_object = api().get_attribute(object, "co_filename");
  code->function_object = api().get_attribute(object, "co_name");
  code->file = text_of(code->file_object);
  code->function = text_of(code->function_object);
  code->name = function_hash(code->file, code->function);
  decide(code);
}

void drop_code(const Code& code) {
  if (code.file_object != nullptr) api().decrease_reference(code.file_object);
  if (code.function_object != nullptr) api().decrease_reference(code.function_object);
}

// `spare` receives a code object that the table has no room for; the caller drops it.
const Code& find_code(Object* object, Code* spare) {
  const size_t first = (reinterpret_cast<uintptr_t>(object) >> 4) * 0x9E3779B97F4A7C15ull >> 40;
  for (size_t i = 0; i < kTries; ++i) {
    Code& code = g_codes[(first + i) & (kMaxCodes - 1)];
    if (code.object == object) {
      if (code.rules != frame_rules_version()) decide(&code);
      return code;
    }
    if (code.object != nullptr) continue;
    api().increase_reference(object);
    read_code(object, &code);
    return code;
  }
  read_code(object, spare);
  return *spare;
}

// --- frames ---------------------------------------------------------------------------------------

void add_frame(const Code& code, Object* frame, FrameSink* sink) {
  const int line = api().frame_get_line_number(frame);
  const uint32_t number = line > 0 ? static_cast<uint32_t>(line) : 0;
  char digits[20];
  sink->add(combine(code.name, uint64_t{number}),
            {"F ", code.file, ":", number_text(number, 10, digits), " ", code.function});
}

// One pass over the frames; `keep_all`: those of libraries too. On a thread whose event loop serves
// requests, the pass ends at the loop: what is below belongs to whoever started it, not to a request.
void walk(bool keep_all, FrameSink* sink) {
  const cpython::Api& py = api();
  const Object* loop = cpython::serves_on_this_thread() ? cpython::loop_code() : nullptr;
  Object* frame = py.thread_state_get_frame(py.thread_state_get());
  for (int depth = 0; frame != nullptr; ++depth) {
    Object* object = depth < kMaxFrames ? py.frame_get_code(frame) : nullptr;
    const bool end = object == nullptr || object == loop;
    if (object == nullptr) sink->mark_incomplete();
    if (object != nullptr && object != loop) {
      Code spare;
      const Code& code = find_code(object, &spare);
      if (keep_all ? !code.ours : !code.library) add_frame(code, frame, sink);
      drop_code(spare);
    }
    if (object != nullptr) py.decrease_reference(object);
    Object* back = end ? nullptr : py.frame_get_back(frame);
    py.decrease_reference(frame);
    frame = back;
  }
}

bool read(FrameSink* sink) {
  const Runtime runtime = cpython::runtime();
  if (runtime != Runtime::kReady && runtime != Runtime::kUnreadable) return false;
  if (api().is_initialized() == 0) return false;
  if (runtime == Runtime::kUnreadable) {
    sink->mark_incomplete();
    return true;
  }
  if (!cpython::usable()) return false;
  const cpython::Scope scope;
  walk(false, sink);
  if (sink->frames() == 0) {
    sink->begin_with_libraries();
    walk(true, sink);
  }
  return sink->frames() > 0;
}

}  // namespace

constinit const StackReader kCpythonReader{prepare, read};

}  // namespace filibuster::preload
