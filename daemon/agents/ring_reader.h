// The daemon's end of one agent's event ring. The memory belongs to a process that may do anything
// with it: core's reader checks every position and size, this one copies before anything is decoded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/protocol/ring.h"
#include "core/result.h"
#include "daemon/base/descriptors.h"

namespace filibuster {

struct EventHead {
  uint16_t type = 0;  // EventType
  uint32_t execution = 0;
  uint64_t time_ns = 0;
};

class RingReader {
 public:
  static Result<RingReader> create();

  enum class State : uint8_t {
    kEmpty,    // read to its end
    kPending,  // a record is reserved and not yet published
    kCorrupt,  // not a ring any more: never read again
  };
  using Sink = std::function<void(const EventHead&, std::span<const uint8_t>)>;
  // Reads what is published (at most one ring full); `*events` grows by the number of records.
  // The span is valid during the call of `sink`.
  State drain(const Sink& sink, uint64_t* events);

  // Records dropped since the last call.
  uint64_t take_dropped();

  // Has the process mapped the ring? False for the calling process, which has it always.
  bool is_mapped_by(pid_t pid) const;

  int descriptor() const { return file_.get(); }
  // To be called when the agent has a copy of its own.
  void close_descriptor() { file_.reset(); }

 private:
  UniqueFd file_;
  SharedMapping<RingMemory> ring_;
  ino_t inode_ = 0;    // of `file_`
  uint64_t tail_ = 0;  // ours; the one in the ring must agree
  uint64_t dropped_ = 0;
  std::vector<uint8_t> scratch_;
};

}  // namespace filibuster
