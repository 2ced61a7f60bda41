// Uprobes in Go programs that are attached, and in no others: who asks for a call, who writes it, and who started whom.
// bpf/loader/go/sites.cc has the places. At the entry of a function its arguments are in AX, BX, CX, DI, SI, R8 ...,
// and R14 is g (cmd/compile, abi-internal.md); an interface takes two of them. Where a function returns, there is a probe
// at each of its return instructions: Go moves stacks, so that a changed return address would be followed into nothing.
#include "vmlinux.h"
// The types come first.
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "go_http.bpf.h"
#include "go_tasks.bpf.h"
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* A thread that starts a goroutine -> the goroutine that wanted it. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, __u64);
  __type(value, __u64);
} fb_go_starting SEC(".maps");

/* A server's connection of gRPC -> the goroutine that reads it. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, struct fb_go_key);
  __type(value, __u64);
} fb_go_transports SEC(".maps");

/* A goroutine that reads the answers of a connection of HTTP/1.1 -> the connection. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct fb_go_key);
  __type(value, __u64);
} fb_go_readers SEC(".maps");

/* A goroutine that is in RoundTrip of HTTP/2: the first one that it starts there sends the request. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, struct fb_go_key);
  __type(value, __u32);
} fb_go_sending SEC(".maps");

/* A call is larger than the stack of a BPF program. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct fb_go_call);
} fb_go_scratch SEC(".maps");

static __always_inline __u32 own_tgid(void) {
  return bpf_get_current_pid_tgid() >> 32;
}

/* 0: not known. */
static __always_inline __u64 number_of(__u32 tgid, __u64 g) {
  struct fb_tasks* tasks = bpf_map_lookup_elem(&fb_tasks_of, &tgid);
  __u64 number = 0;
  if (!tasks || !g || bpf_probe_read_user(&number, sizeof number, (void*)(g + tasks->goid)))
    return 0;
  return number;
}

static __always_inline __u64 running(struct pt_regs* ctx, __u32 tgid) {
  return number_of(tgid, ctx->r14);
}

/* At the entry of a function no frame is made yet: the return address is on top of the stack, and the walk by frame
   pointers begins with the caller's caller. */
static __always_inline void note_call(struct pt_regs* ctx, __u32 tgid, __u64 key_number, int at_entry,
                                      __u64 number) {
  __u32 zero = 0;
  struct fb_go_call* call = bpf_map_lookup_elem(&fb_go_scratch, &zero);
  __u64 task = running(ctx, tgid);
  if (!call || !task) return;
  call->task = task;
  call->number = number;
  long bytes = bpf_get_stack(ctx, call->stack, sizeof call->stack, BPF_F_USER_STACK);
  call->frames = bytes < 0 ? 0 : (__u64)bytes / sizeof call->stack[0];
  __u64 back = 0;
  /* The first frame is the function itself, which is always the same: the caller takes its place, unless the
     kernel has found it by itself. */
  if (at_entry && call->frames > 0 && !bpf_probe_read_user(&back, sizeof back, (void*)ctx->sp) &&
      call->stack[1] != back)
    call->stack[0] = back;
  struct fb_go_key key = fb_go_key(tgid, key_number);
  bpf_map_update_elem(&fb_go_calls, &key, call, BPF_ANY);
}

static __always_inline void set_writer(__u32 tgid, __u64 task, __u64 call) {
  struct fb_go_key key = fb_go_key(tgid, task);
  struct fb_go_writer row = {.call = call};
  bpf_map_update_elem(&fb_go_writers, &key, &row, BPF_ANY);
}

static __always_inline void forget_writer(__u32 tgid, __u64 task) {
  struct fb_go_key key = fb_go_key(tgid, task);
  bpf_map_delete_elem(&fb_go_writers, &key);
}

/* net/http.(*persistConn).roundTrip(connection, request), in the goroutine that calls. A transportRequest begins with its
   *Request. */
SEC("uprobe")
int fb_go_round_trip(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  __u64 request = 0;
  bpf_probe_read_user(&request, sizeof request, (void*)ctx->bx);
  const __u64 number = fb_go_tell_call(tgid, running(ctx, tgid), request, FB_TOLD_HTTP1);
  note_call(ctx, tgid, ctx->ax, 1, number);
  return 0;
}

/* net/http.(*persistConn).readLoop, once for each connection */
SEC("uprobe")
int fb_go_read_loop(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  struct fb_go_key key = fb_go_key(tgid, running(ctx, tgid));
  __u64 connection = ctx->ax;
  if (key.number) bpf_map_update_elem(&fb_go_readers, &key, &connection, BPF_ANY);
  return 0;
}

/* Each return of net/http.(*persistConn).readResponse, in that goroutine: before anybody has the answer, and before the
   connection could be closed for it. After an error it is closed. */
SEC("uprobe")
int fb_go_read(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  struct fb_go_key key = fb_go_key(tgid, running(ctx, tgid));
  __u64* connection = bpf_map_lookup_elem(&fb_go_readers, &key);
  struct fb_go_call* call = connection && ctx->ax ? fb_go_call_of(tgid, *connection) : 0;
  if (call && call->number) fb_go_tell_answer(tgid, key.number, call->number, ctx->ax);
  return 0;
}

/* net/http.(*persistConn).writeLoop, once for each connection */
SEC("uprobe")
int fb_go_write_loop(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  __u64 task = running(ctx, tgid);
  if (task) set_writer(tgid, task, ctx->ax);
  return 0;
}

/* RoundTrip(connection, request) of a connection of HTTP/2, in the goroutine that calls. Go 1.17 writes the request there,
   and later versions in the first goroutine that is started there. */
SEC("uprobe")
int fb_go_http2_call(struct pt_regs* ctx) {
  __u32 tgid = own_tgid(), one = 1;
  __u64 task = running(ctx, tgid);
  if (!task) return 0;
  const __u64 number = fb_go_tell_call(tgid, task, ctx->bx, FB_TOLD_HTTP2);
  note_call(ctx, tgid, task | FB_GO_GOROUTINE, 1, number);
  set_writer(tgid, task, task | FB_GO_GOROUTINE);
  struct fb_go_key key = fb_go_key(tgid, task);
  bpf_map_update_elem(&fb_go_sending, &key, &one, BPF_ANY);
  return 0;
}

/* and each of its returns */
SEC("uprobe")
int fb_go_http2_answered(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  __u64 task = running(ctx, tgid);
  struct fb_go_key key = fb_go_key(tgid, task);
  bpf_map_delete_elem(&fb_go_sending, &key);
  forget_writer(tgid, task);
  struct fb_go_call* call = fb_go_call_of(tgid, task | FB_GO_GOROUTINE);
  if (call && call->number) fb_go_tell_answer(tgid, task, call->number, ctx->ax);
  return 0;
}

/* newClientConn of HTTP/2, which sends what a connection begins with; and readLoop, once for each connection, which
   answers what is no answer */
SEC("uprobe")
int fb_go_http2_own(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  __u64 task = running(ctx, tgid);
  if (task) set_writer(tgid, task, FB_GO_NOBODY);
  return 0;
}

/* Each return of newClientConn */
SEC("uprobe")
int fb_go_http2_begun(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  forget_writer(tgid, running(ctx, tgid));
  return 0;
}

/* In transport.(*http2Client).NewStream of gRPC, where it puts the header item into the buffer of the goroutine that writes:
   executeAndPut(buffer, function, item), the item an interface */
SEC("uprobe")
int fb_go_grpc_call(struct pt_regs* ctx) {
  note_call(ctx, own_tgid(), ctx->di, 0, 0);
  return 0;
}

/* transport.(*loopyWriter).headerHandler(item): its header is the next that goes into the buffer */
SEC("uprobe")
int fb_go_grpc_header(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  __u64 task = running(ctx, tgid);
  /* A server's answers pass here, too. */
  struct fb_go_writer* row = task && fb_go_call_of(tgid, ctx->bx) ? fb_go_writer_of(tgid, task) : 0;
  if (!row || !row->gathers) return 0;
  __u32 place = row->count;
  if (place < FB_GO_PARTS) {
    row->parts[place].call = ctx->bx;
    row->parts[place].at = row->bytes;
  }
  if (place <= FB_GO_PARTS) row->count = place + 1;
  return 0;
}

/* transport.(*bufWriter).Write(bytes), a frame each */
SEC("uprobe")
int fb_go_grpc_frame(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  __u64 task = running(ctx, tgid);
  if (!task) return 0;
  struct fb_go_key key = fb_go_key(tgid, task);
  struct fb_go_writer* row = bpf_map_lookup_elem(&fb_go_writers, &key);
  if (row) {
    row->bytes += (__u32)ctx->cx;
    return 0;
  }
  struct fb_go_writer fresh = {.gathers = 1, .bytes = (__u32)ctx->cx};
  bpf_map_update_elem(&fb_go_writers, &key, &fresh, BPF_ANY);
  return 0;
}

/* transport.(*http2Server).HandleStreams: the goroutine reads this connection until it ends */
SEC("uprobe")
int fb_go_grpc_serve(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  __u64 task = running(ctx, tgid);
  struct fb_go_key key = fb_go_key(tgid, ctx->ax);
  if (task) bpf_map_update_elem(&fb_go_transports, &key, &task, BPF_ANY);
  return 0;
}

/* grpc.(*Server).handleStream(server, transport, stream): the transport is an interface */
SEC("uprobe")
int fb_go_grpc_begin(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  __u64 task = running(ctx, tgid);
  struct fb_go_key transport = fb_go_key(tgid, ctx->cx), key = fb_go_key(tgid, task);
  __u64* reader = bpf_map_lookup_elem(&fb_go_transports, &transport);
  if (!task || !reader) return 0;
  struct fb_go_handler row = {.reader = *reader};
  /* transport.Stream begins with its number, which is odd, and later versions with a pointer, which is not. */
  __u32 number = 0;
  if (!bpf_probe_read_user(&number, sizeof number, (void*)ctx->di) && (number & 1))
    row.stream = number;
  bpf_map_update_elem(&fb_go_handlers, &key, &row, BPF_ANY);
  return 0;
}

/* and each of its returns */
SEC("uprobe")
int fb_go_grpc_end(struct pt_regs* ctx) {
  __u32 tgid = own_tgid();
  struct fb_go_key key = fb_go_key(tgid, running(ctx, tgid));
  bpf_map_delete_elem(&fb_go_handlers, &key);
  return 0;
}

/* runtime.newproc1(function, g of who wants it), on the stack of the thread */
SEC("uprobe")
int fb_go_start(struct pt_regs* ctx) {
  __u64 thread = bpf_get_current_pid_tgid(), parent = number_of(thread >> 32, ctx->bx);
  if (parent)
    bpf_map_update_elem(&fb_go_starting, &thread, &parent, BPF_ANY);
  else
    bpf_map_delete_elem(&fb_go_starting, &thread);
  return 0;
}

/* and each of its returns: the new g is in AX, and does not run yet */
SEC("uprobe")
int fb_go_started(struct pt_regs* ctx) {
  __u64 thread = bpf_get_current_pid_tgid();
  __u32 tgid = thread >> 32;
  __u64* parent = bpf_map_lookup_elem(&fb_go_starting, &thread);
  __u64 child = number_of(tgid, ctx->ax);
  if (!parent || !child) return 0;
  struct fb_go_key from = fb_go_key(tgid, *parent), key = fb_go_key(tgid, child);
  struct fb_go_parent row = {.task = from.number, .reads = fb_go_reads_of(&from)};
  bpf_map_delete_elem(&fb_go_starting, &thread);
  bpf_map_update_elem(&fb_go_parents, &key, &row, BPF_ANY);
  if (!bpf_map_lookup_elem(&fb_go_sending, &from)) return 0;
  bpf_map_delete_elem(&fb_go_sending, &from);
  struct fb_go_key asked = fb_go_key(tgid, from.number | FB_GO_GOROUTINE);
  struct fb_go_call* call = bpf_map_lookup_elem(&fb_go_calls, &asked);
  if (!call) return 0;
  asked.number = child | FB_GO_GOROUTINE;
  bpf_map_update_elem(&fb_go_calls, &asked, call, BPF_ANY);
  set_writer(tgid, child, asked.number);
  return 0;
}
