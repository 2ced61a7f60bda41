#include "preload/runtimes/cpython/origins.h"

#include <algorithm>
#include <atomic>

#include "core/text/number.h"
#include "preload/interpose.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/cpython/api.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/frame_line.h"
#include "preload/runtimes/task.h"
#include "preload/session/state.h"

namespace filibuster::preload::cpython {
namespace {

constexpr size_t kDigits = 16;
constinit std::atomic<Object*> g_origin_variable{nullptr};
constinit thread_local uint64_t t_origin __attribute__((tls_model("initial-exec"))) = 0;

// "" if the object is no text.
std::string_view text_in(Object* object) {
  intptr_t size = 0;
  const char* utf8 = object != nullptr ? api().as_utf8(object, &size) : nullptr;
  if (utf8 != nullptr && size >= 0) return {utf8, static_cast<size_t>(size)};
  api().error_clear();
  return {};
}

uint64_t origin_of_task() {
  Object* variable = g_origin_variable.load(std::memory_order_acquire);
  Object* value = nullptr;
  if (api().context_variable_get(variable, nullptr, &value) != 0) api().error_clear();
  if (value == nullptr) return 0;
  const uint64_t site = value != api().none ? parse_site(value) : 0;
  api().decrease_reference(value);
  return site;
}

bool put_site(uint64_t site, FrameSink* sink) {
  CapturedStack stack{};
  if (!site_stack(site, sink->room(), sink->capacity(), &stack)) return false;
  sink->hold(stack.hash, stack.text_size);
  return true;
}

// The frames on which the coroutine was made, as a new reference; nullptr: they are not known.
Object* makers_of(Object* coroutine) {
  Object* makers = api().get_attribute(coroutine, "cr_origin");
  if (makers == nullptr) api().error_clear();  // it is no coroutine
  if (makers != api().none) return makers;
  api().decrease_reference(makers);
  return nullptr;
}

// Is one of the frames, "F file:line function" on each line, of this function?
bool has_function(std::string_view frames, const Maker& maker) {
  while (!frames.empty()) {
    const std::string_view line = take_line(&frames);
    const FrameLine frame = parse_frame_line(line.substr(std::min<size_t>(2, line.size())));
    if (frame.file == maker.file && frame.function == maker.function) return true;
  }
  return false;
}

void add_lines(std::string_view frames, FrameSink* sink) {
  while (!frames.empty()) {
    const std::string_view line = take_line(&frames);
    const FrameLine frame = parse_frame_line(line.substr(std::min<size_t>(2, line.size())));
    sink->add(frame_hash(frame.file, frame.number, frame.function), {line});
  }
}

}  // namespace

void follow_origins(Object* variable) {
  api().increase_reference(variable);
  g_origin_variable.store(variable, std::memory_order_release);
}

bool follows_origins() {
  return g_origin_variable.load(std::memory_order_acquire) != nullptr;
}

Object* site_bytes(uint64_t site) {
  if (site == 0) return api().bytes_from("", 0);
  char digits[kDigits];
  for (size_t i = kDigits; i-- > 0; site >>= 4) digits[i] = "0123456789abcdef"[site & 15];
  return api().bytes_from(digits, kDigits);
}

uint64_t parse_site(Object* bytes) {
  char* text = nullptr;
  intptr_t size = 0;
  if (bytes == nullptr || api().bytes_as(bytes, &text, &size) != 0) {
    api().error_clear();
    return 0;
  }
  if (size != kDigits) return 0;
  uint64_t site = 0;
  for (const char c : std::string_view(text, kDigits))
    site = site << 4 | static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  return site;
}

Object* began(Object*, Object* work) {
  HookScope scope;
  const Scratch scratch;
  if (!session_present() || !scratch) return site_bytes(0);
  char* const text = reinterpret_cast<char*>(scratch.data());
  CapturedStack stack = capture_stack(text, Scratch::kSize / 2);
  if (stack.of_libraries || stack.text_size == 0) return site_bytes(0);
  Object* makers = work != api().none ? makers_of(work) : nullptr;
  if (makers != nullptr) {
    FrameSink sink(text + Scratch::kSize / 2, Scratch::kSize / 2);
    const std::string_view callers(stack.text, stack.text_size);
    const auto calls = [callers](const Maker& maker) { return has_function(callers, maker); };
    if (add_makers(makers, calls, &sink) > 0) {
      add_lines(callers, &sink);
      stack = {sink.hash(), sink.room(), sink.text_size(), stack.incomplete || sink.incomplete()};
    }
    api().decrease_reference(makers);
  }
  return site_bytes(intern_stack(stack));
}

Object* resume(Object*, Object* origin) {
  const uint64_t before = t_origin;
  t_origin = parse_site(origin);
  return site_bytes(before);
}

Object* makers_of_frame(Object* frame) {
  Object* coroutine =
      api().frame_get_generator != nullptr ? api().frame_get_generator(frame) : nullptr;
  if (coroutine == nullptr) return nullptr;
  Object* makers = makers_of(coroutine);
  api().decrease_reference(coroutine);
  return makers;
}

bool read_maker(Object* makers, intptr_t at, Maker* maker) {
  if (at >= api().tuple_size(makers)) return false;
  Object* frame = api().tuple_item(makers, at);  // borrowed, as what is in it
  if (frame == nullptr) return false;
  maker->file = text_in(api().tuple_item(frame, 0));
  maker->function = text_in(api().tuple_item(frame, 2));
  Object* number = api().tuple_item(frame, 1);
  const long line = number != nullptr ? api().long_as(number) : 0;
  maker->line = line > 0 ? static_cast<uint32_t>(line) : 0;
  return true;
}

uint32_t add_maker(const Maker& maker, FrameSink* sink) {
  if (maker.file == kHelperFile || is_left_out(FrameKind::kFile, maker.file)) return 0;
  char digits[20];
  sink->add(frame_hash(maker.file, maker.line, maker.function),
            {"F ", maker.file, ":", number_text(maker.line, 10, digits), " ", maker.function});
  return 1;
}

bool put_origin_of_task(FrameSink* sink) {
  return put_site(origin_of_task(), sink);
}

bool put_origin_of_thread(FrameSink* sink) {
  return put_site(t_origin != 0 ? t_origin : origin_of_task(), sink);
}

}  // namespace filibuster::preload::cpython
