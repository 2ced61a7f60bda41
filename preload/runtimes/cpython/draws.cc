#include "preload/runtimes/cpython/draws.h"

#include <sys/mman.h>

#include <atomic>
#include <string_view>

#include "preload/interpose.h"
#include "preload/os/raw_syscall.h"
#include "preload/os/symbols.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/draws.h"
#include "preload/runtimes/cpython/api.h"
#include "preload/session/state.h"

namespace filibuster::preload::cpython {
namespace {

constexpr int kTableOfMethods = 64;  // Py_tp_methods (typeslots.h), of the stable ABI
constexpr uintptr_t kPage = 4096;

// Public functions, the same since 3.4. One that is missing leaves the numbers as they are.
struct Numbers {
  void* (*slot)(Object* type, int);
  Object* (*float_from)(double);
  double (*float_as)(Object*);
  Object* (*small_from)(unsigned long long);
  unsigned long long (*small_as)(Object*);
  Object* (*text_from)(const char*);
  Object* int_type;
};
constinit Numbers g_numbers{};

using Function = decltype(Method::function);
struct Row {
  std::atomic<Method*> row{nullptr};
  std::atomic<Function> original{nullptr};
};
constinit Row g_random, g_bits;

template <typename T>
bool look_up(T* function, const char* name) {
  *function = reinterpret_cast<T>(symbol_of_program(name));
  return *function != nullptr;
}

bool find_numbers() {
  Numbers found{};
  if (!look_up(&found.slot, "PyType_GetSlot") ||
      !look_up(&found.float_from, "PyFloat_FromDouble") ||
      !look_up(&found.float_as, "PyFloat_AsDouble") ||
      !look_up(&found.small_from, "PyLong_FromUnsignedLongLong") ||
      !look_up(&found.small_as, "PyLong_AsUnsignedLongLong") ||
      !look_up(&found.text_from, "PyUnicode_FromString") ||
      !look_up(&found.int_type, "PyLong_Type"))
    return false;
  g_numbers = found;
  return true;
}

void drop(Object* object) {
  if (object != nullptr) api().decrease_reference(object);
}

// _random.Random.random()
Object* random(Object* self, Object* none) {
  const Function original = g_random.original.load(std::memory_order_relaxed);
  if (!draws_matter()) return original(self, none);
  Draw draw(DrawSource::kPython);
  double value = 0;
  // (What was recorded may be of the other method.)
  if (draw.give(&value, sizeof value) && value >= 0 && value < 1)
    return g_numbers.float_from(value);
  if (draw.wants_another()) drop(original(self, none));
  Object* result = original(self, none);
  if (result == nullptr) return nullptr;
  value = g_numbers.float_as(result);
  draw.keep(&value, sizeof value);
  return result;
}

// --- _random.Random.getrandbits(k): so many bytes as the bits need, little endian -----------------

constexpr long kSmall = 64;  // bits of what fits into a number of C

// of.name(first, "little"), which takes the reference of `first`; nullptr: it has thrown, which is forgotten.
Object* call_with_order(Object* of, const char* name, Object* first) {
  Object* method = api().get_attribute(of, name);
  Object* order = g_numbers.text_from("little");
  Object* result = method != nullptr && order != nullptr && first != nullptr
                       ? api().call(method, first, order, static_cast<Object*>(nullptr))
                       : nullptr;
  drop(method);
  drop(order);
  drop(first);
  if (result == nullptr) api().error_clear();
  return result;
}

Object* small_bits(Draw* draw, Function original, Object* self, Object* wanted, long bits) {
  const auto size = static_cast<size_t>((bits + 7) / 8);
  uint64_t value = 0;
  // (What was recorded may be of another number of bits.)
  if (draw->give(&value, size))
    return g_numbers.small_from(bits == kSmall ? value : value & ((uint64_t{1} << bits) - 1));
  if (draw->wants_another()) drop(original(self, wanted));
  Object* result = original(self, wanted);
  if (result == nullptr) return nullptr;
  value = g_numbers.small_as(result);
  draw->keep(&value, size);
  return result;
}

Object* large_bits(Draw* draw, Function original, Object* self, Object* wanted, long bits) {
  const auto size = static_cast<size_t>((bits + 7) / 8);
  {
    const Scratch bytes;
    if (bytes && draw->give(bytes.data(), size)) {
      if (bits % 8 != 0) bytes.data()[size - 1] &= static_cast<uint8_t>((1 << bits % 8) - 1);
      Object* number = call_with_order(g_numbers.int_type, "from_bytes",
                                       api().bytes_from(reinterpret_cast<const char*>(bytes.data()),
                                                        static_cast<intptr_t>(size)));
      if (number != nullptr) return number;
    }
  }
  if (draw->wants_another()) drop(original(self, wanted));
  Object* result = original(self, wanted);
  if (result == nullptr) return nullptr;
  Object* bytes = call_with_order(result, "to_bytes", api().long_from(static_cast<long>(size)));
  char* text = nullptr;
  intptr_t length = 0;
  if (bytes != nullptr && api().bytes_as(bytes, &text, &length) == 0)
    draw->keep(text, static_cast<size_t>(length));
  drop(bytes);
  return result;
}

Object* bits_of(Object* self, Object* wanted) {
  const Function original = g_bits.original.load(std::memory_order_relaxed);
  if (!draws_matter()) return original(self, wanted);
  const long bits = api().long_as(wanted);
  if (bits <= 0 || bits > static_cast<long>(8 * kMaxDrawBytes)) {
    api().error_clear();
    return original(self, wanted);
  }
  Draw draw(DrawSource::kPython);
  return (bits <= kSmall ? small_bits : large_bits)(&draw, original, self, wanted, bits);
}

// --- the rows ----------------------------------------------------------------------------------------

// The row lies in the data of the interpreter, which may be written, or where the loader has written its address and nobody may
// any more.
bool put(Method* row, Function function) {
  const auto from = reinterpret_cast<uintptr_t>(&row->function) & ~(kPage - 1);
  const auto end = reinterpret_cast<uintptr_t>(&row->function) + sizeof function;
  if (raw_syscall(SYS_mprotect, from, end - from, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(&row->function, function, __ATOMIC_RELEASE);
  return true;
}

void replace(Row* of, Function function) {
  Method* row = of->row.load(std::memory_order_acquire);
  if (row == nullptr || of->original.load(std::memory_order_relaxed) != nullptr) return;
  of->original.store(row->function, std::memory_order_release);
  if (put(row, function)) return;
  of->row.store(nullptr, std::memory_order_relaxed);
  report_note("cpython: the numbers of the module random are not those of the recording");
}

void find_row(Method* table, std::string_view name, int flags, Row* found) {
  for (Method* row = table; row != nullptr && row->name != nullptr; ++row) {
    if (row->name == name && row->flags == flags) found->row.store(row, std::memory_order_release);
  }
}

}  // namespace

void follow_draws() {
  if (!g_draws_from_start.load(std::memory_order_relaxed) && !draws_matter()) return;
  replace(&g_random, random);
  replace(&g_bits, bits_of);
}

Object* drawing(Object*, Object* type) {
  HookScope scope;
  if (g_random.row.load(std::memory_order_relaxed) == nullptr && find_numbers()) {
    auto* table = static_cast<Method*>(g_numbers.slot(type, kTableOfMethods));
    find_row(table, "random", kNoArguments, &g_random);
    find_row(table, "getrandbits", kOneArgument, &g_bits);
    api().error_clear();  // before 3.10 it asks for a class that was made while the program ran
    follow_draws();
  }
  api().increase_reference(api().none);
  return api().none;
}

}  // namespace filibuster::preload::cpython
