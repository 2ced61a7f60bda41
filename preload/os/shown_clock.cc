#include "preload/os/shown_clock.h"

namespace filibuster::preload {
namespace {

constinit const std::atomic<int64_t> g_nothing_added{0};

}  // namespace

constinit std::atomic<const std::atomic<int64_t>*> g_shown_offset{&g_nothing_added};

}  // namespace filibuster::preload
