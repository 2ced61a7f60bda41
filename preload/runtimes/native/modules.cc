#include "preload/runtimes/native/modules.h"

#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "preload/os/bounded_wait.h"
#include "preload/os/raw_syscall.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/loop_frames.h"

namespace filibuster::preload {
namespace {

constexpr uint32_t kMaxModules = 1024;

struct Module {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  ModuleInfo info;
};
constinit Module g_modules[kMaxModules];  // sorted by begin; under g_sequence
constinit uint32_t g_count = 0;
constinit std::atomic<uint64_t> g_changes{
    0};  // dlpi_adds + dlpi_subs, and the frame lists' version
constinit std::atomic<uint32_t> g_sequence{0};  // odd: being written
constinit std::atomic<int> g_writer{0};         // its pid: in a forked child that thread is gone
constexpr uint64_t kPatienceNs = 100'000'000;
// How long one frame waits. It is short because refresh_modules has waited already, and because a signal
// handler that interrupted the writer waits in vain for every frame of its stack.
constexpr uint64_t kFramePatienceNs = 1'000'000;

// Finds NT_GNU_BUILD_ID among the notes of one segment.
void read_build_id(const char* at, size_t size, size_t align, ModuleInfo* info) {
  if (align < 4) align = 4;
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const size_t name = (note.n_namesz + align - 1) & ~(align - 1);
    const size_t text = (note.n_descsz + align - 1) & ~(align - 1);
    const size_t total = sizeof note + name + text;
    if (name > size || text > size || total > size) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(at + sizeof note, "GNU", 4) == 0) {
      const auto* id = reinterpret_cast<const uint8_t*>(at + sizeof note + name);
      info->identity = hash_bytes(id, note.n_descsz);
      for (size_t i = 0; i < note.n_descsz && info->id_size + 2u <= sizeof info->id_text; ++i) {
        info->id_text[info->id_size++] = "0123456789abcdef"[id[i] >> 4];
        info->id_text[info->id_size++] = "0123456789abcdef"[id[i] & 15];
      }
      return;
    }
    at += total;
    size -= total;
  }
}

void set_path(ModuleInfo* info, const char* name, bool first) {
  long size = 0;
  if (first && (name == nullptr || *name == '\0')) {
    size = raw_syscall(SYS_readlinkat, -100 /* AT_FDCWD */, "/proc/self/exe", info->path_text,
                       sizeof info->path_text);
    if (size < 0) size = 0;
  } else if (name != nullptr) {
    size = static_cast<long>(strnlen(name, sizeof info->path_text));
    std::memcpy(info->path_text, name, static_cast<size_t>(size));
  }
  info->path_size = static_cast<uint8_t>(size);
}

int add_module(dl_phdr_info* loaded, size_t, void* first) {
  if (g_count == kMaxModules) return 1;
  Module module{};
  module.begin = ~uintptr_t{0};
  module.info.bias = loaded->dlpi_addr;
  for (int i = 0; i < loaded->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = loaded->dlpi_phdr[i];
    const uintptr_t begin = loaded->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      if (begin < module.begin) module.begin = begin;
      if (begin + segment.p_memsz > module.end) module.end = begin + segment.p_memsz;
    } else if (segment.p_type == PT_NOTE && module.info.id_size == 0) {
      read_build_id(reinterpret_cast<const char*>(begin), segment.p_memsz, segment.p_align,
                    &module.info);
    }
  }
  auto* is_first = static_cast<bool*>(first);
  set_path(&module.info, loaded->dlpi_name, *is_first);
  *is_first = false;
  if (module.end == 0) return 0;
  const std::string_view path = module.info.path();
  module.info.runtime = is_left_out(FrameKind::kModule, path);
  module.info.engine = is_engine_module(path);
  module.info.loop = is_loop_frame(FrameKind::kModule, path);
  if (module.info.id_size == 0) {
    module.info.id_text[module.info.id_size++] = '-';
    module.info.identity = nameless_module_hash(path);
  }
  uint32_t at = g_count++;
  for (; at > 0 && g_modules[at - 1].begin > module.begin; --at) g_modules[at] = g_modules[at - 1];
  g_modules[at] = module;
  return 0;
}

int read_changes(dl_phdr_info* info, size_t size, void* out) {
  if (size < offsetof(dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) return 1;
  *static_cast<uint64_t*>(out) = info->dlpi_adds + info->dlpi_subs;
  return 1;  // the counters are the same for every module
}

}  // namespace

void refresh_modules() {
  uint64_t changes = 0;
  dl_iterate_phdr(read_changes, &changes);
  changes += uint64_t{frame_rules_version()} << 48;
  if (changes == g_changes.load(std::memory_order_acquire) && changes != 0) return;

  const int pid = static_cast<int>(raw_syscall(SYS_getpid));
  int writer = 0;
  if (!g_writer.compare_exchange_strong(writer, pid) &&
      (writer == pid || !g_writer.compare_exchange_strong(writer, pid))) {
    // Another thread renews the list. By the old list, frames of this thread might have no names.
    if (wait_until([] { return g_writer.load(std::memory_order_acquire) == 0; }, kPatienceNs))
      refresh_modules();  // the list may have changed since that thread read it
    return;
  }
  const uint32_t before = g_sequence.load(std::memory_order_relaxed) & ~1u;
  g_sequence.store(before + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  g_count = 0;
  bool first = true;
  dl_iterate_phdr(add_module, &first);
  g_sequence.store(before + 2, std::memory_order_release);
  g_changes.store(changes, std::memory_order_release);
  g_writer.store(0, std::memory_order_release);
}

bool find_module(uintptr_t address, ModuleInfo* info) {
  bool found = false;
  const auto read_once = [&] {
    const uint32_t before = g_sequence.load(std::memory_order_acquire);
    if ((before & 1) != 0) return false;
    found = false;
    uint32_t low = 0;
    uint32_t high = g_count < kMaxModules ? g_count : kMaxModules;
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (g_modules[middle].begin <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low > 0 && address < g_modules[low - 1].end) {
      *info = g_modules[low - 1].info;
      info->begin = g_modules[low - 1].begin;
      info->end = g_modules[low - 1].end;
      found = true;
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    return g_sequence.load(std::memory_order_relaxed) == before;
  };
  return wait_until(read_once, kFramePatienceNs) && found;
}

}  // namespace filibuster::preload
