// CPython 3.9 and later: the frames of the calling thread through the public API
// (cpython/api.h). No Python code runs: the attributes of code objects are plain members, and
// the collector, which could run finalisers, is off meanwhile.
#include <cstring>

#include "core/text/number.h"
#include "preload/runtimes/cpython/api.h"
#include "preload/runtimes/cpython/origins.h"
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
  bool loop = false;   // of an event loop or of a pool of threads
  bool ours = false;   // of the helper: never a call site, whatever the lists say
  uint32_t rules = 0;  // version of the frame lists that decided `library`
};
constexpr std::string_view kLoopMark = "run_loop";  // its function around the loops of others
constexpr size_t kMaxCodes = 4096;                  // a power of two
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
  code->ours = code->file == cpython::kHelperFile;
  code->library = code->ours || is_left_out(FrameKind::kFile, code->file);
  code->loop = code->ours || !is_kept(FrameKind::kFile, code->file, true);
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

// One pass over the frames, innermost first; `keep_all`: those of libraries too. On a thread whose event loop serves
// requests, the pass ends at the loop: what is below belongs to whoever started it, not to a request.
//
// Where origins are followed, functions count, too, that made a coroutine and had returned when it was awaited. Then
// whoever started a loop counts only if the program has no frame inside of it by any of these means.
class Walk {
 public:
  Walk(bool keep_all, FrameSink* sink)
      : keep_all_(keep_all), follows_(!keep_all && cpython::follows_origins()), sink_(sink) {}
  Walk(const Walk&) = delete;
  ~Walk() { drop_makers(); }

  // Returns how many frames there were.
  int run() {
    const cpython::Api& py = api();
    Object* frame = py.thread_state_get_frame(py.thread_state_get());
    int depth = 0;
    for (bool goes_on = true; frame != nullptr; ++depth) {
      Object* object = depth < kMaxFrames ? py.frame_get_code(frame) : nullptr;
      if (object == nullptr) sink_->mark_incomplete();
      goes_on = object != nullptr && look_at(frame, object);
      if (object != nullptr) py.decrease_reference(object);
      Object* back = goes_on ? py.frame_get_back(frame) : nullptr;
      py.decrease_reference(frame);
      frame = back;
    }
    if (makers_ != nullptr) add_makers({}, {});
    return depth;
  }
  bool met_loop() const { return met_loop_; }

 private:
  // False: what is below does not count.
  bool look_at(Object* frame, Object* object) {
    Code spare;
    const Code& code = find_code(object, &spare);
    const bool loop = object == cpython::loop_code() || (code.ours && code.function == kLoopMark);
    const bool goes_on = loop ? pass_loop(code) : (pass(frame, code), true);
    drop_code(spare);
    return goes_on;
  }

  void pass(Object* frame, const Code& code) {
    if (follows_) settle_before(code);
    if (keep_all_ ? !code.loop : !code.library) add_frame(code, frame, sink_);
    if (!follows_ || met_loop_) return;
    Object* makers = cpython::makers_of_frame(frame);
    if (makers == nullptr) return;
    drop_makers();
    makers_ = makers;
    made_by_program_ = !code.library;
  }

  // The coroutine that was met last is awaited by this function.
  void settle_before(const Code& code) {
    if (makers_ == nullptr || (code.library && !made_by_program_)) return;
    if (!code.library) add_makers(code.file, code.function);
    drop_makers();
  }

  bool pass_loop(const Code& loop) {
    if (!cpython::follows_origins() || met_loop_) return !cpython::serves_on_this_thread();
    met_loop_ = true;
    if (follows_ && sink_->frames() == 0 && cpython::put_origin_of_task(sink_)) return false;
    // Those who made a coroutine have callers below the loop, too.
    if (makers_ != nullptr && add_makers(loop.file, loop.function) > 0) return false;
    drop_makers();
    return sink_->frames() > 0 && !cpython::serves_on_this_thread();
  }

  uint32_t add_makers(std::string_view file, std::string_view function) {
    return cpython::add_makers(
        makers_,
        [&](const cpython::Maker& maker) {
          return maker.file == file && maker.function == function;
        },
        sink_);
  }

  void drop_makers() {
    if (makers_ != nullptr) api().decrease_reference(makers_);
    makers_ = nullptr;
  }

  const bool keep_all_;
  const bool follows_;
  FrameSink* const sink_;
  Object* makers_ = nullptr;  // of the coroutine that was met last
  bool made_by_program_ = false;
  bool met_loop_ = false;
};

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
  Walk program(false, sink);
  const int frames = program.run();
  // A thread that runs a loop works for whoever gives it something.
  if (sink->frames() == 0 && cpython::follows_origins() && !program.met_loop())
    cpython::put_origin_of_thread(sink);
  if (sink->frames() == 0) {
    sink->begin_with_libraries();
    Walk(true, sink).run();
  }
  return frames > 0;
}

}  // namespace

constinit const StackReader kCpythonReader{prepare, read};

}  // namespace filibuster::preload
