// The maps of eBPF that the loader hands out. Whoever has the descriptor may use them, without a capability.
#pragma once

#include <cstddef>

namespace filibuster::proxy {

// The size of `value` is that of the map's values. False: there is no such row.
bool map_find(int map, const void* key, void* value);
// False: errno is set.
bool map_put(int map, const void* key, const void* value);
void map_remove(int map, const void* key);
// max_entries; 0: it is no map.
size_t map_entries(int map);

}  // namespace filibuster::proxy
