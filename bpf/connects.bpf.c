// Connections that attached processes open: they lead to the outbound listener of their slot's proxy, and
// getpeername() goes on saying where they were to lead. The proxy finds that by the source of the connection.
//
//   fb_connect4, fb_connect6          connect(): where to
//   fb_peername4, fb_peername6        getpeername()
//   fb_source                         the source is chosen: `originals` gets its row, before the SYN leaves
//
// A connect stays as it is if it leads to a port of the daemon or of a proxy, or to an address of this
// machine's loopback where nobody listens, so that it is refused as ever.
#include "vmlinux.h"
// The types come first.
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.bpf.h"
#include "sockets.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define LOOPBACK4 bpf_htonl(0x7f000001)

/* The slot of the process that calls; null: it is not attached. */
static __always_inline struct fb_slot *slot_of_caller(__u32 *number) {
  __u32 tgid = bpf_get_current_pid_tgid() >> 32;
  __u32 *found = bpf_map_lookup_elem(&fb_tgids, &tgid);
  if (!found) return 0;
  *number = *found;
  struct fb_slot *slot = bpf_map_lookup_elem(&fb_slots, number);
  return slot && slot->active ? slot : 0;
}

static __always_inline int may_redirect(struct bpf_sock_addr *c, struct bpf_sock *sk) {
  return c->type == SOCK_STREAM && c->protocol == IPPROTO_TCP && c->user_port && !sk->bound_dev_if;
}

static __always_inline int spared(__u16 port) { return bpf_map_lookup_elem(&fb_spared, &port) != 0; }

static __always_inline int listens4(struct bpf_sock_addr *c, __u32 ip, __u16 port) {
  struct bpf_sock_tuple tuple = {};
  tuple.ipv4.saddr = LOOPBACK4;
  tuple.ipv4.daddr = ip;
  tuple.ipv4.dport = port;
  struct bpf_sock *sk = bpf_sk_lookup_tcp(c, &tuple, sizeof tuple.ipv4, BPF_F_CURRENT_NETNS, 0);
  if (!sk) return 0;
  bpf_sk_release(sk);
  return 1;
}

static __always_inline int listens6(struct bpf_sock_addr *c, __u16 port) {
  struct bpf_sock_tuple tuple = {};
  tuple.ipv6.saddr[3] = tuple.ipv6.daddr[3] = bpf_htonl(1);
  tuple.ipv6.dport = port;
  struct bpf_sock *sk = bpf_sk_lookup_tcp(c, &tuple, sizeof tuple.ipv6, BPF_F_CURRENT_NETNS, 0);
  if (!sk) return 0;
  bpf_sk_release(sk);
  return 1;
}

/* True if the socket is marked as redirected. */
static __always_inline int mark(struct bpf_sock *sk, const struct fb_address *wanted, __u32 slot) {
  struct fb_outbound *out = bpf_sk_storage_get(&fb_outbound, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
  if (!out) return 0;
  out->wanted = *wanted;
  out->slot = slot;
  out->end = 0;
  out->writer = 0;
  return 1;
}

/* A socket may be connected again, after it was refused, to where we do not redirect it. */
static __always_inline int as_it_is(struct bpf_sock *sk) {
  bpf_sk_storage_delete(&fb_outbound, sk);
  return 1;
}

/* The listener's port for a connection to ip:port (network order); 0: it stays as it is. */
static __always_inline __u16 redirect4(struct bpf_sock_addr *c, struct bpf_sock *sk,
                                       struct fb_slot *slot, __u32 number, __u32 ip, __u16 port) {
  if (!slot->outbound4) return 0;
  if (!ip) ip = LOOPBACK4; /* as the kernel takes it */
  if ((bpf_ntohl(ip) >> 24) == 127 && (spared(bpf_ntohs(port)) || !listens4(c, ip, port))) return 0;
  struct fb_address wanted;
  fb_mapped(&wanted, ip, bpf_ntohs(port));
  return mark(sk, &wanted, number) ? slot->outbound4 : 0;
}

SEC("cgroup/connect4")
int fb_connect4(struct bpf_sock_addr *c) {
  __u32 number;
  struct fb_slot *slot = slot_of_caller(&number);
  struct bpf_sock *sk = c->sk;
  if (!slot || !sk) return 1;
  if (!may_redirect(c, sk)) return as_it_is(sk);
  __u16 to = redirect4(c, sk, slot, number, c->user_ip4, c->user_port);
  if (!to) return as_it_is(sk);
  c->user_ip4 = LOOPBACK4;
  c->user_port = bpf_htons(to);
  return 1;
}

SEC("cgroup/connect6")
int fb_connect6(struct bpf_sock_addr *c) {
  __u32 number;
  struct fb_slot *slot = slot_of_caller(&number);
  struct bpf_sock *sk = c->sk;
  if (!slot || !sk) return 1;
  if (!may_redirect(c, sk)) return as_it_is(sk);
  __u32 ip[4] = {c->user_ip6[0], c->user_ip6[1], c->user_ip6[2], c->user_ip6[3]};
  __u16 port = c->user_port;
  if (!ip[0] && !ip[1] && ip[2] == bpf_htonl(0xffff)) {
    __u16 to = redirect4(c, sk, slot, number, ip[3], port);
    if (!to) return as_it_is(sk);
    c->user_ip6[3] = LOOPBACK4;
    c->user_port = bpf_htons(to);
    return 1;
  }
  if (!slot->outbound6) return as_it_is(sk);
  if (!ip[0] && !ip[1] && !ip[2] && !ip[3]) ip[3] = bpf_htonl(1);
  int loopback = !ip[0] && !ip[1] && !ip[2] && ip[3] == bpf_htonl(1);
  if (loopback && (spared(bpf_ntohs(port)) || !listens6(c, port))) return as_it_is(sk);
  struct fb_address wanted = {};
  __builtin_memcpy(wanted.ip, ip, sizeof wanted.ip);
  wanted.port = bpf_ntohs(port);
  if (!mark(sk, &wanted, number)) return 1;
  c->user_ip6[0] = c->user_ip6[1] = c->user_ip6[2] = 0;
  c->user_ip6[3] = bpf_htonl(1);
  c->user_port = bpf_htons(slot->outbound6);
  return 1;
}

static __always_inline struct fb_outbound *redirected(struct bpf_sock_addr *c) {
  struct bpf_sock *sk = c->sk;
  return sk ? bpf_sk_storage_get(&fb_outbound, sk, 0, 0) : 0;
}

SEC("cgroup/getpeername4")
int fb_peername4(struct bpf_sock_addr *c) {
  struct fb_outbound *out = redirected(c);
  if (!out) return 1;
  c->user_ip4 = *(__u32 *)(out->wanted.ip + 12);
  c->user_port = bpf_htons(out->wanted.port);
  return 1;
}

SEC("cgroup/getpeername6")
int fb_peername6(struct bpf_sock_addr *c) {
  struct fb_outbound *out = redirected(c);
  if (!out) return 1;
  const __u32 *ip = (const __u32 *)out->wanted.ip;
  c->user_ip6[0] = ip[0];
  c->user_ip6[1] = ip[1];
  c->user_ip6[2] = ip[2];
  c->user_ip6[3] = ip[3];
  c->user_port = bpf_htons(out->wanted.port);
  return 1;
}

SEC("sockops")
int fb_source(struct bpf_sock_ops *s) {
  if (s->op != BPF_SOCK_OPS_TCP_CONNECT_CB) return 1;
  struct bpf_sock *sk = s->sk;
  if (!sk) return 1;
  struct fb_outbound *out = bpf_sk_storage_get(&fb_outbound, sk, 0, 0);
  if (!out) return 1;
  __u32 ip[4] = {s->local_ip6[0], s->local_ip6[1], s->local_ip6[2], s->local_ip6[3]};
  __u32 ip4 = s->local_ip4;
  /* A field is read where it is named: the verifier refuses a choice between their addresses. */
  barrier_var(ip4);
  barrier_var(ip[3]);
  struct fb_address source = {};
  /* The proxy accepts a connection to a mapped address at its IPv4 listener. */
  if (s->family == FB_AF_INET) {
    fb_mapped(&source, ip4, s->local_port);
  } else {
    __builtin_memcpy(source.ip, ip, sizeof source.ip);
    source.port = s->local_port;
  }
  __u32 slot = out->slot;
  void *originals = bpf_map_lookup_elem(&fb_originals, &slot);
  if (originals) bpf_map_update_elem(originals, &source, &out->wanted, BPF_ANY);
  return 1;
}
