// Who makes a call in a Go program. The goroutine that writes to a connection is often not the one that asked for
// it: each connection of net/http and of gRPC has a goroutine that writes for all. go.bpf.c notes who asked, and which
// goroutine started which; observe.bpf.c asks here when bytes are written, and says here when a request was read.
// Both have these maps (bpf/loader gives them the same ones). Rows are of one process: their keys have its tgid.
// Where a row is gone, since these maps forget what was not used for long, the answer is 'not known'.
#pragma once

#include "attached.h"

struct fb_go_key {
  __u64 number; /* of a goroutine, or an address in the process */
  __u32 tgid, unused;
};

/* Somebody asks for a request to be sent. The key is what the writer will know: the connection of net/http, the
   header item of gRPC, or FB_GO_GOROUTINE and the number of the goroutine that sends it. */
#define FB_GO_GOROUTINE (1ull << 63)
struct fb_go_call {
  __u64 task;
  __s32 frames;
  __u32 unused;
  __u64 stack[FB_FRAMES];
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, struct fb_go_key);
  __type(value, struct fb_go_call);
} fb_go_calls SEC(".maps");

/* A goroutine that writes for others -> for whom. */
struct fb_go_writer {
  __u64 call;    /* number of a key of fb_go_calls */
  __u32 once;    /* 1: for one write only, since it writes for many */
  __u32 pending; /* calls that its next write holds */
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct fb_go_key);
  __type(value, struct fb_go_writer);
} fb_go_writers SEC(".maps");

/* A goroutine -> how often it has read from a connection that the process serves. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct fb_go_key);
  __type(value, __u32);
} fb_go_reads SEC(".maps");

/* A goroutine -> who started it, and how often that one had read until then: what it starts while it works for a
   request must not be taken for a part of its next request. */
struct fb_go_parent {
  __u64 task;
  __u32 reads, unused;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 65536);
  __type(key, struct fb_go_key);
  __type(value, struct fb_go_parent);
} fb_go_parents SEC(".maps");

/* A goroutine in which a handler of gRPC runs -> the one that reads its connection. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct fb_go_key);
  __type(value, __u64);
} fb_go_handlers SEC(".maps");

static __always_inline struct fb_go_key fb_go_key(__u32 tgid, __u64 number) {
  struct fb_go_key key = {.number = number, .tgid = tgid};
  return key;
}

static __always_inline __u32 fb_go_reads_of(struct fb_go_key *key) {
  __u32 *reads = bpf_map_lookup_elem(&fb_go_reads, key);
  return reads ? *reads : 0;
}

/* The goroutine has read a part of a request. */
static __always_inline void fb_go_has_read(__u32 tgid, __u64 task) {
  struct fb_go_key key = fb_go_key(tgid, task);
  __u32 *reads = bpf_map_lookup_elem(&fb_go_reads, &key), one = 1;
  if (reads)
    *reads += 1; /* nobody else writes this row */
  else
    bpf_map_update_elem(&fb_go_reads, &key, &one, BPF_ANY);
}

/* The goroutine for whose request `task` works: itself, or the nearest of those that started it which has read a
   request, and no other one since. `task` itself where that is not known: it has read nothing then. */
#define FB_GO_ANCESTORS 8
static __always_inline __u64 fb_go_origin(__u32 tgid, __u64 task) {
  struct fb_go_key key = fb_go_key(tgid, task);
  __u32 expected = 0;
  for (int i = 0; i < FB_GO_ANCESTORS; ++i) {
    __u64 *reader = bpf_map_lookup_elem(&fb_go_handlers, &key);
    if (reader) return *reader;
    __u32 reads = fb_go_reads_of(&key);
    if (i > 0 && reads != expected) return task;
    if (reads) return key.number;
    struct fb_go_parent *parent = bpf_map_lookup_elem(&fb_go_parents, &key);
    if (!parent) return task;
    key.number = parent->task;
    expected = parent->reads;
  }
  return task;
}

/* The call for which the goroutine is about to write; null: none that is known. `*writer`: 1 if it writes for others, so that
   whoever started it says nothing. */
static __always_inline struct fb_go_call *fb_go_caller(__u32 tgid, __u64 task, int *writer) {
  struct fb_go_key key = fb_go_key(tgid, task);
  struct fb_go_writer *row = bpf_map_lookup_elem(&fb_go_writers, &key);
  *writer = row != 0;
  if (!row) return 0;
  if (row->once) {
    __u32 pending = row->pending;
    row->pending = 0;
    if (pending != 1) return 0;
  }
  key.number = row->call;
  return bpf_map_lookup_elem(&fb_go_calls, &key);
}
