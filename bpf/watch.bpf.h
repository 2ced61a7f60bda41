// The bytes of inbound connections that are only watched, and lead past the proxy: what the attached process has read, and what it
// is about to write. They are copied from its own memory, into which or out of which the kernel moves them in this very call.
#pragma once

#include "attached.h"
#include "maps.bpf.h"
#include "ring.bpf.h"
#include "sockets.bpf.h"

#define FB_PIECE 16384 /* bytes of one event */
#define FB_PIECES 4    /* events of one buffer; what is behind them is told by its size alone */
#define FB_BUFFERS 8   /* of one call (writev); the same holds of what is behind them */

/* Of a connection that is watched: the end of the last call that wrote. The kernel comes by once for each packet. */
struct fb_watched {
  __u32 end;
  __u32 written; /* 1: `end` is known */
};
struct {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct fb_watched);
} fb_watched SEC(".maps");

/* An event is put together here, since its size is not known ahead, and the ring gives room of constant sizes only. Programs of
   tracepoints are not preempted. */
struct fb_bytes {
  char event[FB_EVENT_HEAD + FB_PIECE]; /* struct fb_event, with bytes in the place of its stack */
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct fb_bytes);
} fb_bytes SEC(".maps");

/* The fields of iov_iter that Linux 6.4 named. */
struct iov_iter___fb {
  __u8 iter_type;
  __u64 iov_offset;
  union {
    const struct iovec* __iov;
    void* ubuf;
  };
  __u64 count;
} __attribute__((preserve_access_index));
enum iter_type___fb { ITER_UBUF___fb = 0, ITER_IOVEC___fb = 1 };

/* The call of the attached process that moves bytes. */
struct fb_call {
  struct fb_event* event; /* of fb_bytes; position: of what comes next */
  void* ring;
  __u32 left; /* bytes that were not told yet */
};

/* `size` bytes at `from`, of which those that can be read are told; 0: they cannot be. */
static __noinline void fb_tell(struct fb_call* call, const void* from, __u32 size) {
  struct fb_event* event = call->event;
  __u64 copied = size;
  if (copied > FB_PIECE) copied = FB_PIECE;
  barrier_var(copied);
  if (!from || copied > FB_PIECE || bpf_probe_read_user((char*)event + FB_EVENT_HEAD, copied, from))
    copied = 0;
  __u32 slot = event->slot;
  event->size = size;
  event->flags = fb_lost_by_now(slot);
  if (bpf_ringbuf_output(call->ring, event, FB_EVENT_HEAD + copied, fb_wakeup(call->ring)))
    fb_set_lost(slot);
  event->position += size;
  call->left -= size;
}

static __noinline void fb_tell_buffer(struct fb_call* call, const void* from, __u32 size) {
  for (int i = 0; i < FB_PIECES && size > FB_PIECE; ++i) {
    fb_tell(call, from, FB_PIECE);
    from += FB_PIECE;
    size -= FB_PIECE;
  }
  if (size) fb_tell(call, size > FB_PIECE ? 0 : from, size);
}

/* `user`: the vector is in the memory of the process. `skip`: bytes of its first buffer that do not count. */
static __always_inline void fb_tell_vector(struct fb_call* call, const struct iovec* vector,
                                           int user, __u64 skip) {
  for (int i = 0; i < FB_BUFFERS && call->left; ++i) {
    struct iovec one;
    if (user ? bpf_probe_read_user(&one, sizeof one, vector + i)
             : bpf_probe_read_kernel(&one, sizeof one, vector + i))
      break;
    __u64 size = one.iov_len - skip;
    if (size > call->left) size = call->left;
    if (size) fb_tell_buffer(call, one.iov_base + skip, size);
    skip = 0;
  }
  if (call->left) fb_tell(call, 0, call->left);
}

static __always_inline int fb_is_watched(__u32 slot) {
  struct fb_slot* row = bpf_map_lookup_elem(&fb_slots, &slot);
  return row && row->watched;
}

/* 0: this connection is not watched. One that was open before ends politely (stream.bpf.c). */
static __always_inline int fb_begin_call(struct fb_call* call, __u32 kind, __u32 slot,
                                         struct tcp_sock* tp) {
  __u32 zero = 0;
  struct sock* sk = (struct sock*)tp;
  if (bpf_sk_storage_get(&fb_kept, tp, 0, 0)) return 0;
  call->ring = bpf_map_lookup_elem(&fb_rings, &slot);
  call->event = bpf_map_lookup_elem(&fb_bytes, &zero);
  if (!call->ring || !call->event) return 0;
  fb_describe(call->event, kind, slot);
  fb_ends(sk, &call->event->local, &call->event->remote);
  return 1;
}

#define FB_NR_READ 0
#define FB_NR_READV 19
#define FB_NR_RECVFROM 45
#define FB_NR_RECVMSG 47
#define FB_CS_32_BIT 0x23 /* calls of such a program have other numbers */

/* The last `size` bytes that were read lie where the call wanted them. */
static __always_inline void fb_tell_read(struct fb_call* call, __u32 size) {
  struct pt_regs* user = (struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  const struct iovec* vector = (const struct iovec*)user->si;
  __u64 number = user->cs == FB_CS_32_BIT ? ~0ull : user->orig_ax;
  call->left = size;
  if (number == FB_NR_READ || number == FB_NR_RECVFROM)
    fb_tell_buffer(call, (const void*)user->si, size);
  else if (number == FB_NR_RECVMSG &&
           !bpf_probe_read_user(&vector, sizeof vector,
                                (void*)(user->si + offsetof(struct user_msghdr, msg_iov))))
    fb_tell_vector(call, vector, 1, 0);
  else if (number == FB_NR_READV)
    fb_tell_vector(call, vector, 1, 0);
  else
    fb_tell(call, 0, size);
}

static __always_inline void fb_tell_written(struct fb_call* call, struct iov_iter* iter,
                                            __u32 size) {
  struct iov_iter___fb* from = (void*)iter;
  __u8 type = BPF_CORE_READ(from, iter_type);
  __u64 skip = BPF_CORE_READ(from, iov_offset);
  call->left = size;
  if (type == bpf_core_enum_value(enum iter_type___fb, ITER_UBUF___fb))
    fb_tell_buffer(call, BPF_CORE_READ(from, ubuf) + skip, size);
  else if (type == bpf_core_enum_value(enum iter_type___fb, ITER_IOVEC___fb))
    fb_tell_vector(call, BPF_CORE_READ(from, __iov), 0, skip);
  else
    fb_tell(call, 0, size);
}
