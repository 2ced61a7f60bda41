// Rows of the session's maps, as bpf/maps.bpf.h declares them for the programs. (That file is C with the
// types of the kernel; the sizes are compared when the maps are made.)
#pragma once

#include <bpf/bpf.h>

#include <cstdint>
#include <vector>

#include "bpf/attached.h"

namespace filibuster::bpf {

inline constexpr uint32_t kRingBytes = 1 << 21;
inline constexpr uint32_t kOriginals = 8192;
inline constexpr uint32_t kBypassed = 65536;

struct SlotRow {
  uint32_t active = 0;
  uint16_t outbound4 = 0;
  uint16_t outbound6 = 0;
  uint32_t watched = 0;
};

struct TasksRow {
  int32_t g_from_fs = 0;
  uint32_t goid = 0;
  uint32_t told = 0;  // kToldHttp1, kToldHttp2
  uint32_t unused = 0;
};
inline constexpr uint32_t kToldHttp1 = 1, kToldHttp2 = 2;  // FB_TOLD_ of bpf/maps.bpf.h

struct OutboundRow {
  fb_address wanted{};
  uint32_t slot = 0;
  uint32_t end = 0;
  uint64_t writer = 0;
};

enum class NewsKind : uint32_t { kForked = 1, kEnded = 2, kSaid = 3, kExeced = 4 };
struct News {
  NewsKind kind;
  uint32_t tgid;
  uint64_t cookie;
};

inline constexpr uint32_t kGrpcWrites = 8;  // GRPC_WRITES of bpf/stream.bpf.c
enum class Spoken : uint32_t { kUnheard = 0, kHttp1 = 1, kHttp2 = 2, kOther = 3 };
struct KeptRow {
  uint32_t owner = 0;
  Spoken spoken = Spoken::kUnheard;
  uint32_t inbound = 0;
  uint32_t told = 0;
  uint32_t copied = 0;
  uint32_t frames = 0;
  uint32_t tries = 0;
  uint32_t joined = 0;
  uint32_t slot = 0;
  uint32_t unused = 0;
  uint64_t cookie = 0;
};

// What the program fb_list writes for each connection that has a KeptRow.
struct ListedRow {
  KeptRow kept;
  fb_address local;
  fb_address remote;
  uint32_t copied = 0;  // as of tcp_sock
  uint32_t unread = 0;  // bytes that have come behind it
};

// Calls `take` with each row. Rows may be deleted meanwhile.
template <typename Key, typename Value, typename Take>
void for_each_key(int map, Take take) {
  std::vector<Key> keys;
  Key key{}, next{};
  for (const Key* last = nullptr; bpf_map_get_next_key(map, last, &next) == 0; last = &key) {
    key = next;
    keys.push_back(key);
  }
  for (const Key& each : keys) {
    Value value{};
    if (bpf_map_lookup_elem(map, &each, &value) == 0) take(each, value);
  }
}

}  // namespace filibuster::bpf
