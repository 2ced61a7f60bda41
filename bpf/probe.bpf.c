// What `filibuster-bpf probe` attaches to itself, to see whether uprobes work.
#include "vmlinux.h"
// The types come first.
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} fb_hits SEC(".maps");

SEC("uprobe")
int fb_hit(void *ctx) {
  __u32 zero = 0, *hits = bpf_map_lookup_elem(&fb_hits, &zero);
  if (hits) *hits = 1;
  return 0;
}
