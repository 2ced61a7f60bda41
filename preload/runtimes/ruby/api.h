// Ruby's C API as this process has it, found by name: nothing of it is linked, no header of it is needed.
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster::preload::ruby {

using Value = uintptr_t;

struct Api {
  // What the reader of stacks needs. None of these needs the GVL, and none allocates.
  int (*is_ruby_thread)();  // of this thread
  int (*profile_frames)(int start, int limit, Value* frames, int* lines);
  Value (*frame_path)(Value frame);
  Value (*frame_absolute_path)(Value frame);
  Value (*frame_label)(Value frame);
  // What the helper needs besides.
  int (*has_gvl)();
  void* (*with_gvl)(void* (*function)(void*), void* argument);
  Value (*evaluate)(const char* text, int* failed);
  Value (*define_module)(const char* name);
  void (*define_function)(Value module, const char* name, Value (*function)(...), int arguments);
  Value (*string_from)(const char* text, long size);
  char* (*text_of)(volatile Value* string);  // of a string without zeros
  void (*add_event_hook)(void (*function)(uint32_t event, Value data, Value self, uintptr_t method,
                                          Value of),
                         uint32_t events, Value data);
  Value (*current_thread)();
  Value (*fiber_local)(Value thread, uintptr_t name);
  Value (*set_fiber_local)(Value thread, uintptr_t name, Value value);
  Value (*current_fiber)();
  Value (*fiber_scheduler)();  // of the fiber that runs; nil: none runs it
  Value (*hash_delete)(Value hash, Value key);
  uintptr_t (*intern)(const char* name);
  void (*set_error)(Value error);
};

// nullptr: this process has no Ruby, or one without these functions. Looked up at each registration until it is found.
const Api* find_api();
const Api* api();
// "ruby 3.1.2"
std::string_view description();

// A string without zeros; "" for anything else.
std::string_view text_of(Value string);
// Values that hold their number or meaning in themselves (include/ruby/internal/special_consts.h).
inline bool is_object(Value value) {
  return (value & 7) == 0 && value > 0x40;
}
inline bool is_small_number(Value value) {
  return (value & 1) != 0;
}
inline long small_number(Value value) {
  return static_cast<long>(static_cast<intptr_t>(value) >> 1);
}
inline Value value_of(long number) {
  return static_cast<Value>(number) << 1 | 1;
}

}  // namespace filibuster::preload::ruby
