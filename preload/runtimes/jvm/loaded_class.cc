#include "preload/runtimes/jvm/loaded_class.h"

#include "preload/os/pages.h"

namespace filibuster::preload::jvm {

constexpr size_t kMaxConstants = 65536;

uint32_t edit_loaded_class(jvmtiEnv* tools, std::span<const Edit> edits,
                           std::span<const uint8_t> file, jint* new_size,
                           unsigned char** new_data) {
  const size_t room = file.size() + kEditRoom;
  auto* constants = static_cast<uint32_t*>(map_pages(kMaxConstants * sizeof(uint32_t)));
  if (constants == nullptr) return 0;
  EditResult result;
  unsigned char* out = nullptr;
  if (tools->Allocate(static_cast<jlong>(room), &out) == JVMTI_ERROR_NONE) {
    result = edit_class(file, edits, {constants, kMaxConstants}, {out, room});
    if (result.size > 0) {
      *new_data = out;
      *new_size = static_cast<jint>(result.size);
    } else {
      tools->Deallocate(out);
      result.done = 0;
    }
  }
  unmap_pages(constants, kMaxConstants * sizeof(uint32_t));
  return result.done;
}

}  // namespace filibuster::preload::jvm
