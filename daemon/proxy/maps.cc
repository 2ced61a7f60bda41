#include "daemon/proxy/maps.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace filibuster::proxy {
namespace {

long call(bpf_cmd command, bpf_attr* attributes) {
  return ::syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

bpf_attr element(int map, const void* key, const void* value) {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.map_fd = static_cast<uint32_t>(map);
  attributes.key = reinterpret_cast<uintptr_t>(key);
  attributes.value = reinterpret_cast<uintptr_t>(value);
  return attributes;
}

}  // namespace

bool map_find(int map, const void* key, void* value) {
  bpf_attr attributes = element(map, key, value);
  return call(BPF_MAP_LOOKUP_ELEM, &attributes) == 0;
}

bool map_put(int map, const void* key, const void* value) {
  bpf_attr attributes = element(map, key, value);
  attributes.flags = BPF_ANY;
  return call(BPF_MAP_UPDATE_ELEM, &attributes) == 0;
}

void map_remove(int map, const void* key) {
  bpf_attr attributes = element(map, key, nullptr);
  call(BPF_MAP_DELETE_ELEM, &attributes);
}

size_t map_entries(int map) {
  bpf_map_info info;
  std::memset(&info, 0, sizeof info);
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.info.bpf_fd = static_cast<uint32_t>(map);
  attributes.info.info_len = sizeof info;
  attributes.info.info = reinterpret_cast<uintptr_t>(&info);
  return call(BPF_OBJ_GET_INFO_BY_FD, &attributes) == 0 ? info.max_entries : 0;
}

}  // namespace filibuster::proxy
