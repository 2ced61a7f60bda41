// What the programs of this folder and user space share: the events of a slot, and the keys of its
// maps. Plain C: the programs include it after vmlinux.h, which brings the types.
//
// A slot is one attached service of a session. Whoever attached it gets three maps of it:
//   ring       ring buffer of fb_event. A record is as long as its frames need: at least
//              FB_EVENT_HEAD bytes, `stack` holds `frames` entries, and what would follow is not there.
//   originals  hash: fb_address, the source of an accepted outbound connection -> fb_address, where
//              it wanted to go. The row is there before the connection can be accepted.
//   bypass     hash: __u16, a source port in host order -> __u8 1: connections from it, from this
//              machine, reach the attached process itself. The row is written before connect().
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define FB_SLOTS 64  /* attached services of one session */
#define FB_FRAMES 48 /* of a call stack, at most */

enum fb_kind {
  FB_WRITE = 1, /* a task is about to write to an outbound connection */
  FB_READ = 2,  /* a task has read bytes of an inbound connection; frames is 0 */
  /* The process `tgid` has ended, or runs another program from now on. No addresses, frames is 0. */
  FB_EXIT = 3,
  /* Of Go's net/http, over TLS only: what is asked for cannot be read from the bytes. No addresses, frames is 0. */
  FB_CALL = 4,   /* the request `call` is about to be made; an fb_request follows FB_EVENT_HEAD */
  FB_ANSWER = 5, /* the head of the answer to `call` was read; or, over HTTP/2, there is an error */
  /* Of inbound connections that are only watched, and lead past the proxy. Their bytes follow FB_EVENT_HEAD: all of `size`,
     or the first of them, or none where they cannot be read. frames is 0. */
  FB_REQUESTS = 6, /* a task has read them */
  FB_ANSWERS =
      7, /* a task is about to write them; some may come again, if the kernel did not take them all */
  FB_CLOSED = 8 /* the process writes no more */
};

/* fb_event::call of an FB_WRITE whose bytes belong to no request: what HTTP/2 says of its connection */
#define FB_NO_REQUEST 1ull

/* fb_event::flags */
#define FB_NO_FRAME_POINTERS 1u /* the stack ended after two frames or less: it says little */
#define FB_LOST_SHIFT \
  8 /* above it: how many events of the slot are missing by now (mod 2^24), since the ring was full */

struct fb_address {
  __u8 ip[16]; /* IPv4 as ::ffff:a.b.c.d, network order */
  __u16 port;  /* host order */
  __u16 unused;
};

struct fb_event {
  __u32 kind, slot, tgid, tid;
  __u64 task; /* goroutine number; 0: the thread is the task */
  __u64 time_ns;
  struct fb_address local, remote; /* of the socket, as the attached process's kernel socket has
                                      them: remote of a redirected one is the proxy's listener */
  __u32
      position; /* of an event that has a size: how many bytes (mod 2^32) were written to the connection,
                     or read from it, before this call */
  __u32 size; /* bytes of this call; 0: not known */
  __u32 flags;
  __s32 frames; /* number of entries of stack, innermost first; addresses of user space */
  __u32 stream; /* FB_WRITE: the stream (HTTP/2) of the inbound connection of `task` whose
                             request is worked for; 0: not known */
  __u32 status; /* FB_ANSWER: of HTTP; 0: an error */
  /* FB_WRITE: the request that these bytes are of, or FB_NO_REQUEST; 0: not known. Two requests of a machine
     have different numbers, and the later one the higher. */
  __u64 call;
  __u64 stack[FB_FRAMES]; /* last: see above */
};
#define FB_EVENT_HEAD (sizeof(struct fb_event) - sizeof(((struct fb_event*)0)->stack))

/* A request as net/http is asked for it. Of each text its size stands here, of which at most so many bytes follow. */
#define FB_METHOD 16
#define FB_HOST 256
#define FB_PATH 1024
#define FB_QUERY 1024
/* fb_request::flags */
#define FB_OVER_HTTP2 1u
#define FB_RAW_PATH 2u /* the path is as it is sent; else it is not escaped yet */
struct fb_request {
  __u32 method_size, host_size, path_size, query_size;
  __u32 flags, unused;
  char method[FB_METHOD]; /* empty: GET */
  char host[FB_HOST];     /* of the URL, with its port */
  char path[FB_PATH];
  char query[FB_QUERY]; /* as it is sent */
};
