// Draws: random numbers that a program asks for. While a recording runs, agents put them onto the tape (tape.h TapeDraw). In a
// replay the daemon lays those of the recording out in lane memory (lane_memory.h DrawTable), and agents give them to the program
// in the place of new ones.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster {

// Of whom a program asks. The bytes of a draw are what it is given, and only a draw of the same source takes them.
enum class DrawSource : uint8_t {
  kNone = 0,
  kGetrandom = 1,     // getrandom(2)
  kGetentropy = 2,    // getentropy(3)
  kDevice = 3,        // reads of /dev/urandom and /dev/random
  kArc4random = 4,    // arc4random(3) and its like
  kLibc = 5,          // rand(3), random(3), drand48(3)
  kOpenssl = 6,       // RAND_bytes(3)
  kRandomDevice = 7,  // std::random_device
  kPython = 8,        // generators of Python's module random
  kNode = 9,          // Math.random and node:crypto
  kJava = 10,         // java.util.Random, ThreadLocalRandom, SecureRandom
  // getrandom(2) by syscall(2). OpenSSL seeds itself so, at times that nobody foresees.
  kSyscall = 11,
  kUuid = 12,  // uuid_generate(3) and its like
};
inline constexpr DrawSource kLastDrawSource = DrawSource::kUuid;

// As cases name it.
constexpr std::string_view draw_source_name(DrawSource source) {
  constexpr std::string_view kNames[] = {
      "",           "getrandom",          "getentropy", "/dev/urandom", "arc4random", "rand",
      "RAND_bytes", "std::random_device", "python",     "node",         "java",       "syscall",
      "libuuid"};
  return source <= kLastDrawSource ? kNames[static_cast<size_t>(source)] : std::string_view();
}

// kNone: there is none of that name.
constexpr DrawSource find_draw_source(std::string_view name) {
  for (uint8_t i = 1; i <= static_cast<uint8_t>(kLastDrawSource); ++i) {
    if (draw_source_name(DrawSource{i}) == name) return DrawSource{i};
  }
  return DrawSource::kNone;
}

// The variable that says to a process that its random numbers count from its start on: it is a part of a recording, or of a replay.
inline constexpr char kDrawsVariable[] = "FILIBUSTER_DRAWS";
// Its value for a neighbour that runs beside the service of a replay: its random numbers are its own.
inline constexpr char kOwnDraws[] = "0";

inline constexpr size_t kMaxDrawBytes = 4096;  // longer draws are the machine's own
inline constexpr size_t kMaxDrawSite = 1024;   // bytes of the stack that goes with a recorded one
inline constexpr uint32_t kMaxDraws = 1024;    // of one case
inline constexpr uint32_t kMaxDrawBytesInAll = 1u << 16;

enum DrawFlags : uint8_t {
  kDrawOfProcess = 1,  // it is for whoever draws while the program works for no request
  // The program gets a number of the machine in its place. The numbers behind it are for the draws behind it.
  kDrawOwn = 2,
};

// A draw that a replay gives.
struct DrawRow {
  uint8_t source;  // DrawSource
  uint8_t flags;   // DrawFlags
  uint16_t size;
  uint32_t offset;  // of its bytes
  // DrawTable::sequence at which it was given; anything else: it is there.
  std::atomic<uint32_t> given;
};

// Written by the daemon before it sends a request.
struct DrawTable {
  std::atomic<uint32_t> sequence;  // odd while the daemon writes
  std::atomic<uint32_t> count;     // 0: there are none, and nothing is paid for it but this load
  DrawRow rows[kMaxDraws];
  uint8_t bytes[kMaxDrawBytesInAll];
};

}  // namespace filibuster
