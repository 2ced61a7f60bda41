// Connections that attached processes accept: a new one to a port of a slot goes to the inbound listener of
// its proxy. The proxy's own connections to the process, known by their source port, are not steered.
// It runs in the network namespace of the attached processes, before the kernel looks for a listener.
#include "vmlinux.h"
// The types come first.
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.bpf.h"
#include "sockets.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Does it come from this machine? Others may have the same source port. */
static __always_inline int from_here(struct bpf_sk_lookup *c, __u32 family) {
  if (family == FB_AF_INET)
    return c->remote_ip4 == c->local_ip4 || (bpf_ntohl(c->remote_ip4) >> 24) == 127;
  return c->remote_ip6[0] == c->local_ip6[0] && c->remote_ip6[1] == c->local_ip6[1] &&
         c->remote_ip6[2] == c->local_ip6[2] && c->remote_ip6[3] == c->local_ip6[3];
}

SEC("sk_lookup")
int fb_listen(struct bpf_sk_lookup *c) {
  if (c->protocol != IPPROTO_TCP) return SK_PASS;
  __u32 family = c->family;
  __u16 port = c->local_port;
  __u32 *slot = bpf_map_lookup_elem(&fb_ports, &port);
  if (!slot) return SK_PASS;
  __u32 number = *slot;
  void *bypass = bpf_map_lookup_elem(&fb_bypass, &number);
  if (!bypass) return SK_PASS;
  __u16 source = bpf_ntohs(c->remote_port);
  if (from_here(c, family) && bpf_map_lookup_elem(bypass, &source)) return SK_PASS;
  __u32 listener = 2 * number + (family == FB_AF_INET6);
  struct bpf_sock *sk = bpf_map_lookup_elem(&fb_inbound, &listener);
  if (!sk) return SK_PASS;
  bpf_sk_assign(c, sk, 0);
  bpf_sk_release(sk);
  return SK_PASS;
}
