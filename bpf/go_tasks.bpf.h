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
  __u64 number; /* fb_event::call; 0: its bytes tell, or nobody does */
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

/* A goroutine that writes for others -> for whom. That of net/http writes for the call that its connection serves. That of
   gRPC gathers frames of several calls in a buffer, which leaves in one write. */
#define FB_GO_PARTS 8
struct fb_go_part {
  __u64 call; /* number of a key of fb_go_calls */
  __u32 at;   /* its header begins behind so many bytes of the buffer */
  __u32 unused;
};
#define FB_GO_NOBODY 1ull /* it writes what belongs to the connection itself */
struct fb_go_writer {
  __u64 call;    /* of net/http, or FB_GO_NOBODY */
  __u32 gathers; /* 1: of gRPC */
  __u32 bytes;   /* in the buffer */
  __u32 count; /* of the parts in the buffer; more than there is room for: none of them is known */
  __u32 unused;
  struct fb_go_part parts[FB_GO_PARTS];
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

/* A goroutine in which a handler of gRPC runs -> the one that reads its connection, and its stream there. */
struct fb_go_handler {
  __u64 reader;
  __u32 stream, unused;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct fb_go_key);
  __type(value, struct fb_go_handler);
} fb_go_handlers SEC(".maps");

static __always_inline struct fb_go_key fb_go_key(__u32 tgid, __u64 number) {
  struct fb_go_key key = {.number = number, .tgid = tgid};
  return key;
}

static __always_inline __u32 fb_go_reads_of(struct fb_go_key* key) {
  __u32* reads = bpf_map_lookup_elem(&fb_go_reads, key);
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
   request, and no other one since. `task` itself where that is not known: it has read nothing then. `*stream` is set where one connection has several requests. */
#define FB_GO_ANCESTORS 8
static __always_inline __u64 fb_go_origin(__u32 tgid, __u64 task, __u32* stream) {
  struct fb_go_key key = fb_go_key(tgid, task);
  __u32 expected = 0;
  for (int i = 0; i < FB_GO_ANCESTORS; ++i) {
    struct fb_go_handler* handler = bpf_map_lookup_elem(&fb_go_handlers, &key);
    if (handler) {
      *stream = handler->stream;
      return handler->reader;
    }
    __u32 reads = fb_go_reads_of(&key);
    if (i > 0 && reads != expected) return task;
    if (reads) return key.number;
    struct fb_go_parent* parent = bpf_map_lookup_elem(&fb_go_parents, &key);
    if (!parent) return task;
    key.number = parent->task;
    expected = parent->reads;
  }
  return task;
}

static __always_inline struct fb_go_writer* fb_go_writer_of(__u32 tgid, __u64 task) {
  struct fb_go_key key = fb_go_key(tgid, task);
  return bpf_map_lookup_elem(&fb_go_writers, &key);
}

static __always_inline struct fb_go_call* fb_go_call_of(__u32 tgid, __u64 number) {
  struct fb_go_key key = fb_go_key(tgid, number);
  return bpf_map_lookup_elem(&fb_go_calls, &key);
}

/* Are the parts of the buffer known, of which `size` bytes are about to be written? */
static __always_inline int fb_go_knows_parts(struct fb_go_writer* row, __u32 size) {
  return row->count > 0 && row->count <= FB_GO_PARTS && row->bytes >= size;
}

/* `size` bytes of the buffer have been written. */
static __always_inline void fb_go_written(struct fb_go_writer* row, __u32 size) {
  __u32 left = 0;
  if (fb_go_knows_parts(row, size)) {
    for (__u32 i = 0; i < FB_GO_PARTS; ++i) {
      if (i >= row->count || row->parts[i].at < size) continue;
      row->parts[left & (FB_GO_PARTS - 1)].call = row->parts[i].call;
      row->parts[left & (FB_GO_PARTS - 1)].at = row->parts[i].at - size;
      ++left;
    }
  }
  row->count = left;
  row->bytes -= row->bytes < size ? row->bytes : size;
}
