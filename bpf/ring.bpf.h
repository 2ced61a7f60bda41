// How an event gets into the ring of its slot.
#pragma once

#include "attached.h"
#include "maps.bpf.h"

/* Slot -> how many events were to be written when its ring was full. The loader sets it to 0. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, FB_SLOTS);
  __type(key, __u32);
  __type(value, __u64);
} fb_lost SEC(".maps");

static __always_inline void fb_set_lost(__u32 slot) {
  __u64* lost = bpf_map_lookup_elem(&fb_lost, &slot);
  if (lost) __sync_fetch_and_add(lost, 1);
}

static __always_inline __u32 fb_lost_by_now(__u32 slot) {
  __u64* lost = bpf_map_lookup_elem(&fb_lost, &slot);
  return lost ? *lost << FB_LOST_SHIFT : 0;
}

static __always_inline void fb_describe(struct fb_event* event, __u32 kind, __u32 slot) {
  __builtin_memset(event, 0, FB_EVENT_HEAD);
  __u64 both = bpf_get_current_pid_tgid();
  event->kind = kind;
  event->slot = slot;
  event->tgid = both >> 32;
  event->tid = (__u32)both;
  event->time_ns = bpf_ktime_get_ns();
}

/* `size`: that of the record, a constant. Null: the ring is full. */
static __always_inline struct fb_event* fb_begin(__u32 kind, __u32 slot, __u64 size) {
  void* ring = bpf_map_lookup_elem(&fb_rings, &slot);
  if (!ring) return 0;
  struct fb_event* event = bpf_ringbuf_reserve(ring, size, 0);
  if (!event) {
    fb_set_lost(slot);
    return 0;
  }
  fb_describe(event, kind, slot);
  event->flags = fb_lost_by_now(slot);
  return event;
}

/* The proxy looks into its ring before it takes any bytes, and no event is of use before. So it is only woken where nobody has
   looked for long: an interrupt for each event would cost more than all the rest. */
static __always_inline __u64 fb_wakeup(void* ring) {
  __u64 waiting = ring ? bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) : 0;
  return waiting > FB_RING_BYTES / 8 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline void fb_submit(struct fb_event* event) {
  __u32 slot = event->slot;
  bpf_ringbuf_submit(event, fb_wakeup(bpf_map_lookup_elem(&fb_rings, &slot)));
}
