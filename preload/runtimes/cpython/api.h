// CPython's C API as this process has it, found by name: nothing of it is linked, no header of it is
// needed, and one library serves every version. All of it is public (before 3.13 _Py_IsFinalizing is not).
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster::preload::cpython {

struct Object;  // PyObject, PyThreadState, PyFrameObject…: only pointers pass through here

// PyMethodDef (Include/methodobject.h), the same since Python 2.
struct Method {
  const char* name;
  Object* (*function)(Object* self, Object* argument);
  int flags;
  const char* doc;
};
inline constexpr std::string_view kHelperFile = "<frozen filibuster>";  // helper.py

inline constexpr int kNoArguments = 0x0004;    // METH_NOARGS
inline constexpr int kOneArgument = 0x0008;    // METH_O
inline constexpr int kManyArguments = 0x0001;  // METH_VARARGS: a tuple
inline constexpr int kFileInput = 257;         // Py_file_input

struct Api {
  // What the reader of stacks needs.
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
  Object* (*frame_get_generator)(Object*);  // since 3.11; nullptr in older versions
  int (*gc_disable)();  // since 3.10; in older versions, the collector may run during a Scope
  int (*gc_enable)();
  // What the helper needs besides.
  void (*increase_reference)(Object*);
  Object* (*interpreter_head)();
  Object* (*interpreter_next)(Object*);
  Object* (*import_add_module)(const char*);
  Object* (*dict_new)();
  int (*dict_set)(Object*, const char*, Object*);
  Object* (*dict_copy)(Object*);
  Object* (*dict_get_item)(Object*, Object*);  // borrowed
  int (*dict_set_item)(Object*, Object*, Object*);
  int (*set_attribute)(Object*, const char*, Object*);
  Object* (*compile)(const char*, const char*, int);
  Object* (*evaluate)(Object*, Object*, Object*);
  Object* (*function_new)(Method*, Object*, Object*);
  Object* (*call)(Object*, ...);             // arguments, then nullptr
  Object* (*tuple_item)(Object*, intptr_t);  // borrowed
  intptr_t (*tuple_size)(Object*);
  Object* (*list_item)(Object*, intptr_t);
  int (*list_set)(Object*, intptr_t, Object*);  // takes the reference
  Object* (*long_from)(long);
  long (*long_as)(Object*);
  Object* (*bytes_from)(const char*, intptr_t);
  int (*bytes_as)(Object*, char**, intptr_t*);
  void (*error_clear)();
  int (*error_matches)(Object*);
  Object* (*error_occurred)();
  void (*set_interrupt)();
  Object* (*context_variable_new)(const char*, Object*);
  int (*context_variable_get)(Object*, Object*, Object**);
  Object* (*context_variable_set)(Object*, Object*);
  Object* none;
  Object** keyboard_interrupt;
};

enum class Runtime : uint8_t {
  kUnknown,
  kAbsent,
  kUnreadable,  // Python, but without the functions that read frames: older than 3.9
  kReady,
};

// Looks the functions up. Called at every registration, because a program may load Python late.
Runtime find_runtime();
Runtime runtime();
const Api& api();
// All that the helper needs is there.
bool has_helper_functions();
// "3.11.2"; "?" if it does not say.
std::string_view version(char (&out)[32]);

// May this thread take the GIL? A thread that Python does not know may not, because that would create a
// thread state. No thread may while the interpreter starts or ends, because that could end the thread.
bool usable();

// Holds the GIL for a moment. (In a hooked send it is free, or this thread holds it already.) Meanwhile
// no finaliser runs. At the end, the exception that was set before is set again.
class Scope {
 public:
  Scope();
  ~Scope();
  Scope(const Scope&) = delete;

 private:
  int gil_;
  int collecting_;
  Object *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

// For cpython/stack.cc: the code through which an event loop calls everything. The frames below it belong
// to whoever started the loop, and say nothing about a request that the loop serves.
void set_loop_code(Object* code);
Object* loop_code();  // nullptr: asyncio is not loaded
bool serves_on_this_thread();

}  // namespace filibuster::preload::cpython
