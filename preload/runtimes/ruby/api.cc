#include "preload/runtimes/ruby/api.h"

#include <atomic>
#include <cstring>

#include "preload/os/symbols.h"

namespace filibuster::preload::ruby {
namespace {

constinit Api g_api{};
constinit std::atomic<bool> g_found{false};

template <typename Function>
bool find(Function* function, const char* name) {
  *function = reinterpret_cast<Function>(symbol_of_program(name));
  return *function != nullptr;
}

bool find_all(Api* api) {
  return find(&api->is_ruby_thread, "ruby_native_thread_p") &&
         find(&api->profile_frames, "rb_profile_frames") &&
         find(&api->frame_path, "rb_profile_frame_path") &&
         find(&api->frame_absolute_path, "rb_profile_frame_absolute_path") &&
         find(&api->frame_label, "rb_profile_frame_label") &&
         find(&api->has_gvl, "ruby_thread_has_gvl_p") &&
         find(&api->with_gvl, "rb_thread_call_with_gvl") &&
         find(&api->evaluate, "rb_eval_string_protect") &&
         find(&api->define_module, "rb_define_module") &&
         find(&api->define_function, "rb_define_module_function") &&
         find(&api->string_from, "rb_str_new") && find(&api->text_of, "rb_string_value_ptr") &&
         find(&api->add_event_hook, "rb_add_event_hook") &&
         find(&api->current_thread, "rb_thread_current") &&
         find(&api->fiber_local, "rb_thread_local_aref") && find(&api->intern, "rb_intern") &&
         find(&api->set_fiber_local, "rb_thread_local_aset") &&
         find(&api->current_fiber, "rb_fiber_current") &&
         find(&api->fiber_scheduler, "rb_fiber_scheduler_current") &&
         find(&api->hash_delete, "rb_hash_delete") && find(&api->set_error, "rb_set_errinfo");
}

// struct RBasic (include/ruby/internal/core/rbasic.h): the flags come first, and their last five bits are the type.
constexpr uintptr_t kTypeMask = 0x1f;
constexpr uintptr_t kString = 0x05;

}  // namespace

const Api* find_api() {
  if (g_found.load(std::memory_order_acquire)) return &g_api;
  Api found{};
  if (!find_all(&found)) return nullptr;
  g_api = found;
  g_found.store(true, std::memory_order_release);
  return &g_api;
}

const Api* api() {
  return g_found.load(std::memory_order_acquire) ? &g_api : nullptr;
}

std::string_view description() {
  // "ruby 3.1.2p20 (2022-04-12 revision 4491bb740a) [x86_64-linux-gnu]"
  const char* text = static_cast<const char*>(symbol_of_program("ruby_description"));
  if (text == nullptr) return "ruby";
  const std::string_view whole(text, strnlen(text, 128));
  return whole.substr(0, whole.find(" ("));
}

std::string_view text_of(Value string) {
  // true, false, nil, numbers and symbols are no pointers.
  if (!is_object(string)) return {};
  const uintptr_t flags = *reinterpret_cast<const uintptr_t*>(string);
  if ((flags & kTypeMask) != kString) return {};
  volatile Value value = string;
  const char* text = g_api.text_of(&value);
  return {text, std::strlen(text)};
}

}  // namespace filibuster::preload::ruby
