// What a kernel socket says of its addresses.
#pragma once

#include "attached.h"

#define FB_AF_INET 2
#define FB_AF_INET6 10

static __always_inline void fb_mapped(struct fb_address* to, __u32 ip4, __u16 port) {
  *(__u64*)to->ip = 0;
  *(__u32*)(to->ip + 8) = bpf_htonl(0xffff);
  *(__u32*)(to->ip + 12) = ip4;
  to->port = port;
  to->unused = 0;
}

static __always_inline void fb_ends(struct sock* sk, struct fb_address* local,
                                    struct fb_address* remote) {
  __u16 num = sk->__sk_common.skc_num, dport = bpf_ntohs(sk->__sk_common.skc_dport);
  if (sk->__sk_common.skc_family == FB_AF_INET6) {
    __builtin_memcpy(local->ip, sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8, 16);
    __builtin_memcpy(remote->ip, sk->__sk_common.skc_v6_daddr.in6_u.u6_addr8, 16);
    local->port = num;
    remote->port = dport;
    local->unused = remote->unused = 0;
  } else {
    fb_mapped(local, sk->__sk_common.skc_rcv_saddr, num);
    fb_mapped(remote, sk->__sk_common.skc_daddr, dport);
  }
}
