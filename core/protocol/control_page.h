// The control page: shared memory of one user that every agent attaches. It says which sessions the
// agent could follow. Without a session the fast path of an agent is one relaxed load of `generation`.
//
// Where an agent finds its page (core/protocol/control_segment.h):
//   FILIBUSTER_DAEMON=unix:DIR/agent.sock  -> DIR/control, of that one session
//   otherwise, in /dev/shm/filibuster-<uid> (a 0700 directory), by the application of the process:
//     control-<hash of its name>  the application is FILIBUSTER_APPLICATION, else the nearest
//                                 directory upwards, from the one it was started in, with a
//                                 filibuster.json, else the directory itself
// An agent creates its page if it is missing, so that a daemon started later can fill it. A process
// whose directory is not known has no page there, and follows no session.
//
// A session announces itself on DIR/control, and on the page of its application. An agent follows the
// only session of its page until that session ends, whatever begins meanwhile. If there are several, it
// follows none, and tells each. The session refuses whom it does not list (messages.h Refusal), and whose
// directory only has the path of its own (in another root directory, say).
//
// A process that changes its user, or its root directory, keeps the page that it has attached, and so do
// its children; but it cannot open the session's socket any more. It knocks at the door then, an abstract
// Unix socket that every user can connect to, and shows the token of the page: only who could open the
// page, or came from such a process, can know it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/hash.h"

namespace filibuster {

inline constexpr uint64_t kControlMagic = 0x4c52544342494c46ull;  // "FLIBCTRL"
inline constexpr uint16_t kProtocolMajor = 16;
inline constexpr uint16_t kProtocolMinor = 0;
inline constexpr uint32_t kControlPageSize = 4096;
inline constexpr char kUserControlDirPrefix[] = "/dev/shm/filibuster-";  // + uid
inline constexpr char kApplicationFile[] =
    "filibuster.json";  // marks the directory of an application

// The generation of a slot whose session has ended: its agents look at the head of the page again.
inline constexpr uint64_t kSessionEnded = 1;

inline constexpr size_t kTokenSize = 16;

struct SessionSlot {
  // Generation of the slot's session; 0: never used, kSessionEnded: free again. It comes from
  // CLOCK_BOOTTIME, so that no generation is used twice within a boot.
  std::atomic<uint64_t> generation;
  uint32_t daemon_pid;
  char socket_path[108];  // the daemon's Unix SOCK_SEQPACKET socket
  uint64_t door;          // the number in the name of the daemon's other socket (door.h); 0: none
  uint8_t token[kTokenSize];
  char application[88];  // its name, for people; cut where it is longer
};

struct ControlPage {
  static constexpr uint32_t kSlots = 16;

  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t daemon_pid;
  // 0: no session. Changes whenever a session begins or ends, and is no session's generation.
  std::atomic<uint64_t> generation;
  // The socket of the session that was announced last. An agent of another protocol version says Hello
  // there, so that the report names it.
  char socket_path[112];
  SessionSlot slots[kSlots];
  // On the page of a session alone that replays a recording: nanoseconds, of whole microseconds, that its processes add to the time of
  // day, so that they are shown that of the recording. 0: nothing.
  std::atomic<int64_t> shown_offset_ns;
};
static_assert(sizeof(ControlPage) <= kControlPageSize);

// A directory with and without a '/' at its end is one application.
inline std::string_view application_name(std::string_view text) {
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  return text;
}

// The name of a page in the user's directory; `application` is empty where there is none.
class ControlPageName {
 public:
  explicit ControlPageName(std::string_view application) {
    constexpr std::string_view kName = "control";
    std::memcpy(text_, kName.data(), kName.size());
    size_t size = kName.size();
    if (!application.empty()) {
      text_[size++] = '-';
      to_hex(hash_text(application_name(application)), text_ + size);
      size += 32;
    }
    text_[size] = '\0';
  }
  const char* c_str() const { return text_; }
  static constexpr size_t kRoom = 48;

 private:
  char text_[kRoom];
};

}  // namespace filibuster
