// Connections that were open before their process was attached end politely: when the attached process writes
// its next message, the other end is told that it is the last one of this connection.
//
//   HTTP/1: `Connection: close` stands in the head of the next request or answer (RFC 9112, section 9.6). A
//   `Connection: keep-alive` that is there becomes `close`, after spaces, which mean nothing (and which more
//   programs expect there than behind it).
//   HTTP/2, answers of gRPC: a GOAWAY that excludes no stream stands before the frames of the next write (RFC
//   9113, section 6.8). Clients of other HTTP/2 may fail what is in flight at a GOAWAY, and stay.
//
// Written is only to what is certainly the beginning of a message: the process has read since it wrote last,
// and the text is a first line of HTTP; or two writes in a row were whole frames, to the last byte.
// The loader puts the sockets into the sockhash, and takes them out when FB_SAID tells so: a socket in a
// sockhash is read and written by other code of the kernel.
#include "vmlinux.h"
// The types come first.
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define HEAD 1024 /* bytes of a head that are looked at; a power of two */
#define TRIES 4   /* messages that may begin unlike anything we know */
#define FRAMES 32 /* of one write */
#define GRPC_WRITES 8 /* of HTTP/2, after which it is not gRPC if nothing looked like that */

struct {
  __uint(type, BPF_MAP_TYPE_SOCKHASH);
  __uint(max_entries, 16384);
  __type(key, __u64); /* cookie */
  __type(value, __u64);
} fb_open_before SEC(".maps");

/* What a search through a head finds: offsets, 0: not there. */
struct fb_search {
  __u32 size;
  __u32 line;       /* where the second line begins */
  __u32 line_start; /* of the line that is looked at */
  __u32 connection; /* behind the colon of `Connection:` */
};

/* What a walk over frames finds. */
struct fb_walk {
  __u32 size;
  __u32 offset;
  __s32 end;    /* 1: the write ended with a frame; -1: these are no frames; 0: there may be more */
  __u32 grpc;   /* 1: a DATA frame begins with a message of gRPC */
  __u32 leaves; /* 1: there is a GOAWAY already */
  __u32 first;  /* type of the first frame */
};

/* A copy of the beginning of a write, and how far it was looked at. Of the socket, which is locked while it is written to.
   Never on the stack: kernels before 6.7 (6.1 is one) follow the body of bpf_loop() once, with the values that the stack has
   then, and leave out what cannot be reached by these. */
struct fb_head {
  char text[HEAD];
  struct fb_search search;
  struct fb_walk walk;
};
struct {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct fb_head);
} fb_heads SEC(".maps");

/* What the body of a bpf_loop() gets. */
struct fb_look {
  struct sk_msg_md *m;
  struct fb_head *head;
};

/* Literals, so that there is no map of constants. */
#define CLOSE "Connection: close\r\n"
#define CLOSE_SIZE (sizeof CLOSE - 1)
#define GOAWAY "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00\x00\x00"
#define GOAWAY_SIZE (sizeof GOAWAY - 1)
#define FRAME_HEADER 9

static __always_inline int end_here(struct fb_kept *kept, __u32 spoken, __u32 told) {
  kept->spoken = spoken;
  kept->told = told;
  struct fb_news *news = bpf_ringbuf_reserve(&fb_news, sizeof *news, 0);
  if (!news) return SK_PASS;
  news->kind = FB_SAID;
  news->tgid = 0;
  news->cookie = kept->cookie;
  /* To wake the loader would take the server longer than all the rest. It looks by itself. */
  bpf_ringbuf_submit(news, BPF_RB_NO_WAKEUP);
  return SK_PASS;
}

static __always_inline void count_unseen(struct fb_kept *kept) {
  __u32 slot = kept->slot;
  __u64 *count = bpf_map_lookup_elem(&fb_unseen, &slot);
  if (count) __sync_fetch_and_add(count, 1);
}

/* Does a message begin with the bytes that the process is about to write? */
static __always_inline int begins(struct fb_kept *kept, struct tcp_sock *tp) {
  __u32 copied = tp->copied_seq;
  int fresh = copied != kept->copied;
  if (!kept->joined) {
    __s32 since = tp->inet_conn.icsk_ack.lrcvtime - tp->lsndtime;
    /* One who serves may have sent the head of an answer in the same tick as it got the request. */
    fresh = kept->inbound ? since > 0 : since >= 0;
  }
  kept->joined = 1;
  kept->copied = copied;
  return fresh;
}

static __always_inline char at(const struct fb_head *head, __u32 i) { return head->text[i & (HEAD - 1)]; }
static __always_inline char lower(const struct fb_head *head, __u32 i) { return at(head, i) | 0x20; }

static __always_inline int is_text(const struct fb_head *head, __u32 from, const char *text, int size) {
  for (int k = 0; k < size; k++)
    if (lower(head, from + k) != text[k]) return 0;
  return 1;
}

static long search_byte(__u32 i, struct fb_look *look) {
  struct fb_head *head = look->head;
  struct fb_search *search = &head->search;
  if (i >= search->size) return 1;
  char c = at(head, i);
  if (c == '\n' && i && at(head, i - 1) == '\r') {
    if (i == search->line_start + 1 && search->line) return 1; /* the empty line */
    if (!search->line) search->line = i + 1;
    search->line_start = i + 1;
  } else if (c == ':' && search->line && i == search->line_start + 10 &&
             is_text(head, search->line_start, "connection", 10)) {
    search->connection = i + 1;
    return 1;
  }
  return 0;
}

static __always_inline int is_digit(char c) { return c >= '0' && c <= '9'; }

/* "HTTP/1.1 200 ", and no answer that another one follows. */
static __always_inline int is_answer(const struct fb_head *head) {
  return is_text(head, 0, "http/1.", 7) && (at(head, 7) == '0' || at(head, 7) == '1') &&
         at(head, 8) == ' ' && at(head, 9) >= '2' && at(head, 9) <= '5' && is_digit(at(head, 10)) &&
         is_digit(at(head, 11));
}

/* "GET /... HTTP/1.1"; not CONNECT, after which anything may follow. */
static __always_inline int is_request(const struct fb_head *head, __u32 line) {
  if (line < 14 || is_text(head, 0, "connect", 7)) return 0;
  for (int k = 0; k < 3; k++)
    if (at(head, k) < 'A' || at(head, k) > 'Z') return 0;
  return is_text(head, line - 11, " http/1.", 8) &&
         (at(head, line - 3) == '0' || at(head, line - 3) == '1');
}

static __always_inline int insert_close(struct sk_msg_md *m, __u32 line) {
  if (bpf_msg_push_data(m, line, CLOSE_SIZE, 0)) return 0;
  if (bpf_msg_pull_data(m, line, line + CLOSE_SIZE, 0)) return -1;
  char *data = m->data, *end = m->data_end;
  if (data + CLOSE_SIZE > end) return -1;
  __builtin_memcpy(data, CLOSE, CLOSE_SIZE);
  return 1;
}

/* Overwrites "keep-alive". */
static __always_inline int replace_value(struct sk_msg_md *m, __u32 from) {
  if (bpf_msg_pull_data(m, from, from + 10, 0)) return 0;
  char *data = m->data, *end = m->data_end;
  if (data + 10 > end) return 0;
  __builtin_memcpy(data, "     close", 10);
  return 1;
}

/* 1: the head says now that it is the last one; 0: it is none that we know; -1: nothing may be said here. */
static __always_inline int close_http1(struct sk_msg_md *m, struct fb_kept *kept, struct fb_head *head,
                                       __u32 size) {
  struct fb_look look = {m, head};
  head->search = (struct fb_search){.size = size};
  bpf_loop(HEAD, search_byte, &look, 0);
  __u32 line = head->search.line, connection = head->search.connection;
  if (!line || line > HEAD) return 0;
  if (kept->inbound ? !is_answer(head) : !is_request(head, line)) return 0;
  if (!connection) return insert_close(m, line) == 1 ? 1 : -1;
  __u32 value = connection + (at(head, connection) == ' ');
  if (value + 12 > size) return -1;
  if (is_text(head, value, "close", 5)) return 1;
  if (!is_text(head, value, "keep-alive", 10) || at(head, value + 10) != '\r') return -1;
  return replace_value(m, value) ? 1 : -1;
}

struct fb_frame {
  __u32 length;
  __u8 type, flags;
  __u32 stream;
};

/* RFC 9113, section 6: which lengths and streams a frame of each type may have. */
static __always_inline int is_frame(const struct fb_frame *f) {
  if (f->length > 16384 || f->stream >> 31) return 0;
  switch (f->type) {
    case 0: /* DATA */
    case 1: /* HEADERS */
    case 9: /* CONTINUATION */
      return f->stream != 0;
    case 2:
      return f->stream && f->length == 5;
    case 3:
      return f->stream && f->length == 4;
    case 4:
      return !f->stream && f->length % 6 == 0;
    case 6:
      return !f->stream && f->length == 8;
    case 7:
      return !f->stream && f->length >= 8;
    case 8:
      return f->length == 4;
  }
  return 0;
}

static long step(__u32 i, struct fb_look *look) {
  struct sk_msg_md *m = look->m;
  struct fb_walk *walk = &look->head->walk;
  __u32 offset = walk->offset, size = walk->size;
  walk->end = offset == size ? 1 : -1;
  if (offset >= size || size - offset < FRAME_HEADER) return 1;
  __u32 want = size - offset >= FRAME_HEADER + 5 ? FRAME_HEADER + 5 : FRAME_HEADER;
  if (bpf_msg_pull_data(m, offset, offset + want, 0)) return 1;
  unsigned char *d = m->data, *end = m->data_end;
  if (d + FRAME_HEADER > end) return 1;
  struct fb_frame f = {((__u32)d[0] << 16) | ((__u32)d[1] << 8) | d[2], d[3], d[4],
                       ((__u32)d[5] << 24) | ((__u32)d[6] << 16) | ((__u32)d[7] << 8) | d[8]};
  if (!is_frame(&f)) return 1;
  if (!offset) walk->first = f.type;
  if (f.type == 7) walk->leaves = 1;
  if (f.type == 0 && f.length >= 5 && d + FRAME_HEADER + 5 <= end && d[9] <= 1 &&
      (((__u32)d[10] << 24) | ((__u32)d[11] << 16) | ((__u32)d[12] << 8) | d[13]) == f.length - 5)
    walk->grpc = 1;
  walk->offset = offset + FRAME_HEADER + f.length;
  walk->end = 0;
  return 0;
}

static __always_inline int insert_goaway(struct sk_msg_md *m) {
  if (bpf_msg_push_data(m, 0, GOAWAY_SIZE, 0)) return 0;
  if (bpf_msg_pull_data(m, 0, GOAWAY_SIZE, 0)) return -1;
  char *data = m->data, *end = m->data_end;
  if (data + GOAWAY_SIZE > end) return -1;
  __builtin_memcpy(data, GOAWAY, GOAWAY_SIZE);
  return 1;
}

static __always_inline int end_http2(struct sk_msg_md *m, struct fb_kept *kept, struct fb_head *head) {
  struct fb_look look = {m, head};
  struct fb_walk *walk = &head->walk;
  *walk = (struct fb_walk){.size = m->size};
  bpf_loop(FRAMES, step, &look, 0);
  if (walk->end != 1) { /* no frames, or too many */
    kept->frames = 0;
    return 0;
  }
  kept->frames++;
  if (kept->frames < 2) return 1;
  kept->spoken = FB_HTTP2;
  if (kept->frames > GRPC_WRITES) return 1; /* given up, and not out of the sockhash yet */
  count_unseen(kept);
  if (walk->leaves) return end_here(kept, FB_HTTP2, 1), 1;
  if (!kept->inbound) return end_here(kept, FB_HTTP2, 0), 1;
  if (walk->grpc && walk->first != 9 && insert_goaway(m) == 1) return end_here(kept, FB_HTTP2, 1), 1;
  if (kept->frames >= GRPC_WRITES) end_here(kept, FB_HTTP2, 0);
  return 1;
}

SEC("sk_msg")
int fb_end_politely(struct sk_msg_md *m) {
  struct bpf_sock *sk = m->sk;
  if (!sk) return SK_PASS;
  struct fb_kept *kept = bpf_sk_storage_get(&fb_kept, sk, 0, 0);
  if (!kept || kept->told || kept->spoken == FB_OTHER) return SK_PASS;
  struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
  if (!tp) return SK_PASS;
  int fresh = begins(kept, tp);
  __u64 size = m->size; /* of 64 bits, as the verifier follows it */
  if (size > HEAD) size = HEAD;
  struct fb_head *head = bpf_sk_storage_get(&fb_heads, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
  if (!head || size < 9 || bpf_msg_pull_data(m, 0, size, 0)) return SK_PASS;
  char *data = m->data;
  barrier_var(size);
  if (size > HEAD || bpf_probe_read_kernel(head->text, size, data)) return SK_PASS;
  /* A record of TLS: handshake, or data. */
  if ((at(head, 0) == 0x16 || at(head, 0) == 0x17) && at(head, 1) == 3) return end_here(kept, FB_OTHER, 0);
  if (kept->spoken != FB_HTTP2 && fresh) {
    int said = close_http1(m, kept, head, size);
    if (said) count_unseen(kept);
    if (said > 0) return end_here(kept, FB_HTTP1, 1);
    if (said < 0) return end_here(kept, FB_OTHER, 0);
  }
  if (end_http2(m, kept, head) || !fresh) return SK_PASS;
  count_unseen(kept);
  if (++kept->tries >= TRIES) return end_here(kept, FB_OTHER, 0);
  return SK_PASS;
}
