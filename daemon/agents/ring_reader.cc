#include "daemon/agents/ring_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/protocol/control_page.h"
#include "core/protocol/events.h"
#include "core/protocol/tape.h"

namespace filibuster {

namespace {

// What is different of the two.
struct Kind {
  const char* name;
  uint64_t magic;
  uint32_t bytes;
  size_t most;    // bytes of a record's payload
  bool reserved;  // all of it is there before anybody writes
};
template <typename Memory>
constexpr Kind kKind = {};
template <>
constexpr Kind kKind<RingMemory> = {"filibuster-ring", kRingMagic, kRingBytes, kMaxEvent, true};
template <>
constexpr Kind kKind<TapeMemory> = {"filibuster-tape", kTapeMagic, kTapeBytes, kMaxTapeRecord,
                                    false};

}  // namespace

template <typename Memory>
Result<RingReaderOf<Memory>> RingReaderOf<Memory>::create() {
  constexpr Kind kMine = kKind<Memory>;
  RingReaderOf reader;
  const bool at_once = kMine.reserved && memory_may_run_out_later();
  Result<UniqueFd> file = sealed_memory(kMine.name, sizeof(Memory), at_once);
  if (!file) return file.error();
  reader.file_ = std::move(file).value();
  struct stat status {};
  if (!reader.ring_.map(reader.file_.get()) || ::fstat(reader.file_.get(), &status) != 0) {
    return system_error("mmap of an event ring");
  }
  reader.inode_ = status.st_ino;
  reader.ring_->magic = kMine.magic;
  reader.ring_->major = kProtocolMajor;
  reader.ring_->minor = kProtocolMinor;
  reader.ring_->size = kMine.bytes;
  return reader;
}

template <typename Memory>
bool RingReaderOf<Memory>::is_mapped_by(pid_t pid) const {
  if (pid == ::getpid()) return false;
  // A line: address permissions offset device inode name
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  const std::string inode = " " + std::to_string(inode_) + " ";
  for (std::string line; std::getline(maps, line);) {
    if (line.find(kKind<Memory>.name) != std::string::npos &&
        line.find(inode) != std::string::npos) {
      return true;
    }
  }
  return false;
}

template <typename Memory>
RingState RingReaderOf<Memory>::drain(const Sink& sink, uint64_t* events) {
  uint64_t budget = kKind<Memory>.bytes;
  while (budget > 0) {
    // The reader alone moves the tail.
    if (ring_->tail.load(std::memory_order_relaxed) != tail_) return RingState::kCorrupt;
    RecordView record;
    if (!ring_peek(ring_.get(), &record)) {
      tail_ = ring_->tail.load(std::memory_order_relaxed);  // fillers were given back
      if (ring_->corrupted.load(std::memory_order_relaxed) != 0) return RingState::kCorrupt;
      return ring_backlog(ring_.get()) == 0 ? RingState::kEmpty : RingState::kPending;
    }
    if (record.payload.size() > kKind<Memory>.most) return RingState::kCorrupt;
    // A copy, so that nothing changes between a check and its use.
    scratch_.assign(record.payload.begin(), record.payload.end());
    const EventHead event{record.type, record.execution, record.time_ns};
    ++*events;
    if (!sink(event, scratch_)) return RingState::kCorrupt;
    const uint64_t before = ring_->tail.load(std::memory_order_relaxed);
    ring_pop(ring_.get());
    tail_ = ring_->tail.load(std::memory_order_relaxed);
    if (ring_->corrupted.load(std::memory_order_relaxed) != 0) return RingState::kCorrupt;
    budget -= std::min(budget, std::max<uint64_t>(tail_ - before, sizeof(RecordHeader)));
  }
  return RingState::kPending;
}

template <typename Memory>
uint64_t RingReaderOf<Memory>::take_dropped() {
  const uint64_t now = ring_->dropped.load(std::memory_order_relaxed);
  const uint64_t more = now > dropped_ ? now - dropped_ : 0;
  dropped_ = now;
  return more;
}

template <typename Memory>
Result<void> RingReaderOf<Memory>::reserve() {
  if (kKind<Memory>.reserved || !memory_may_run_out_later()) return {};
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14
  if (::madvise(ring_.get(), sizeof(Memory), kPopulateWrite) != 0)
    return system_error("memory for a tape of " + std::to_string(sizeof(Memory)) + " bytes");
  return {};
}

template class RingReaderOf<RingMemory>;
template class RingReaderOf<TapeMemory>;

}  // namespace filibuster
