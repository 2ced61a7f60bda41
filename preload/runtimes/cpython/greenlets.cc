#include "preload/runtimes/cpython/greenlets.h"

#include <atomic>

#include "preload/runtimes/cpython/api.h"

namespace filibuster::preload::cpython {
namespace {

constinit std::atomic<Object*> g_getcurrent{nullptr};
constexpr const char* kLocals = "spawn_tree_locals";

// A reference that is given back at the end.
class Reference {
 public:
  explicit Reference(Object* object) : object_(object) {
    if (object == nullptr) api().error_clear();
  }
  ~Reference() {
    if (object_ != nullptr) api().decrease_reference(object_);
  }
  Reference(const Reference&) = delete;
  Object* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Object* object_;
};

// The greenlet that runs, as a new reference; nullptr: it is the one that the thread began with.
Object* running() {
  Object* getcurrent = g_getcurrent.load(std::memory_order_acquire);
  if (getcurrent == nullptr) return nullptr;
  Object* greenlet = api().call(getcurrent, static_cast<Object*>(nullptr));
  if (greenlet == nullptr) {
    api().error_clear();
    return nullptr;
  }
  const Reference parent(api().get_attribute(greenlet, "parent"));
  if (parent && parent.get() != api().none) return greenlet;
  api().decrease_reference(greenlet);
  return nullptr;
}

// The value of the context variable, as a new reference; nullptr: not set.
Object* of_context(Object* key) {
  Object* value = nullptr;
  if (api().context_variable_get(key, nullptr, &value) != 0) api().error_clear();
  if (value != api().none) return value;
  api().decrease_reference(value);
  return nullptr;
}

}  // namespace

void follow_greenlets(Object* getcurrent) {
  api().increase_reference(getcurrent);
  g_getcurrent.store(getcurrent, std::memory_order_release);
}

bool has_greenlets() {
  return g_getcurrent.load(std::memory_order_acquire) != nullptr;
}

bool in_greenlet() {
  const Reference greenlet(running());
  return static_cast<bool>(greenlet);
}

Object* request_of_greenlet(Object* key) {
  const Reference greenlet(running());
  if (!greenlet) return nullptr;
  if (Object* own = of_context(key)) return own;
  const Reference locals(api().get_attribute(greenlet.get(), kLocals));
  if (!locals) return nullptr;
  Object* request =
      api().dict_get_item(locals.get(), key);  // nullptr also where it is no dictionary
  api().error_clear();
  if (request != nullptr) api().increase_reference(request);
  return request;
}

Object* swap_request_of_greenlet(Object* key, Object* request) {
  const Reference greenlet(running());
  if (!greenlet) return nullptr;
  Object* before = request_of_greenlet(key);
  if (before == nullptr) before = api().bytes_from("", 0);
  // The dictionary is replaced, not changed: what was spawned earlier keeps its own.
  const Reference locals(api().get_attribute(greenlet.get(), kLocals));
  const Reference copy(locals ? api().dict_copy(locals.get()) : nullptr);
  if (!copy || api().dict_set_item(copy.get(), key, request) != 0 ||
      api().set_attribute(greenlet.get(), kLocals, copy.get()) != 0) {
    const Reference token(api().context_variable_set(key, request));
  }
  api().error_clear();
  return before;
}

}  // namespace filibuster::preload::cpython
