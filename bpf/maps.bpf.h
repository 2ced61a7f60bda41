// The maps that several programs of a session share, and what they hold. Each object that includes this
// has a copy of the declarations; the loader gives all of them the maps of the first (bpf/loader/objects.h).
// All rows are written by the loader, if nothing else is said.
#pragma once

#include "attached.h"

#define FB_TGIDS 32768

/* tgid -> slot. Forked children are added by observe.bpf.c, which also drops what has ended. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, FB_TGIDS);
  __type(key, __u32);
  __type(value, __u32);
} fb_tgids SEC(".maps");

struct fb_slot {
  __u32 active;
  __u16 outbound4, outbound6; /* ports of the proxy's listeners, host order; 0: none */
  __u32 watched; /* 1: inbound connections lead past the proxy, and their bytes are told */
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, FB_SLOTS);
  __type(key, __u32);
  __type(value, struct fb_slot);
} fb_slots SEC(".maps");

/* A port of an attached service (host order) -> slot. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, __u16);
  __type(value, __u32);
} fb_ports SEC(".maps");

/* Port (host order) -> 1: fb_ports has it. Whatever is read over TCP on this machine is first looked for here, since a look into
   an array calls no function. */
#define FB_ALL_PORTS 65536
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, FB_ALL_PORTS);
  __type(key, __u32);
  __type(value, __u8);
} fb_served SEC(".maps");

/* Ports of this machine that nobody is redirected from: those of the daemon and of the proxies. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, __u16);
  __type(value, __u8);
} fb_spared SEC(".maps");

/* Inbound listeners of the proxies: 2 * slot for IPv4, 2 * slot + 1 for IPv6. */
struct {
  __uint(type, BPF_MAP_TYPE_SOCKMAP);
  __uint(max_entries, 2 * FB_SLOTS);
  __type(key, __u32);
  __type(value, __u64);
} fb_inbound SEC(".maps");

/* Of a redirected socket; written by connects.bpf.c. */
struct fb_outbound {
  struct fb_address wanted;
  __u32 slot;
  /* What observe.bpf.c said last: who writes, and up to which byte. */
  __u32 end;
  __u64 writer;
};
struct {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct fb_outbound);
} fb_outbound SEC(".maps");

/* Maps of maps. Older kernels (6.1 is one) put a map into them only if it was made like the one that is declared here: with
   the types of its rows or, as the loader makes it, with their sizes alone. */

/* Slot -> its map `originals`; rows written by connects.bpf.c. A row is needed from connect() to
   accept(), so that there are more than any backlog holds. */
#define FB_ORIGINALS 8192
struct fb_originals_of_slot {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, FB_ORIGINALS);
  __uint(key_size, sizeof(struct fb_address));
  __uint(value_size, sizeof(struct fb_address));
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, FB_SLOTS);
  __type(key, __u32);
  __array(values, struct fb_originals_of_slot);
} fb_originals SEC(".maps");

/* Slot -> its map `bypass`; rows written by the proxy. */
struct fb_bypass_of_slot {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __uint(key_size, sizeof(__u16));
  __uint(value_size, sizeof(__u8));
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, FB_SLOTS);
  __type(key, __u32);
  __array(values, struct fb_bypass_of_slot);
} fb_bypass SEC(".maps");

/* Slot -> its ring of events. */
#define FB_RING_BYTES (1 << 21)
struct fb_ring_of_slot {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, FB_RING_BYTES);
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, FB_SLOTS);
  __type(key, __u32);
  __array(values, struct fb_ring_of_slot);
} fb_rings SEC(".maps");

/* How to find the number of the goroutine that runs: g is at fs + g_from_fs, its goid at g + goid (0: it
   cannot be found). */
struct fb_tasks {
  __s32 g_from_fs;
  __u32 goid;
  __u32 told; /* FB_TOLD_: of which requests over TLS the beginning and the end are told */
  __u32 unused;
};
#define FB_TOLD_HTTP1 1u
#define FB_TOLD_HTTP2 2u
/* tgid of a Go program -> where its tasks are. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, FB_TGIDS);
  __type(key, __u32);
  __type(value, struct fb_tasks);
} fb_tasks_of SEC(".maps");

/* What the loader itself must know. */
enum fb_news_kind {
  FB_FORKED = 1, /* `tgid` is attached, since its parent is */
  FB_ENDED = 2,  /* `tgid` has ended */
  FB_SAID = 3,   /* the kept connection `cookie` has said what stream.bpf.c had to say */
  FB_EXECED = 4  /* another program runs in `tgid` from now on */
};
struct fb_news {
  __u32 kind, tgid;
  __u64 cookie;
};
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 18);
} fb_news SEC(".maps");

/* A connection that was open before its process was attached; written by the loader, which has the
   socket in its hands for a moment, and by stream.bpf.c. */
enum fb_spoken {
  FB_UNHEARD = 0,
  FB_HTTP1 = 1,
  FB_HTTP2 = 2,
  FB_OTHER = 3 /* neither, or it cannot be read (TLS) */
};
struct fb_kept {
  __u32 owner;   /* number of the attachment */
  __u32 spoken;  /* enum fb_spoken */
  __u32 inbound; /* 1: this side serves */
  __u32 told;    /* 1: the other end knows that the connection ends */
  __u32 copied;  /* tcp_sock.copied_seq at the last write */
  __u32 frames;  /* writes in a row that were whole HTTP/2 frames */
  __u32 tries;   /* writes that began a message, and showed nothing */
  __u32 joined;  /* 1: `copied` is known */
  __u32 slot;
  __u32 unused;
  __u64 cookie;
};
struct {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct fb_kept);
} fb_kept SEC(".maps");

/* Slot -> how many writes went over its kept connections until it was known what to do with them. Nobody sees their requests. Written
   by stream.bpf.c. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, FB_SLOTS);
  __type(key, __u32);
  __type(value, __u64);
} fb_unseen SEC(".maps");
