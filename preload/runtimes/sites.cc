// Call stacks by number. Each is interned once and never removed, since the text of a program bounds
// how many call sites it has. Nobody takes a lock: a writer claims a slot by compare-and-exchange.
#include <atomic>
#include <cstring>

#include "preload/os/pages.h"
#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/frame_line.h"
#include "preload/runtimes/reader.h"
#include "preload/runtimes/task.h"

namespace filibuster::preload {
namespace {

constexpr size_t kMaxSites = 8192;  // a power of two
constexpr size_t kTextBytes = 4 << 20;
constexpr size_t kMaxText = 8 * 1024;

struct Site {
  std::atomic<uint64_t> key{0};   // of the text as given, or of the stack; 0: free
  std::atomic<uint32_t> size{0};  // of the kept text, plus one; 0: not published yet
  uint32_t at = 0;                // in the text pages
  bool incomplete = false;
  bool of_libraries = false;
  Hash128 hash;
};
constinit Site g_sites[kMaxSites];
constinit std::atomic<char*> g_text{nullptr};
constinit std::atomic<uint32_t> g_text_used{0};

char* text_pages() {
  char* text = g_text.load(std::memory_order_acquire);
  if (text != nullptr) return text;
  char* fresh = static_cast<char*>(map_pages(kTextBytes));  // touched only as far as it is used
  if (fresh == nullptr) return nullptr;
  if (g_text.compare_exchange_strong(text, fresh, std::memory_order_acq_rel)) return fresh;
  unmap_pages(fresh, kTextBytes);
  return text;
}

void add_frames(std::string_view text, bool keep_all, FrameSink* sink) {
  while (!text.empty()) {
    const FrameLine frame = parse_frame_line(take_line(&text));
    if (frame.line.empty() || !is_kept(FrameKind::kFile, frame.file, keep_all)) continue;
    sink->add(frame_hash(frame.file, frame.number, frame.function), {"F ", frame.line});
  }
}

// The slot of `key`, claimed if it was free (`*fresh`); nullptr: the table is full.
Site* slot_of(uint64_t key, bool* fresh) {
  for (size_t i = 0; i < kMaxSites; ++i) {
    Site& site = g_sites[(key + i) & (kMaxSites - 1)];
    uint64_t known = site.key.load(std::memory_order_acquire);
    *fresh = known == 0 && site.key.compare_exchange_strong(known, key, std::memory_order_acq_rel);
    if (*fresh || known == key) return &site;
  }
  return nullptr;
}

// Room for `size` bytes of text; nullptr: none is left.
char* text_room(size_t size, uint32_t* at) {
  char* pages = text_pages();
  *at = g_text_used.fetch_add(static_cast<uint32_t>(size), std::memory_order_relaxed);
  return pages == nullptr || *at > kTextBytes - size ? nullptr : pages + *at;
}

void publish(Site* site, uint32_t at, const CapturedStack& stack) {
  site->at = at;
  site->hash = stack.hash;
  site->incomplete = stack.incomplete;
  site->of_libraries = stack.of_libraries;
  site->size.store(static_cast<uint32_t>(stack.text_size) + 1, std::memory_order_release);
}

}  // namespace

uint64_t intern_site(std::string_view text) {
  text = text.substr(0, kMaxText);
  if (text.empty()) return 0;
  // Under other frame lists, the same text is another stack.
  const uint64_t key = (hash_text(text).lo + (uint64_t{frame_rules_version()} << 48)) | 1;
  bool fresh = false;
  Site* site = slot_of(key, &fresh);
  if (site == nullptr) return 0;
  if (!fresh) return key;
  const size_t room = text.size() + 3 * kMaxText / 4;  // each kept line grows by "F " and its end
  uint32_t at = 0;
  char* kept = text_room(room, &at);
  if (kept == nullptr) return 0;  // the slot stays without a text: site_stack does not know it
  FrameSink sink(kept, room);
  add_frames(text, false, &sink);
  if (sink.frames() == 0) {
    sink.begin_with_libraries();
    add_frames(text, true, &sink);
  }
  publish(site, at, {sink.hash(), kept, sink.text_size(), sink.incomplete(), sink.of_libraries()});
  return key;
}

uint64_t intern_stack(const CapturedStack& stack) {
  if (stack.text_size == 0 || stack.hash.is_zero()) return 0;
  // The hash names the stack, not the text: two addresses may have the same line of text.
  const uint64_t key = stack.hash.lo | 1;
  bool fresh = false;
  Site* site = slot_of(key, &fresh);
  if (site == nullptr) return 0;
  if (!fresh) return key;
  uint32_t at = 0;
  char* kept = text_room(stack.text_size, &at);
  if (kept == nullptr) return 0;
  std::memcpy(kept, stack.text, stack.text_size);
  publish(site, at, stack);
  return key;
}

bool site_stack(uint64_t key, char* buffer, size_t capacity, CapturedStack* stack) {
  if (key == 0) return false;
  for (size_t i = 0; i < kMaxSites; ++i) {
    const Site& site = g_sites[(key + i) & (kMaxSites - 1)];
    const uint64_t known = site.key.load(std::memory_order_acquire);
    if (known == 0) return false;
    if (known != key) continue;
    const uint32_t size = site.size.load(std::memory_order_acquire);
    if (size == 0 || size - 1 > capacity) return false;
    std::memcpy(buffer, g_text.load(std::memory_order_acquire) + site.at, size - 1);
    *stack = {site.hash, buffer, size - 1, site.incomplete, site.of_libraries};
    return true;
  }
  return false;
}

CapturedStack stack_of(uint64_t site, char* buffer, size_t capacity) {
  CapturedStack stack;
  return site_stack(site, buffer, capacity, &stack) ? stack : capture_stack(buffer, capacity);
}

}  // namespace filibuster::preload
