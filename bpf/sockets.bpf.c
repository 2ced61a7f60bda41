// The connections that were open before their process was attached, and still are: for each the iterator
// writes a struct fb_listed. It walks the network namespace of whoever opens it.
#include "vmlinux.h"
// The types come first.
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "maps.bpf.h"
#include "sockets.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct fb_listed {
  struct fb_kept kept;
  struct fb_address local, remote;
  __u32 copied, unread; /* tcp_sock.copied_seq, and what has come behind it */
};

SEC("iter/tcp")
int fb_list(struct bpf_iter__tcp *ctx) {
  struct sock_common *common = ctx->sk_common;
  struct tcp_sock *tp = common ? bpf_skc_to_tcp_sock(common) : 0;
  if (!tp) return 0;
  struct fb_kept *kept = bpf_sk_storage_get(&fb_kept, tp, 0, 0);
  if (!kept) return 0;
  struct sock *sk = (struct sock *)tp;
  __u8 state = sk->__sk_common.skc_state;
  if (state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT) return 0;
  struct fb_listed listed = {.kept = *kept, .copied = tp->copied_seq, .unread = tp->rcv_nxt - tp->copied_seq};
  fb_ends(sk, &listed.local, &listed.remote);
  bpf_seq_write(ctx->meta->seq, &listed, sizeof listed);
  return 0;
}
