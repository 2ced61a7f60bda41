#include "preload/runtimes/cpython/leave.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "preload/os/symbols.h"
#include "preload/runtimes/cpython/api.h"

// leave.py as a text that ends with a zero. (The Makefile knows that this file contains it.)
__asm__(R"(
    .section .rodata
    .globl filibuster_python_leave
    .hidden filibuster_python_leave
    .type filibuster_python_leave, @object
filibuster_python_leave:
    .incbin "preload/runtimes/cpython/leave.py"
    .byte 0
    .size filibuster_python_leave, .-filibuster_python_leave
    .previous
)");
extern "C" const char filibuster_python_leave[];

namespace filibuster::preload::cpython {
namespace {

// The functions of libunwind's interface are macros for names with the architecture in them.
#define FILIBUSTER_NAME_OF(name) FILIBUSTER_TEXT_OF(name)
#define FILIBUSTER_TEXT_OF(name) #name

struct Unwinder {
  int (*context)(unw_context_t*) = nullptr;
  int (*init)(unw_cursor_t*, unw_context_t*) = nullptr;
  int (*step)(unw_cursor_t*) = nullptr;
  int (*procedure)(unw_cursor_t*, unw_proc_info_t*) = nullptr;
  int (*set)(unw_cursor_t*, int, unw_word_t) = nullptr;
  int (*resume)(unw_cursor_t*) = nullptr;

  bool load() {
    void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && find_context(library) &&
           find(library, &init, FILIBUSTER_NAME_OF(unw_init_local)) &&
           find(library, &step, FILIBUSTER_NAME_OF(unw_step)) &&
           find(library, &procedure, FILIBUSTER_NAME_OF(unw_get_proc_info)) &&
           find(library, &set, FILIBUSTER_NAME_OF(unw_set_reg)) &&
           find(library, &resume, FILIBUSTER_NAME_OF(unw_resume));
  }

 private:
#if defined(__x86_64__)
  bool find_context(void* library) {
    return find(library, &context, "_Ux86_64_getcontext");
  }
#else
  // Elsewhere it is a macro for the caller's own frame. The interpreter is taken apart there, as ever.
  bool find_context(void*) {
    return false;
  }
#endif
  template <typename Function>
  static bool find(void* library, Function* function, const char* name) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    return *function != nullptr;
  }
};

constinit Unwinder g_unwinder{};

// Py_FinalizeEx returns 0 to whoever called it: the test's exit status is a local variable there, which no
// exit handler sees. Its frame is left as an exception would leave it.
void return_from_finalize() {
  void* const finalize = symbol_of_program("Py_FinalizeEx");
  unw_context_t context;
  unw_cursor_t cursor;
  if (finalize == nullptr || g_unwinder.context(&context) != 0 ||
      g_unwinder.init(&cursor, &context) != 0)
    return;
  bool found = false;
  while (!found) {
    unw_proc_info_t about;
    if (g_unwinder.procedure(&cursor, &about) != 0) return;
    found = about.start_ip == reinterpret_cast<uintptr_t>(finalize);
    if (g_unwinder.step(&cursor) <= 0) return;
  }
  constexpr int kResult = 0;  // rax, x0: where the ABIs return an int (DWARF register 0)
  if (g_unwinder.set(&cursor, kResult, 0) == 0) g_unwinder.resume(&cursor);
}

Object* skip(Object*, Object*) {
  return_from_finalize();
  api().increase_reference(api().none);
  return api().none;
}
constinit Method g_skip{"skip", skip, kNoArguments, nullptr};

}  // namespace

void prepare_to_leave() {
  find_runtime();
  if (!usable() || !has_helper_functions() || !g_unwinder.load()) return;
  const Api& py = api();
  const Scope scope;
  Object* names = py.dict_new();
  Object* builtins = py.import_add_module("builtins");
  Object* skipping = py.function_new(&g_skip, nullptr, nullptr);
  Object* code = py.compile(filibuster_python_leave, "<frozen filibuster>", kFileInput);
  if (names != nullptr && builtins != nullptr && skipping != nullptr && code != nullptr &&
      py.dict_set(names, "__builtins__", builtins) == 0 &&
      py.dict_set(names, "skip", skipping) == 0) {
    py.evaluate(code, names, names);
  }
  py.error_clear();  // (then the interpreter is taken apart as ever)
}

}  // namespace filibuster::preload::cpython
