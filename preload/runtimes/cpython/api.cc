#include "preload/runtimes/cpython/api.h"

#include <atomic>
#include <cstddef>

#include "preload/os/symbols.h"

namespace filibuster::preload::cpython {
namespace {

constinit Api g_api{};
constinit std::atomic<Runtime> g_runtime{Runtime::kUnknown};
constinit std::atomic<bool> g_helper_functions{false};
constinit std::atomic<Object*> g_loop_code{nullptr};

template <typename Function>
bool find(Function* function, const char* name) {
  *function = reinterpret_cast<Function>(symbol_of_program(name));
  return *function != nullptr;
}

bool find_frame_functions(Api* api) {
  find(&api->gc_disable, "PyGC_Disable");
  find(&api->gc_enable, "PyGC_Enable");
  find(&api->frame_get_generator, "PyFrame_GetGenerator");
  const bool finalizing =
      find(&api->is_finalizing, "Py_IsFinalizing") || find(&api->is_finalizing, "_Py_IsFinalizing");
  return finalizing && find(&api->this_thread_state, "PyGILState_GetThisThreadState") &&
         find(&api->gil_ensure, "PyGILState_Ensure") &&
         find(&api->gil_release, "PyGILState_Release") &&
         find(&api->thread_state_get, "PyThreadState_Get") &&
         find(&api->thread_state_get_frame, "PyThreadState_GetFrame") &&
         find(&api->frame_get_back, "PyFrame_GetBack") &&
         find(&api->frame_get_code, "PyFrame_GetCode") &&
         find(&api->frame_get_line_number, "PyFrame_GetLineNumber") &&
         find(&api->get_attribute, "PyObject_GetAttrString") &&
         find(&api->as_utf8, "PyUnicode_AsUTF8AndSize") &&
         find(&api->increase_reference, "Py_IncRef") &&
         find(&api->decrease_reference, "Py_DecRef") && find(&api->error_fetch, "PyErr_Fetch") &&
         find(&api->error_restore, "PyErr_Restore");
}

bool find_helper_functions(Api* api) {
  return find(&api->interpreter_head, "PyInterpreterState_Head") &&
         find(&api->interpreter_next, "PyInterpreterState_Next") &&
         find(&api->import_add_module, "PyImport_AddModule") &&
         find(&api->dict_new, "PyDict_New") && find(&api->dict_set, "PyDict_SetItemString") &&
         find(&api->dict_copy, "PyDict_Copy") && find(&api->dict_get_item, "PyDict_GetItem") &&
         find(&api->dict_set_item, "PyDict_SetItem") &&
         find(&api->set_attribute, "PyObject_SetAttrString") &&
         find(&api->compile, "Py_CompileString") && find(&api->evaluate, "PyEval_EvalCode") &&
         find(&api->function_new, "PyCFunction_NewEx") &&
         find(&api->call, "PyObject_CallFunctionObjArgs") &&
         find(&api->tuple_item, "PyTuple_GetItem") && find(&api->tuple_size, "PyTuple_Size") &&
         find(&api->list_item, "PyList_GetItem") && find(&api->list_set, "PyList_SetItem") &&
         find(&api->long_from, "PyLong_FromLong") && find(&api->long_as, "PyLong_AsLong") &&
         find(&api->bytes_from, "PyBytes_FromStringAndSize") &&
         find(&api->bytes_as, "PyBytes_AsStringAndSize") &&
         find(&api->error_clear, "PyErr_Clear") &&
         find(&api->error_matches, "PyErr_ExceptionMatches") &&
         find(&api->error_occurred, "PyErr_Occurred") &&
         find(&api->set_interrupt, "PyErr_SetInterrupt") &&
         find(&api->context_variable_new, "PyContextVar_New") &&
         find(&api->context_variable_get, "PyContextVar_Get") &&
         find(&api->context_variable_set, "PyContextVar_Set") &&
         find(&api->none, "_Py_NoneStruct") &&
         find(&api->keyboard_interrupt, "PyExc_KeyboardInterrupt");
}

}  // namespace

Runtime find_runtime() {
  const Runtime known = g_runtime.load(std::memory_order_acquire);
  if (known == Runtime::kReady || known == Runtime::kUnreadable) return known;
  Api found{};
  Runtime result = Runtime::kAbsent;
  if (find(&found.is_initialized, "Py_IsInitialized")) {
    result = find_frame_functions(&found) ? Runtime::kReady : Runtime::kUnreadable;
    g_helper_functions.store(result == Runtime::kReady && find_helper_functions(&found));
    g_api = found;
  }
  g_runtime.store(result, std::memory_order_release);
  return result;
}

Runtime runtime() {
  return g_runtime.load(std::memory_order_acquire);
}

const Api& api() {
  return g_api;
}

bool has_helper_functions() {
  return g_helper_functions.load(std::memory_order_acquire);
}

std::string_view version(char (&out)[32]) {
  const char* (*get)() = nullptr;
  const char* text = find(&get, "Py_GetVersion") ? get() : "?";  // "3.11.2 (main, ...) [GCC ...]"
  size_t size = 0;
  while (text[size] != '\0' && text[size] != ' ' && size < sizeof out) {
    out[size] = text[size];
    ++size;
  }
  return {out, size};
}

bool usable() {
  return runtime() == Runtime::kReady && g_api.is_initialized() != 0 &&
         g_api.is_finalizing() == 0 && g_api.this_thread_state() != nullptr;
}

void set_loop_code(Object* code) {
  g_loop_code.store(code, std::memory_order_release);
}

Object* loop_code() {
  return g_loop_code.load(std::memory_order_acquire);
}

Scope::Scope()
    : gil_(g_api.gil_ensure()), collecting_(g_api.gc_disable != nullptr ? g_api.gc_disable() : 0) {
  g_api.error_fetch(&type_, &value_, &traceback_);
}

Scope::~Scope() {
  g_api.error_restore(type_, value_, traceback_);  // replaces whatever we raised
  if (collecting_ != 0 && g_api.gc_enable != nullptr) g_api.gc_enable();
  g_api.gil_release(gil_);
}

}  // namespace filibuster::preload::cpython
