// The conversation between a test and the daemon that started it, at the test's snapshot point: the place
// where it is about to connect for the first time, or to start its first thread. There it is one thread
// without a connection, so that it can be forked once for each execution; a test that cannot be forked
// waits there for its execution. A service that is started ahead waits for its turn where it is about to
// connect, or to bind its port.
// One datagram each over a Unix SOCK_SEQPACKET socket, fixed layout, host byte order. The end of the
// socket is the end of the process that waits.
//
//   test -> daemon   SnapshotHello
//   daemon -> test   SnapshotCommand kFork + 1 descriptor: the log of this execution
//   test -> daemon   SnapshotForked     the process of the execution, leader of a process group
//   test -> daemon   SnapshotEnded      it has ended, and the rest of its group was killed
//   daemon -> test   SnapshotCommand kReset + 1 descriptor: as kFork, by a child that has ended an execution and was reset, if there
//                    is one. SnapshotForked and SnapshotEnded say what became of that.
//   ...              kFork or kReset again
//   daemon -> test   SnapshotCommand kGo + 1 descriptor: the log from now on
//                                       the process itself goes on; nothing follows
#pragma once

#include <cstdint>

#include "core/protocol/control_page.h"

namespace filibuster {

// "PARENT:LOG:WAY:PATH" in the environment of the process: the pid of the daemon that is its parent (the
// processes that it starts have another one), the inode of its log, "fork" or "wait" (it is never forked),
// the path of the socket.
inline constexpr char kSnapshotVariable[] = "FILIBUSTER_SNAPSHOT";

inline constexpr uint32_t kSnapshotHelloMagic = 0x504e5348;    // "HSNP"
inline constexpr uint32_t kSnapshotCommandMagic = 0x504e5343;  // "CSNP"
inline constexpr uint32_t kSnapshotForkedMagic = 0x504e5346;   // "FSNP"
inline constexpr uint32_t kSnapshotEndedMagic = 0x504e5345;    // "ESNP"

// What is in the way of a fork.
enum class NotForked : uint32_t {
  kUnknown = 0,  // or nothing is
  kThreads,
  kRuntimeThreads,  // of a runtime that starts them before any code of the test runs
  kChildren,
  kSharedMemory,
  kListening,
  kConnected,  // or bound
  kFile,       // open for writing
  kLock,
  kTimer,  // or another object of the kernel that a child would share
  // What only the daemon sees.
  kAnotherProcess,  // makes the first call
  kUnseen,          // the calls of the test are
  kDiffers,         // what was forked shows something else
  kNotWorthIt,
};

struct SnapshotHello {
  uint32_t magic = kSnapshotHelloMagic;
  uint16_t major = kProtocolMajor;
  uint16_t minor = kProtocolMinor;
  // 1: what is in the way of a fork is also in the way of starting the test while another execution
  // runs (a lock, a file that it writes).
  uint32_t exclusive = 0;
  NotForked obstacle_kind = NotForked::kUnknown;
  uint64_t reached_ns = 0;  // CLOCK_MONOTONIC
  char obstacle[240] = {};  // why it cannot be forked: "it has 3 threads"; empty: it can
};

// Why the process of an execution is not reset at its end.
enum class NotReset : uint32_t {
  kNot = 0,  // it is, or nobody has asked for it
  kOnce,     // this one cannot be: the next one may
  kForGood,  // no process of this test can be, or one was not what it was before
};
inline constexpr uint32_t kWhyNotReset = 200;  // bytes of its text

enum class SnapshotOrder : uint32_t { kFork = 1, kGo = 2, kReset = 3 };
struct SnapshotCommand {
  uint32_t magic = kSnapshotCommandMagic;
  SnapshotOrder order = SnapshotOrder::kFork;
};

struct SnapshotForked {
  uint32_t magic = kSnapshotForkedMagic;
  int32_t pid = 0;  // -1: the fork failed
  // Of processes that could not be reset since the last execution.
  NotReset refusal = NotReset::kNot;
  char why[kWhyNotReset] = {};
};

struct SnapshotEnded {
  uint32_t magic = kSnapshotEndedMagic;
  int32_t signalled = 0;
  int32_t code = 0;  // exit status, or the signal's number
  // kNot after kReset: its process is being reset.
  NotReset refusal = NotReset::kNot;
  char why[kWhyNotReset] = {};
};

}  // namespace filibuster
