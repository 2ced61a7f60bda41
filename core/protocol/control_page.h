// The control page: one 0600 file, mapped by every agent, that says whether there is a daemon and
// a session. Without a session the fast path of an agent is one relaxed load of `generation`.
//
// Where it is:
//   FILIBUSTER_DAEMON=unix:DIR/agent.sock   -> DIR/control
//   otherwise                               -> /dev/shm/filibuster-<uid>/control   (0700 directory)
// An agent creates the second one if it is missing, so that a daemon started later can fill it.
// A daemon writes both; the per-user page belongs to the daemon that wrote it last.
#pragma once

#include <atomic>
#include <cstdint>

namespace filibuster {

inline constexpr uint64_t kControlMagic = 0x4c52544342494c46ull;  // "FLIBCTRL"
inline constexpr uint16_t kProtocolMajor = 4;
inline constexpr uint16_t kProtocolMinor = 1;
inline constexpr char kUserControlDirPrefix[] = "/dev/shm/filibuster-";  // + uid

struct ControlPage {
  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t daemon_pid;
  // 0: no session. Changes whenever a session begins or its daemon is replaced: an agent that
  // registered under another generation registers anew. Never reused within a boot (from
  // CLOCK_BOOTTIME).
  std::atomic<uint64_t> generation;
  char socket_path[112];  // the daemon's Unix SOCK_SEQPACKET socket, valid while generation != 0
};
static_assert(sizeof(ControlPage) <= 4096);

}  // namespace filibuster
