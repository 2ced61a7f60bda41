// Who writes to redirected connections, who reads inbound ones, and which processes are attached.
//
// Each question has several programs, of which the loader attaches the first that the kernel allows:
//   who writes   fb_write_tp      tcp_sendmsg_locked (6.16+)       all three run in the task that writes,
//                fb_write_fentry  the same place, where trampolines are allowed       before its bytes
//                fb_write_msg     sk_msg, on redirected sockets only (fb_write_join)  can be read
//   who reads    fb_read_length   sock_recv_length (6.3+)
//                fb_read_space    tcp_rcv_space_adjust: size is 0, and bytes that were only looked at count
// Where an inbound connection is only watched, fb_write_tp and fb_read_length tell its bytes (watch.bpf.h), and fb_watch_end its end.
// Of a socket of nobody who is attached, a program does one look, at the socket's storage or into an array.
#include "vmlinux.h"
// The types come first.
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "go_tasks.bpf.h"
#include "maps.bpf.h"
#include "ring.bpf.h"
#include "sockets.bpf.h"
#include "watch.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PEEK 2      /* MSG_PEEK */
#define TRUNC 0x20  /* MSG_TRUNC: the bytes are thrown away */

/* For fb_write_msg: the redirected sockets, by their cookie. */
struct {
  __uint(type, BPF_MAP_TYPE_SOCKHASH);
  __uint(max_entries, 65536);
  __type(key, __u64);
  __type(value, __u64);
} fb_writers SEC(".maps");

/* A task that no other event names, for a goroutine whose number cannot be read: better no cause than
   that of whoever has the thread next. */
static __always_inline __u64 unknown_task(void) {
  return bpf_ktime_get_ns() | (1ull << 63);
}

/* 0: the thread is the task. */
static __always_inline __u64 running_task(__u32 tgid) {
  struct fb_tasks* tasks = bpf_map_lookup_elem(&fb_tasks_of, &tgid);
  if (!tasks) return 0;
  if (!tasks->goid) return unknown_task();
  struct task_struct* thread = bpf_get_current_task_btf();
  __u64 g = 0, goid = 0;
  if (bpf_probe_read_user(&g, sizeof g, (void*)(thread->thread.fsbase + tasks->g_from_fs)) || !g)
    return unknown_task();
  if (bpf_probe_read_user(&goid, sizeof goid, (void*)(g + tasks->goid)) || !goid)
    return unknown_task();
  return goid;
}

/* What both ends say of a connection is derived from what never changes: bytes_acked counts the SYN of the
   side that connects. */
static __always_inline __u32 written_before(struct tcp_sock* tp) {
  return tp->write_seq - (tp->snd_una - (__u32)tp->bytes_acked) - 1;
}

static __always_inline __u32 read_by_now(struct tcp_sock* tp) {
  return tp->copied_seq - (tp->rcv_nxt - (__u32)tp->bytes_received);
}

static __always_inline void describe_stack(struct fb_event* event, long bytes) {
  event->frames = bytes < 0 ? 0 : (__u64)bytes / sizeof event->stack[0];
  if (event->frames <= 2) event->flags |= FB_NO_FRAME_POINTERS;
}

static __always_inline void set_caller(struct fb_event* event, struct fb_go_call* call) {
  event->task = fb_go_origin(event->tgid, call->task, &event->stream);
  event->call = call->number;
  event->frames = call->frames;
  bpf_probe_read_kernel(event->stack, sizeof event->stack, call->stack);
}

/* In a Go program: who asked for what the goroutine writes, with its call stack. 0: nobody that is known, and the stack of
   the writer counts. */
static __always_inline int describe_caller(struct fb_event* event) {
  if (!event->task) return 0;
  struct fb_go_writer* row = fb_go_writer_of(event->tgid, event->task);
  if (!row || row->call == FB_GO_NOBODY) {
    if (row) event->call = FB_NO_REQUEST;
    event->task = fb_go_origin(event->tgid, event->task, &event->stream);
    return 0;
  }
  struct fb_go_call* call = 0;
  if (!row->gathers)
    call = fb_go_call_of(event->tgid, row->call);
  else if (fb_go_knows_parts(row, event->size) && row->parts[0].at == 0)
    call = fb_go_call_of(event->tgid, row->parts[0].call);
  if (!call) return 0;
  set_caller(event, call);
  return 1;
}

/* The first event of a write has this of the others, which say who asked for its later parts. */
struct write {
  struct fb_address local, remote;
  __u64 task;
  __u32 tgid, slot, position, size;
};

static __always_inline struct write write_of(struct fb_event* event) {
  struct write all = {.local = event->local,
                      .remote = event->remote,
                      .task = event->task,
                      .tgid = event->tgid,
                      .slot = event->slot,
                      .position = event->position,
                      .size = event->size};
  return all;
}

static __always_inline void describe_parts(struct write* all) {
  struct fb_go_writer* row = all->task ? fb_go_writer_of(all->tgid, all->task) : 0;
  if (!row || !row->gathers) return;
  for (__u32 i = 0; i < FB_GO_PARTS && fb_go_knows_parts(row, all->size); ++i) {
    __u32 at = row->parts[i].at;
    if (i >= row->count || at >= all->size) break;
    if (at == 0) continue; /* said already */
    struct fb_event* event = fb_begin(FB_WRITE, all->slot, sizeof *event);
    if (!event) break;
    event->local = all->local;
    event->remote = all->remote;
    event->position = all->position + at;
    event->size = all->size - at;
    event->task = all->task;
    struct fb_go_call* call = fb_go_call_of(all->tgid, row->parts[i].call);
    if (call) set_caller(event, call);
    fb_submit(event);
  }
  fb_go_written(row, all->size);
}

/* A call that writes more than fits comes here for each of its parts: their end and their writer are the
   same, and are said once. Null: nothing is to be said. */
static __always_inline struct fb_event* begin_write(struct fb_outbound* out, struct tcp_sock* tp,
                                                     __u32 size) {
  struct sock* sk = (struct sock*)tp;
  if (sk->__sk_common.skc_state != TCP_ESTABLISHED || !size) return 0;
  __u64 both = bpf_get_current_pid_tgid(), task = running_task(both >> 32);
  __u64 writer = task ? task : both;
  __u32 position = written_before(tp);
  if (out->writer == writer && out->end == position + size) return 0;
  struct fb_event* event = fb_begin(FB_WRITE, out->slot, sizeof *event);
  if (!event) return 0;
  out->writer = writer;
  out->end = position + size;
  event->task = task;
  fb_ends(sk, &event->local, &event->remote);
  event->position = position;
  event->size = size;
  return event;
}

/* The slot of which this is an inbound connection, in a process of it; null: none. */
static __always_inline __u32* served_slot(struct sock* sk) {
  __u16 port = sk->__sk_common.skc_num;
  __u32 at = port;
  __u8* served = bpf_map_lookup_elem(&fb_served, &at);
  if (!served || !*served) return 0;
  __u32 tgid = bpf_get_current_pid_tgid() >> 32;
  __u32* slot = bpf_map_lookup_elem(&fb_tgids, &tgid);
  __u32* serving = slot ? bpf_map_lookup_elem(&fb_ports, &port) : 0;
  return serving && *serving == *slot ? slot : 0;
}

/* An accepted connection's bytes_acked counts no SYN (see written_before). */
static __always_inline int watched_write(struct sock* sk, struct msghdr* msg) {
  __u32* slot = served_slot(sk);
  if (!slot || !fb_is_watched(*slot) || sk->__sk_common.skc_state == TCP_LISTEN) return 0;
  struct tcp_sock* tp = bpf_skc_to_tcp_sock(sk);
  __u32 size = msg->msg_iter.count;
  struct fb_watched* row = tp && size ? bpf_sk_storage_get(&fb_watched, tp, 0, BPF_SK_STORAGE_GET_F_CREATE) : 0;
  if (!row) return 0;
  __u32 position = written_before(tp) + 1;
  if (row->written && row->end == position + size) return 0;
  struct fb_call call;
  if (!fb_begin_call(&call, FB_ANSWERS, *slot, tp)) return 0;
  row->written = 1;
  row->end = position + size;
  call.event->position = position;
  fb_tell_written(&call, &msg->msg_iter, size);
  return 0;
}

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(fb_write_tp, struct sock* sk, struct msghdr* msg) {
  struct fb_outbound* out = bpf_sk_storage_get(&fb_outbound, sk, 0, 0);
  if (!out) return watched_write(sk, msg);
  struct tcp_sock* tp = bpf_skc_to_tcp_sock(sk);
  struct fb_event* event = tp ? begin_write(out, tp, msg->msg_iter.count) : 0;
  if (!event) return 0;
  struct write all = write_of(event);
  if (!describe_caller(event))
    describe_stack(event, bpf_get_stack(ctx, event->stack, sizeof event->stack, BPF_F_USER_STACK));
  fb_submit(event);
  describe_parts(&all);
  return 0;
}

SEC("fentry/tcp_sendmsg_locked")
int BPF_PROG(fb_write_fentry, struct sock* sk, struct msghdr* msg, __u64 size) {
  struct fb_outbound* out = bpf_sk_storage_get(&fb_outbound, sk, 0, 0);
  struct tcp_sock* tp = out ? bpf_skc_to_tcp_sock(sk) : 0;
  struct fb_event* event = tp ? begin_write(out, tp, size) : 0;
  if (!event) return 0;
  struct write all = write_of(event);
  if (!describe_caller(event))
    describe_stack(event, bpf_get_stack(ctx, event->stack, sizeof event->stack, BPF_F_USER_STACK));
  fb_submit(event);
  describe_parts(&all);
  return 0;
}

/* As bpf_get_task_stack() does it, which a program of this kind may not call on older kernels (6.1 is one). */
static __always_inline long walk_stack(__u64* stack) {
  struct pt_regs* user = (struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  __u64 frame[2] = {user->bp, 0}; /* that of the caller, and where it goes on */
  long bytes = sizeof *stack;
  stack[0] = user->ip;
  for (int i = 1; i < FB_FRAMES; ++i) {
    if (bpf_probe_read_user(frame, sizeof frame, (void*)frame[0])) break;
    stack[i] = frame[1];
    bytes += sizeof *stack;
  }
  return bytes;
}

SEC("sk_msg")
int fb_write_msg(struct sk_msg_md* msg) {
  struct bpf_sock* sk = msg->sk;
  struct tcp_sock* tp = sk ? bpf_skc_to_tcp_sock(sk) : 0;
  struct fb_outbound* out = tp ? bpf_sk_storage_get(&fb_outbound, tp, 0, 0) : 0;
  struct fb_event* event = out ? begin_write(out, tp, msg->size) : 0;
  if (!event) return SK_PASS;
  struct write all = write_of(event);
  if (!describe_caller(event)) describe_stack(event, walk_stack(event->stack));
  fb_submit(event);
  describe_parts(&all);
  return SK_PASS;
}

SEC("sockops")
int fb_write_join(struct bpf_sock_ops* s) {
  if (s->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB) return 1;
  struct bpf_sock* sk = s->sk;
  if (!sk || !bpf_sk_storage_get(&fb_outbound, sk, 0, 0)) return 1;
  __u64 cookie = bpf_get_socket_cookie(s);
  bpf_sock_hash_update(s, &fb_writers, &cookie, BPF_NOEXIST);
  return 1;
}

static __always_inline int watched_read(struct tcp_sock* tp, __u32 slot, __u64 task, __u32 size, int flags) {
  struct fb_call call;
  if (!fb_begin_call(&call, FB_REQUESTS, slot, tp)) return 0;
  call.event->task = task;
  call.event->position = read_by_now(tp) - size;
  if (flags & TRUNC)
    fb_tell(&call, 0, size);
  else
    fb_tell_read(&call, size);
  return 0;
}

/* `size`: 0 is not known. */
static __always_inline int has_read(struct sock* sk, __u32 size, int flags) {
  __u32* slot = served_slot(sk);
  struct tcp_sock* tp = slot ? bpf_skc_to_tcp_sock(sk) : 0;
  if (!tp) return 0;
  __u32 tgid = bpf_get_current_pid_tgid() >> 32;
  __u64 task = running_task(tgid);
  if (task) fb_go_has_read(tgid, task);
  if (size && fb_is_watched(*slot)) return watched_read(tp, *slot, task, size, flags);
  struct fb_event* event = fb_begin(FB_READ, *slot, FB_EVENT_HEAD);
  if (!event) return 0;
  event->task = task;
  fb_ends(sk, &event->local, &event->remote);
  event->position = read_by_now(tp) - size;
  event->size = size;
  fb_submit(event);
  return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(fb_read_length, struct sock* sk, int size, int flags) {
  return size <= 0 || (flags & PEEK) ? 0 : has_read(sk, size, flags);
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(fb_read_space, struct sock* sk) {
  return has_read(sk, 0, 0);
}

/* Who reads the last bytes may be nobody who is attached, so that only the port tells. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(fb_watch_end, struct sock* sk, int before, int now) {
  if ((before != TCP_ESTABLISHED && before != TCP_CLOSE_WAIT) || now == TCP_CLOSE_WAIT) return 0;
  __u16 port = sk->__sk_common.skc_num;
  __u32 at = port;
  __u8* served = bpf_map_lookup_elem(&fb_served, &at);
  __u32* slot = served && *served ? bpf_map_lookup_elem(&fb_ports, &port) : 0;
  if (!slot || !fb_is_watched(*slot)) return 0;
  struct fb_event* event = fb_begin(FB_CLOSED, *slot, FB_EVENT_HEAD);
  if (!event) return 0;
  fb_ends(sk, &event->local, &event->remote);
  fb_submit(event);
  return 0;
}

static __always_inline void tell(__u32 kind, __u32 tgid) {
  struct fb_news* news = bpf_ringbuf_reserve(&fb_news, sizeof *news, 0);
  if (!news) return;
  news->kind = kind;
  news->tgid = tgid;
  news->cookie = 0;
  bpf_ringbuf_submit(news, 0);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(fb_fork, struct task_struct* parent, struct task_struct* child) {
  __u32 tgid = child->tgid, from = parent->tgid;
  if (child->pid != tgid) return 0; /* a thread */
  __u32* slot = bpf_map_lookup_elem(&fb_tgids, &from);
  if (!slot) return 0;
  __u32 number = *slot;
  if (bpf_map_update_elem(&fb_tgids, &tgid, &number, BPF_ANY)) return 0;
  struct fb_tasks* tasks = bpf_map_lookup_elem(&fb_tasks_of, &from);
  if (tasks) {
    struct fb_tasks copy = *tasks;
    bpf_map_update_elem(&fb_tasks_of, &tgid, &copy, BPF_ANY);
  }
  tell(FB_FORKED, tgid);
  return 0;
}

/* Another program runs in the process from now on: where its goroutines are is not known yet, and its addresses mean
   something else. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(fb_exec, struct task_struct* task) {
  __u32 tgid = task->tgid;
  __u32* slot = bpf_map_lookup_elem(&fb_tgids, &tgid);
  if (!slot) return 0;
  __u32 number = *slot;
  if (bpf_map_lookup_elem(&fb_tasks_of, &tgid)) bpf_map_delete_elem(&fb_tasks_of, &tgid);
  struct fb_event* event = fb_begin(FB_EXIT, number, FB_EVENT_HEAD);
  if (event) fb_submit(event);
  tell(FB_EXECED, tgid);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(fb_exit, struct task_struct* task) {
  __u32 tgid = task->tgid;
  __u32* slot = bpf_map_lookup_elem(&fb_tgids, &tgid);
  if (!slot || task->signal->live.counter) return 0; /* other threads live on */
  __u32 number = *slot;
  bpf_map_delete_elem(&fb_tgids, &tgid);
  bpf_map_delete_elem(&fb_tasks_of, &tgid);
  struct fb_event* event = fb_begin(FB_EXIT, number, FB_EVENT_HEAD);
  if (event) fb_submit(event);
  tell(FB_ENDED, tgid);
  return 0;
}
