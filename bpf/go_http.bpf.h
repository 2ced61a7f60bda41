// What Go's net/http is asked for, where the bytes do not tell since they are encrypted: the request when it is about to
// be made (FB_CALL), and how its caller was answered (FB_ANSWER). Read from the memory of the program, at these places.
#pragma once

#include "go_tasks.bpf.h"
#include "ring.bpf.h"

/* The beginnings of net/http.Request, net/url.URL and net/http.Response, which are the same from Go 1.17 to 1.26. (1.19 put a
   second bool beside the one that was there.) Of other versions nothing is known, and no probe is set. */
struct go_string {
  __u64 at, size;
};
struct go_request {
  struct go_string method;
  __u64 url;
};
struct go_url {
  struct go_string scheme, opaque;
  __u64 user;
  struct go_string host, path, raw_path;
  __u64 bools;
  struct go_string raw_query;
};
struct go_response {
  struct go_string status;
  __u64 status_code;
};

_Static_assert(__builtin_offsetof(struct go_request, url) == 16, "Request.URL");
_Static_assert(__builtin_offsetof(struct go_url, host) == 40, "URL.Host");
_Static_assert(__builtin_offsetof(struct go_url, raw_path) == 72, "URL.RawPath");
_Static_assert(__builtin_offsetof(struct go_url, raw_query) == 96, "URL.RawQuery");
_Static_assert(__builtin_offsetof(struct go_response, status_code) == 16, "Response.StatusCode");

struct fb_call_record {
  __u8 event[FB_EVENT_HEAD];
  struct fb_request request;
};

/* Another one than any other request of the machine has: no processor makes two at a time. */
static __always_inline __u64 go_new_number(void) {
  return bpf_ktime_get_ns() << 12 | (bpf_get_smp_processor_id() & 0xfff);
}

static __always_inline long go_copy(char* to, __u32 most, struct go_string* from) {
  __u64 size = from->size;
  if (size == 0) return 0;
  if (size > most) size = most;
  return bpf_probe_read_user(to, size, (void*)from->at);
}

static __always_inline __u32 go_size(struct go_string* text) {
  return text->size > 0xffffffffu ? 0xffffffffu : text->size;
}

static __always_inline int go_is_https(struct go_url* url) {
  char scheme[5];
  return url->scheme.size == 5 && url->opaque.size == 0 &&
         !bpf_probe_read_user(scheme, sizeof scheme, (void*)url->scheme.at) && scheme[0] == 'h' &&
         scheme[1] == 't' && scheme[2] == 't' && scheme[3] == 'p' && scheme[4] == 's';
}

/* The goroutine `task` asks for the *http.Request. Its number; 0: it is not told, because its bytes tell, or its answer
   would not be told, or it cannot be read. `kind`: FB_TOLD_ */
static __always_inline __u64 fb_go_tell_call(__u32 tgid, __u64 task, __u64 request, __u32 kind) {
  struct fb_tasks* tasks = bpf_map_lookup_elem(&fb_tasks_of, &tgid);
  __u32* slot = bpf_map_lookup_elem(&fb_tgids, &tgid);
  struct go_request asked;
  struct go_url url;
  if (!tasks || !(tasks->told & kind) || !slot || !task ||
      bpf_probe_read_user(&asked, sizeof asked, (void*)request) ||
      bpf_probe_read_user(&url, sizeof url, (void*)asked.url) || !go_is_https(&url))
    return 0;
  struct fb_event* event = fb_begin(FB_CALL, *slot, sizeof(struct fb_call_record));
  if (!event) return 0;
  struct fb_request* out = &((struct fb_call_record*)event)->request;
  __u64 number = go_new_number();
  event->task = task;
  event->call = number;
  out->flags = kind == FB_TOLD_HTTP2 ? FB_OVER_HTTP2 : 0;
  out->unused = 0;
  struct go_string path = url.raw_path.size ? url.raw_path : url.path;
  if (url.raw_path.size) out->flags |= FB_RAW_PATH;
  out->method_size = go_size(&asked.method);
  out->host_size = go_size(&url.host);
  out->path_size = go_size(&path);
  out->query_size = go_size(&url.raw_query);
  /* What is not in memory at the moment cannot be read here. */
  if (go_copy(out->method, FB_METHOD, &asked.method) || go_copy(out->host, FB_HOST, &url.host) ||
      go_copy(out->path, FB_PATH, &path) || go_copy(out->query, FB_QUERY, &url.raw_query)) {
    bpf_ringbuf_discard(event, 0);
    return 0;
  }
  fb_submit(event);
  return number;
}

/* The request of that number has an *http.Response; null: an error. Whoever reads the ring is woken: the call may be the
   last thing that happens for long. */
static __always_inline void fb_go_tell_answer(__u32 tgid, __u64 task, __u64 number,
                                              __u64 response) {
  __u32* slot = bpf_map_lookup_elem(&fb_tgids, &tgid);
  struct fb_event* event = slot ? fb_begin(FB_ANSWER, *slot, FB_EVENT_HEAD) : 0;
  if (!event) return;
  struct go_response answer;
  event->task = task;
  event->call = number;
  if (response && !bpf_probe_read_user(&answer, sizeof answer, (void*)response))
    event->status = answer.status_code;
  bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
}
