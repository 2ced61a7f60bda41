// The library as an addon of Node: what helper.cjs calls. Loaded into the main thread and into
// every worker (process.dlopen of what is loaded already).
//
// Texts: a context is "" (not known), "-" (caused by nothing that came in) or the value of the
// incoming request's field. Any other text counts as not known. A site is the 16 digits that site()
// gave, "" if there is none.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <span>

#include "preload/interpose.h"
#include "preload/os/symbols.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/draws.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/node/napi.h"
#include "preload/runtimes/node/node.h"
#include "preload/runtimes/task.h"

namespace filibuster::preload::node {
namespace {

constinit Api g_api{};
constexpr size_t kSiteSize = 16;
constexpr size_t kMaxText = 16 * 1024;

// The arguments of one call, as texts.
class Arguments {
 public:
  Arguments(Env env, CallbackInfo info) : env_(env) {
    if (g_api.napi_get_cb_info(env, info, &count_, values_, nullptr, nullptr) != 0) count_ = 0;
  }
  // The argument, written into `buffer` and cut to its capacity; "" if the argument is no string.
  std::string_view text(size_t at, char* buffer, size_t capacity) const {
    size_t size = 0;
    if (at >= count_ ||
        g_api.napi_get_value_string_utf8(env_, values_[at], buffer, capacity, &size) != 0)
      return {};
    return {buffer, size};
  }
  int32_t number(size_t at) const {
    int32_t value = -1;
    if (at < count_ && g_api.napi_get_value_int32(env_, values_[at], &value) != 0) value = -1;
    return value;
  }
  // Negative if the argument is no number.
  int64_t large_number(size_t at) const {
    int64_t value = -1;
    if (at < count_ && g_api.napi_get_value_int64(env_, values_[at], &value) != 0) value = -1;
    return value;
  }
  // What the argument, an array of bytes, has now; empty if it is none.
  std::span<uint8_t> bytes(size_t at) const {
    int type = 0;
    size_t size = 0, offset = 0;
    void* data = nullptr;
    Value buffer = nullptr;
    if (at >= count_ ||
        g_api.napi_get_typedarray_info(env_, values_[at], &type, &size, &data, &buffer, &offset) !=
            0 ||
        type != kUint8Array)
      return {};
    return {static_cast<uint8_t*>(data), size};
  }

 private:
  Env env_;
  size_t count_ = 5;
  Value values_[5];
};

Value truth(Env env, bool value) {
  Value result = nullptr;
  g_api.napi_get_boolean(env, value, &result);
  return result;
}

// A Value that is nullptr is `undefined` for the script.
Value string(Env env, std::string_view text) {
  Value result = nullptr;
  g_api.napi_create_string_latin1(env, text.data(), text.size(), &result);
  return result;
}

uint64_t parse_site(std::string_view text) {
  uint64_t site = 0;
  if (text.size() != kSiteSize) return 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      site = site << 4 | static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      site = site << 4 | static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return 0;
    }
  }
  return site;
}

TaskContext parse_context(std::string_view text) {
  TaskContext task;
  if (text == "-") {
    task.state = TaskContext::State::kNothing;
  } else if (decode_header_value(text, &task.cause)) {
    task.state = TaskContext::State::kRequest;
  }
  return task;
}

Value print_context(Env env, const TaskContext& task) {
  if (task.state != TaskContext::State::kRequest) return nullptr;
  char text[kHeaderValueSize];
  encode_header_value(task.cause, text);
  return string(env, {text, sizeof text});
}

// sessionPresent(): may an execution come? It looks for a session as the first socket would do.
Value session_is_present(Env env, CallbackInfo) {
  HookScope scope;
  note_stream_socket();
  return truth(env, session_present());
}

// executing(): does an execution run here?
Value is_executing(Env env, CallbackInfo) {
  HookScope scope;
  return truth(env, session_present() && executing());
}

// isLibrary(file): do frames of this file not count?
Value is_library(Env env, CallbackInfo info) {
  HookScope scope;
  char text[4096];
  return truth(env, is_left_out(FrameKind::kFile, Arguments(env, info).text(0, text, sizeof text)));
}

// framesVersion(): earlier answers of isLibrary and site hold while this number is the same.
Value frames_version(Env env, CallbackInfo) {
  HookScope scope;
  Value result = nullptr;
  g_api.napi_create_uint32(env, frame_rules_version(), &result);
  return result;
}

// asksOrigins(): do call sites count where an asynchronous operation was begun? The session says it to those that join.
Value asks_origins(Env env, CallbackInfo) {
  HookScope scope;
  return truth(env, session_present() && attached() && (lane_options() & kOptionOrigins) != 0);
}

constinit std::atomic<bool (*)()> g_tls_question{nullptr};
constinit std::atomic<uint64_t> g_first_session{0};

// seesTls(): are all encrypted connections of this process seen above their encryption? A session that began after the
// program may find older ones, which are not. To be asked first when the program begins.
Value sees_tls(Env env, CallbackInfo) {
  HookScope scope;
  note_stream_socket();
  const uint64_t now = session_present() && attached() ? session_generation() : 0;
  uint64_t none = 0;
  const bool first = g_first_session.compare_exchange_strong(none, now != 0 ? now : ~uint64_t{0});
  if (first || g_first_session.load() != now) return truth(env, false);
  bool (*const question)() = g_tls_question.load(std::memory_order_acquire);
  return truth(env, question != nullptr && question());
}

// site(text): keeps a call stack (one frame a line, innermost first, "file:line function").
Value site(Env env, CallbackInfo info) {
  HookScope scope;
  char text[kMaxText];
  uint64_t key = intern_site(Arguments(env, info).text(0, text, sizeof text));
  if (key == 0) return string(env, {});
  char digits[kSiteSize];
  for (size_t i = kSiteSize; i-- > 0; key >>= 4) digits[i] = "0123456789abcdef"[key & 15];
  return string(env, {digits, kSiteSize});
}

// field(context, site): the value of the field for a request; undefined: put none into it.
Value field(Env env, CallbackInfo info) {
  HookScope scope;
  const Arguments arguments(env, info);
  char text[kHeaderValueSize + 2];
  const TaskContext task = parse_context(arguments.text(0, text, sizeof text));
  if (task.state == TaskContext::State::kUnknown || !session_present() || !executing())
    return nullptr;
  RuntimeField field;
  field.has_cause = task.state == TaskContext::State::kRequest;
  field.cause = task.cause;
  char digits[kSiteSize + 2];
  field.site = parse_site(arguments.text(1, digits, sizeof digits));
  char value[kRuntimeValueSize];
  encode_runtime_value(field, value);
  return string(env, {value, sizeof value});
}

// nextEntry(fd, after), entryNow(fd, entry): node.h; undefined: not known.
Value next_entry_of(Env env, CallbackInfo info) {
  HookScope scope;
  const Arguments arguments(env, info);
  char text[kHeaderValueSize + 2];
  return print_context(
      env, next_entry(arguments.number(0), parse_context(arguments.text(1, text, sizeof text))));
}

Value entry_of(Env env, CallbackInfo info) {
  HookScope scope;
  const Arguments arguments(env, info);
  char text[kHeaderValueSize + 2];
  return print_context(
      env, entry_now(arguments.number(0), parse_context(arguments.text(1, text, sizeof text))));
}

// asksWhoWrites(fd), sayWhoWrites(fd, start, size, context, site): node.h.
Value asks_who(Env env, CallbackInfo info) {
  HookScope scope;
  return truth(env, session_present() && asks_who_writes(Arguments(env, info).number(0)));
}

Value say_who(Env env, CallbackInfo info) {
  HookScope scope;
  const Arguments arguments(env, info);
  char text[kHeaderValueSize + 2];
  char digits[kSiteSize + 2];
  const TaskContext task = parse_context(arguments.text(3, text, sizeof text));
  const uint64_t site = parse_site(arguments.text(4, digits, sizeof digits));
  const int64_t start = arguments.large_number(1), size = arguments.large_number(2);
  if (start < 0 || size <= 0) return nullptr;
  say_who_writes(arguments.number(0), static_cast<uint64_t>(start),
                 static_cast<uint64_t>(start + size), field_of(task, site));
  return nullptr;
}

// enter(context, site): sets the cause and the site of the connects that this thread makes until leave().
Value enter(Env env, CallbackInfo info) {
  HookScope scope;
  const Arguments arguments(env, info);
  char text[kHeaderValueSize + 2];
  char digits[kSiteSize + 2];
  TaskContext task = parse_context(arguments.text(0, text, sizeof text));
  task.site = parse_site(arguments.text(1, digits, sizeof digits));
  swap_task(task);
  return nullptr;
}

Value leave(Env, CallbackInfo) {
  HookScope scope;
  swap_task({});
  return nullptr;
}

// followsDraws(): are random numbers recorded, or given back, from the program's start on or now?
Value follows_draws(Env env, CallbackInfo) {
  return truth(env, g_draws_from_start.load(std::memory_order_relaxed) || draws_matter());
}

// drawsMatter(): draws.h.
Value draws_do_matter(Env env, CallbackInfo) {
  return truth(env, draws_matter());
}

// draw(context, bytes): fills the array of bytes with those of the recording. False: there are none.
Value draw(Env env, CallbackInfo info) {
  const Arguments arguments(env, info);
  char text[kHeaderValueSize + 2];
  const TaskContext task = parse_context(arguments.text(0, text, sizeof text));
  const std::span<uint8_t> bytes = arguments.bytes(1);
  Draw drawn(DrawSource::kNode, &task);
  return truth(env, drawn.give(bytes.data(), bytes.size()));
}

// drawn(context, site, bytes): the program has got these.
Value note_drawn(Env env, CallbackInfo info) {
  const Arguments arguments(env, info);
  char text[kHeaderValueSize + 2];
  char digits[kSiteSize + 2];
  TaskContext task = parse_context(arguments.text(0, text, sizeof text));
  task.site = parse_site(arguments.text(1, digits, sizeof digits));
  const std::span<uint8_t> bytes = arguments.bytes(2);
  Draw drawn(DrawSource::kNode, &task);
  drawn.keep(bytes.data(), bytes.size());
  return nullptr;
}

struct Function {
  const char* name;
  Callback callback;
};
constexpr Function kFunctions[] = {
    {"sessionPresent", session_is_present},
    {"executing", is_executing},
    {"isLibrary", is_library},
    {"framesVersion", frames_version},
    {"asksOrigins", asks_origins},
    {"seesTls", sees_tls},
    {"site", site},
    {"field", field},
    {"nextEntry", next_entry_of},
    {"entryNow", entry_of},
    {"asksWhoWrites", asks_who},
    {"sayWhoWrites", say_who},
    {"enter", enter},
    {"leave", leave},
    {"followsDraws", follows_draws},
    {"drawsMatter", draws_do_matter},
    {"draw", draw},
    {"drawn", note_drawn},
};

template <typename F>
bool find_symbol(const char* name, F* function) {
  *function = reinterpret_cast<F>(symbol_of_program(name));
  return *function != nullptr;
}

#define FILIBUSTER_FIND(name) find_symbol(#name, &api.name)

bool find_api() {
  Api api{};
  if (!FILIBUSTER_FIND(napi_create_function) || !FILIBUSTER_FIND(napi_set_named_property) ||
      !FILIBUSTER_FIND(napi_get_cb_info) || !FILIBUSTER_FIND(napi_get_value_string_utf8) ||
      !FILIBUSTER_FIND(napi_get_value_int32) || !FILIBUSTER_FIND(napi_get_value_int64) ||
      !FILIBUSTER_FIND(napi_create_string_latin1) || !FILIBUSTER_FIND(napi_get_boolean) ||
      !FILIBUSTER_FIND(napi_create_uint32) || !FILIBUSTER_FIND(napi_get_typedarray_info))
    return false;
  g_api = api;  // the same values every time: two workers that start together do no harm
  return true;
}

}  // namespace

void set_tls_question(bool (*question)()) {
  g_tls_question.store(question, std::memory_order_release);
}

}  // namespace filibuster::preload::node

// The well-known symbol of an addon; `exports` is filled.
extern "C" __attribute__((visibility("default"))) filibuster::preload::node::Value
napi_register_module_v1(filibuster::preload::node::Env env,
                        filibuster::preload::node::Value exports) {
  using namespace filibuster::preload;
  using namespace filibuster::preload::node;
  HookScope scope;
  if (!find_api()) return exports;
  for (const Function& function : kFunctions) {
    Value made = nullptr;
    if (g_api.napi_create_function(env, function.name, std::strlen(function.name),
                                   function.callback, nullptr, &made) != 0 ||
        g_api.napi_set_named_property(env, exports, function.name, made) != 0)
      return exports;
  }
  note_helper_started();
  return exports;
}
