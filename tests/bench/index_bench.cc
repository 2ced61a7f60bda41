// What forming an execution index costs: the call stack of the calling thread, and the hashes. Linked with
// the preload's own objects, but hidden: nothing is interposed. native_index_bench.cc calls it from a
// C++ stack, python_index_bench.py from a Python one (ctypes frees the GIL, as a hooked send finds it).
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/index/execution_index.h"
#include "preload/runtimes/stack.h"

namespace {

// No heap: the preload's objects trap operator new.
constexpr int kMaxRounds = 20000;
char g_text[32 * 1024];
double g_times[kMaxRounds];

// So that nothing is optimised away.
volatile uint64_t g_sink = 0;

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void index_bench_prepare() {
  char notes[256];
  filibuster::preload::describe_runtimes(notes, sizeof notes);
}

// Median nanoseconds of `rounds` indexes after the first; the number of kept frames into `frames`.
__attribute__((visibility("default"))) double index_bench_median(int rounds, int* frames) {
  using namespace filibuster;
  const Hash128 http = http_signature_hash("back", "GET", "/a/path");
  const Hash128 payload = hash_text("payload");
  const Hash128 parent = hash_text("parent");
  rounds = std::min(rounds, kMaxRounds);
  for (int round = 0; round <= rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const preload::CapturedStack stack = preload::capture_stack(g_text, sizeof g_text);
    const Hash128 signature = invocation_signature(http, payload, stack.hash, ~0u);
    const Hash128 index =
        extend_path(parent, combine(signature, counter_key(parent, signature, ~0u)), 1, ~0u);
    const auto end = std::chrono::steady_clock::now();
    g_sink = g_sink + index.lo;
    if (round > 0)
      g_times[round - 1] = std::chrono::duration<double, std::nano>(end - begin).count();
    *frames = static_cast<int>(std::count(stack.text, stack.text + stack.text_size, '\n'));
  }
  std::nth_element(g_times, g_times + rounds / 2, g_times + rounds);
  return g_times[rounds / 2];
}

}  // extern "C"
