// Messages between the loader (filibuster-bpf), the daemon that starts it, and the proxies of attached
// services; one datagram of a Unix SOCK_SEQPACKET socket each, fixed layout, host byte order.
//
//   daemon -> loader  JoinRequest + 1 descriptor: the loader's end of a pair whose other end a proxy
//                     has, or gets. Only on the connection that the loader was started with
//                     (filibuster-bpf serve --fd N). There is no reply. The end of that connection ends
//                     the loader.
//   proxy -> loader   AttachRequest + 4 descriptors: outbound listeners v4 and v6, inbound listeners
//                     v4 and v6 (TCP, listening, on 127.0.0.1 and ::1). With kAttachNoIpv6, 2
//                     descriptors: those of v4.
//   loader -> proxy   AttachReply + 3 descriptors (none where `error` is not 0): the maps ring,
//                     originals and bypass of bpf/attached.h
//   proxy -> loader   RetireRequest: connections that were open before are ended politely. It may
//                     be sent again, to ask how many are left.
//   loader -> proxy   RetireReply
//   proxy -> loader   DetachRequest: new connections go direct from now on. The connection stays
//                     open until the proxy ends; until then getpeername() goes on showing where
//                     redirected connections wanted to go.
//   loader -> proxy   DetachReply, when it is so. What came before waits at the listeners, which are
//                     closed when it is accepted: closing them would reset it.
//
//   daemon -> loader  OldRequest, on a connection that attaches nothing
//   loader -> daemon  OldReply
//
// A connection attaches one service. Its end detaches what belongs to it. Requests are answered in
// order. Nothing is half attached: an error of any step undoes the steps before it.
#pragma once

#include <cstdint>

namespace filibuster::bpf {

inline constexpr uint16_t kLoaderVersion = 1;

inline constexpr uint32_t kJoinMagic = 0x4e494f4a;         // "JOIN"
inline constexpr uint32_t kAttachMagic = 0x48435441;       // "ATCH"
inline constexpr uint32_t kAttachReplyMagic = 0x52435441;  // "ATCR"
inline constexpr uint32_t kRetireMagic = 0x45544552;       // "RETE"
inline constexpr uint32_t kRetireReplyMagic = 0x52544552;  // "RETR"
inline constexpr uint32_t kDetachMagic = 0x48435444;       // "DTCH"
inline constexpr uint32_t kDetachReplyMagic = 0x52435444;  // "DTCR"

inline constexpr uint32_t kOldMagic = 0x20444c4f;       // "OLD "
inline constexpr uint32_t kOldReplyMagic = 0x52444c4f;  // "OLDR"

inline constexpr uint32_t kMaxPids = 64;
inline constexpr uint32_t kMaxPorts = 16;

// AttachRequest::flags
inline constexpr uint32_t kAttachGo = 1;      // the processes are Go programs: tasks are goroutines
inline constexpr uint32_t kAttachNoIpv6 = 2;  // this machine has no IPv6: two listeners come
// Inbound connections lead past the proxy, and their bytes are told, if this kernel allows that.
inline constexpr uint32_t kAttachWatch = 4;

struct JoinRequest {
  uint32_t magic = kJoinMagic;
  uint32_t version = kLoaderVersion;
};

struct AttachRequest {
  uint32_t magic = kAttachMagic;
  uint32_t version = kLoaderVersion;
  char service[104] = {};
  uint32_t lane = 0;
  uint32_t pid_count = 0;
  int32_t pids[kMaxPids] = {};
  uint32_t port_count = 0;
  uint16_t ports[kMaxPorts] = {};
  uint32_t flags = 0;
  uint64_t start_times[kMaxPids] = {};  // field 22 of /proc/PID/stat
};

struct AttachReply {
  uint32_t magic = kAttachReplyMagic;
  uint32_t version = kLoaderVersion;
  int32_t error = 0;    // errno; 0: attached
  uint32_t slot = 0;    // as in fb_event
  char step[64] = {};   // what did not work: "cgroup/connect4", "pid", ...
  char text[256] = {};  // what the kernel said, and what to do; a note, where error is 0
};

struct RetireRequest {
  uint32_t magic = kRetireMagic;
  uint32_t version = kLoaderVersion;
};

struct RetireReply {
  uint32_t magic = kRetireReplyMagic;
  uint32_t version = kLoaderVersion;
  int32_t error = 0;     // errno; 0: as asked
  uint32_t found = 0;    // connections that were open before, or were opened past the proxy
  uint32_t open = 0;     // of these, how many are open still
  uint32_t staying = 0;  // of the open ones, how many cannot be ended politely
  char step[64] = {};    // where `error` is not 0
  char text[512] = {};   // names those that stay: address, what is spoken there
};

struct DetachRequest {
  uint32_t magic = kDetachMagic;
  uint32_t version = kLoaderVersion;
};

struct DetachReply {
  uint32_t magic = kDetachReplyMagic;
  uint32_t version = kLoaderVersion;
  int32_t error = 0;
  char text[256] = {};
};

// Asks for what goes over connections that were open before. When it is answered, the programs that attached processes
// have begun by then are known, too (exec).
struct OldRequest {
  uint32_t magic = kOldMagic;
  uint32_t version = kLoaderVersion;
};

struct OldReply {
  uint32_t magic = kOldReplyMagic;
  uint32_t version = kLoaderVersion;
  uint32_t service_count = 0;
  uint32_t staying_count = 0;
  struct Service {
    char service[104] = {};
    // Whose requests nobody saw, since ever. Those of the connections below count at first only.
    uint64_t writes = 0;
  } services[64];  // FB_SLOTS
  // Connections that were used and cannot be ended politely.
  struct Staying {
    char service[104] = {};
    char address[64] = {};  // of the other end
    uint32_t outgoing = 0;
    uint32_t count = 0;
  } staying[64];
};

}  // namespace filibuster::bpf
