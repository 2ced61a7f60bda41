// Messages over the daemon's Unix SOCK_SEQPACKET socket; one datagram each, fixed layout, host byte
// order (same machine). The socket stays open for the life of the process: its end is the end of
// the agent.
//
//   agent -> daemon  Hello                     once, at registration
//   daemon -> agent  Welcome  + 3 descriptors  [lane memory, ring, tape]; none where `refused` is not 0
//   agent -> daemon  GivenUp                   it cannot use the registration, or waited too long for
//                    it: its process goes on as without us
//   agent -> daemon  HandOff  + 1 or 2 descriptors: [held end of the pair, (the real connection)];
//                    the daemon finishes a connection on which a fault fired, so that no thread of
//                    ours runs in the agent's process. After a HandOff of kind kRelay, a RelayState
//                    and its table follow in the same datagram.
//
// Of a socket for itself, in the place of Hello, and without an answer:
//   process -> daemon  Outside                 it executes a program that takes no part in the session
#pragma once

#include <cstdint>

#include "core/protocol/control_page.h"

namespace filibuster {

inline constexpr uint32_t kHelloMagic = 0x4f4c4c48;    // "HLLO"
inline constexpr uint32_t kWelcomeMagic = 0x4d434c57;  // "WLCM"
inline constexpr uint32_t kGivenUpMagic = 0x50555647;  // "GVUP"
inline constexpr uint32_t kHandOffMagic = 0x46464f48;  // "HOFF"
inline constexpr uint32_t kOutsideMagic = 0x5354554f;  // "OUTS"

// In Hello::notes of the proxy of an attached service.
inline constexpr char kAttachedNote[] = "attached by eBPF";

// How a process has come to its control page (control_page.h).
enum class Belonging : uint32_t {
  kStarted = 0,   // FILIBUSTER_DAEMON: the session has started it, or what started it
  kVariable = 1,  // FILIBUSTER_APPLICATION names its application
  kFolder = 2,    // a folder does
};

struct Hello {
  uint32_t magic = kHelloMagic;
  uint16_t major = kProtocolMajor;
  uint16_t minor = kProtocolMinor;
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t lane = 0;        // FILIBUSTER_LANE, 0 if unset
  uint64_t start_time = 0;  // field 22 of /proc/self/stat
  char service[104] = {};   // FILIBUSTER_SERVICE, else the base name of the executable
  char executable[256] = {};
  char notes[256] = {};  // "cpython 3.11; no libunwind", for `doctor` and the report
  // Number of sessions that this process could follow. If there are several, it follows none: it says
  // so to each of them, and waits for no answer.
  uint32_t sessions = 1;
  // Of the session's slot, at the door (control_page.h); zeros elsewhere.
  uint8_t token[kTokenSize] = {};
  Belonging belonging = Belonging::kStarted;
  // Belonging::kFolder: which folder it is (stat), since processes with other root directories have
  // other folders by the same path.
  uint64_t folder_device = 0, folder_inode = 0;
};

enum class Refusal : uint32_t {
  kNone = 0,
  kVersion = 1,
  kNoSession = 2,
  kLane = 3,
  kUndecided = 4,
  kNotListed = 5,     // the session lists its services, and this is none of them
  kAnotherFolder = 6  // the folder has the path of the session's, and is another one
};

struct Welcome {
  uint32_t magic = kWelcomeMagic;
  uint16_t major = kProtocolMajor;
  uint16_t minor = kProtocolMinor;
  uint32_t refused = 0;  // Refusal
  uint32_t agent = 0;    // agent id: upper half of RPC ids; from 1
  uint64_t generation = 0;
};

inline constexpr int kWelcomeDescriptors = 3;

struct GivenUp {
  uint32_t magic = kGivenUpMagic;
};

struct Outside {
  uint32_t magic = kOutsideMagic;
  uint16_t major = kProtocolMajor;
  uint16_t minor = kProtocolMinor;
  uint32_t lane = 0;
  uint8_t entry = 0, gain = 0;  // core/program/entry.h
  uint16_t machine = 0;         // EM_*
  char service[104] = {};       // of the process that executes it
  char loader[160] = {};        // the end of a long path
  char program[256] = {};       // likewise
};

enum class HandOffKind : uint32_t {
  kSilence = 1,       // keep `held` open and silent until hang_limit, then reset it
  kDrainThenReset,    // read the real answer from `real` to its end, then reset `held`
  kDrainThenSilence,  // read the real answer away, keep silent until hang_limit, then reset
  kDrainThenAnswer,   // read the real answer away, then send the planned response on `held`
  kChange,            // pass the request on, and the real answer back as the fault changes it
  kRelay,             // an HTTP/2 connection with a faulted stream (core/protocol/relay.h)
};

struct HandOff {
  uint32_t magic = kHandOffMagic;
  HandOffKind kind = HandOffKind::kSilence;
  uint64_t rpc = 0;
  uint32_t plan_entry = 0;
  uint32_t execution = 0;
  uint8_t head_request = 0;  // the answer to wait for has no body
  uint8_t protocol = 0;      // Protocol, of the answer
  uint8_t reserved[2] = {};
  uint32_t replies = 1;  // Protocol::kRedis: how many replies make up the answer
};

}  // namespace filibuster
