// The daemon's end of the event ring, and of the tape, of one agent. The memory belongs to a process that may do anything
// with it: core's reader checks every position and size, this one copies before anything is decoded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/protocol/ring.h"
#include "core/result.h"
#include "daemon/agents/event_source.h"
#include "daemon/base/descriptors.h"

namespace filibuster {

enum class RingState : uint8_t {
  kEmpty,    // read to its end
  kPending,  // a record is reserved and not yet published
  kCorrupt,  // not a ring any more: never read again
};

// Exists for RingMemory and TapeMemory.
template <typename Memory>
class RingReaderOf {
 public:
  static Result<RingReaderOf> create();

  // False: the record is none, and nothing more is to be read.
  using Sink = std::function<bool(const EventHead&, std::span<const uint8_t>)>;
  // Reads what is published (at most one ring full); `*events` grows by the number of records.
  // The span is valid during the call of `sink`.
  RingState drain(const Sink& sink, uint64_t* events);

  // Records dropped since the last call.
  uint64_t take_dropped();

  // To be called before an agent writes into a ring that was made page by page as they are written (the tape), since a page
  // that cannot be had ends the process that writes. It costs nothing where pages can be had.
  Result<void> reserve();

  // Has the process mapped the ring? False for the calling process, which has it always.
  bool is_mapped_by(pid_t pid) const;

  int descriptor() const { return file_.get(); }
  // To be called when the agent has a copy of its own.
  void close_descriptor() { file_.reset(); }

 private:
  UniqueFd file_;
  SharedMapping<Memory> ring_;
  ino_t inode_ = 0;    // of `file_`
  uint64_t tail_ = 0;  // ours; the one in the ring must agree
  uint64_t dropped_ = 0;
  std::vector<uint8_t> scratch_;
};
using RingReader = RingReaderOf<RingMemory>;
using TapeReader = RingReaderOf<TapeMemory>;

}  // namespace filibuster
