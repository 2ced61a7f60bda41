// Where a PHP program makes a request: the frames that debug_backtrace() would give, by the function behind it. PHP's builds for
// one thread are read (Debian's are such): they show `executor_globals`.

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "core/text/number.h"
#include "preload/os/raw_syscall.h"
#include "preload/os/symbols.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/reader.h"

namespace filibuster::preload {
namespace {

// zval, zend_string (Zend/zend_types.h): the same since PHP 7.
struct Zval {
  uint64_t value;
  uint32_t type;
  uint32_t other;
};
constexpr uint32_t kTypeMask = 0xff, kLong = 4, kString = 6, kArray = 7;
struct ZendString {
  uint64_t counted;
  uint64_t hash;
  size_t size;
  char text[1];
};

constexpr int kWithoutArguments = 2;  // DEBUG_BACKTRACE_IGNORE_ARGS
constexpr int kMaxFrames = 64;
// A backtrace takes some kilobytes of PHP's own memory. Where its limit is near, the program would be ended for it.
constexpr size_t kSpare = size_t{256} << 10;

struct Api {
  void (*backtrace)(Zval* out, int skip_last, int options, int limit);
  Zval* (*at)(const void* array, uint64_t index);
  Zval* (*member)(const void* array, const char* name, size_t size);
  void (*drop)(Zval* value);
  size_t (*memory_usage)(bool real);
  char* (*setting)(const char* name, size_t size, int original);
  const char* (*engine)();
};
constinit Api g_api{};
constinit std::atomic<bool> g_found{false};

template <typename Function>
bool find(Function* function, const char* name) {
  *function = reinterpret_cast<Function>(symbol_of_program(name));
  return *function != nullptr;
}

std::string_view prepare() {
  if (!g_found.load(std::memory_order_acquire)) {
    Api api{};
    void* globals = nullptr;
    if (!find(&globals, "executor_globals") ||
        !find(&api.backtrace, "zend_fetch_debug_backtrace") ||
        !find(&api.at, "zend_hash_index_find") || !find(&api.member, "zend_hash_str_find") ||
        !find(&api.drop, "zval_ptr_dtor") || !find(&api.memory_usage, "zend_memory_usage") ||
        !find(&api.setting, "zend_ini_string") || !find(&api.engine, "get_zend_version"))
      return {};
    g_api = api;
    g_found.store(true, std::memory_order_release);
  }
  // "Zend Engine v4.2.29, Copyright (c) Zend Technologies\n"
  const std::string_view text = g_api.engine();
  return text.substr(0, text.find(','));
}

// "128M"; -1: no limit.
bool has_memory() {
  const char* limit = g_api.setting("memory_limit", sizeof "memory_limit" - 1, 0);
  if (limit == nullptr) return false;
  char* end = nullptr;
  const long long number = std::strtoll(limit, &end, 10);
  if (number < 0) return true;
  auto bytes = static_cast<unsigned long long>(number);
  switch (*end | 0x20) {
    case 'g':
      bytes <<= 10;
      [[fallthrough]];
    case 'm':
      bytes <<= 10;
      [[fallthrough]];
    case 'k':
      bytes <<= 10;
      break;
    default:
      break;
  }
  return g_api.memory_usage(false) + kSpare < bytes;
}

const void* array_of(const Zval* value) {
  if (value == nullptr || (value->type & kTypeMask) != kArray) return nullptr;
  return reinterpret_cast<const void*>(value->value);
}

std::string_view text_of(const void* frame, std::string_view name) {
  const Zval* value = frame != nullptr ? g_api.member(frame, name.data(), name.size()) : nullptr;
  if (value == nullptr || (value->type & kTypeMask) != kString) return {};
  const auto* string = reinterpret_cast<const ZendString*>(value->value);
  return {string->text, string->size};
}

uint32_t line_of(const void* frame) {
  const Zval* value = g_api.member(frame, "line", 4);
  return value != nullptr && (value->type & kTypeMask) == kLong
             ? static_cast<uint32_t>(value->value)
             : 0;
}

// A frame has the function that is called, and where. The caller's name is that of the next one.
void walk(const void* frames, bool keep_all, FrameSink* sink) {
  for (uint64_t i = 0; i < kMaxFrames; ++i) {
    const void* frame = array_of(g_api.at(frames, i));
    if (frame == nullptr) return;
    const std::string_view file = text_of(frame, "file");
    if (file.empty() || !is_kept(FrameKind::kFile, file, keep_all)) continue;
    const void* caller = array_of(g_api.at(frames, i + 1));
    const std::string_view of = text_of(caller, "class");
    std::string_view function = caller == nullptr ? "{main}" : text_of(caller, "function");
    const uint32_t line = line_of(frame);
    char digits[20];
    sink->add(combine(frame_hash(file, line, function), hash_text(of)),
              {"F ", file, ":", number_text(line, 10, digits), " ", of,
               of.empty() ? "" : "::", function});
  }
}

bool read(FrameSink* sink) {
  if (!g_found.load(std::memory_order_acquire)) return false;
  // Only the process's first thread runs PHP.
  if (raw_syscall(SYS_gettid) != raw_syscall(SYS_getpid) || !has_memory()) return false;
  Zval frames{};
  g_api.backtrace(&frames, 0, kWithoutArguments, kMaxFrames);
  if (const void* array = array_of(&frames)) {
    walk(array, false, sink);
    if (sink->frames() == 0) {
      sink->begin_with_libraries();
      walk(array, true, sink);
    }
  }
  g_api.drop(&frames);
  return sink->frames() > 0;
}

}  // namespace

constinit const StackReader kPhpReader{prepare, read};

}  // namespace filibuster::preload
