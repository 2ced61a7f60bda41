#include "daemon/agents/ring_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/protocol/control_page.h"
#include "core/protocol/events.h"

namespace filibuster {

namespace {

constexpr char kRingName[] = "filibuster-ring";

}  // namespace

Result<RingReader> RingReader::create() {
  RingReader reader;
  Result<UniqueFd> file = sealed_memory(kRingName, sizeof(RingMemory));
  if (!file) return file.error();
  reader.file_ = std::move(file).value();
  struct stat status {};
  if (!reader.ring_.map(reader.file_.get()) || ::fstat(reader.file_.get(), &status) != 0) {
    return system_error("mmap of an event ring");
  }
  reader.inode_ = status.st_ino;
  reader.ring_->magic = kRingMagic;
  reader.ring_->major = kProtocolMajor;
  reader.ring_->minor = kProtocolMinor;
  reader.ring_->size = kRingBytes;
  return reader;
}

bool RingReader::is_mapped_by(pid_t pid) const {
  if (pid == ::getpid()) return false;
  // A line: address permissions offset device inode name
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  const std::string inode = " " + std::to_string(inode_) + " ";
  for (std::string line; std::getline(maps, line);) {
    if (line.find(kRingName) != std::string::npos && line.find(inode) != std::string::npos) {
      return true;
    }
  }
  return false;
}

RingReader::State RingReader::drain(const Sink& sink, uint64_t* events) {
  uint64_t budget = kRingBytes;
  while (budget > 0) {
    // The reader alone moves the tail.
    if (ring_->tail.load(std::memory_order_relaxed) != tail_) return State::kCorrupt;
    RecordView record;
    if (!ring_peek(ring_.get(), &record)) {
      tail_ = ring_->tail.load(std::memory_order_relaxed);  // fillers were given back
      if (ring_->corrupted.load(std::memory_order_relaxed) != 0) return State::kCorrupt;
      return ring_backlog(ring_.get()) == 0 ? State::kEmpty : State::kPending;
    }
    if (record.payload.size() > kMaxEvent) return State::kCorrupt;
    // A copy, so that nothing changes between a check and its use.
    scratch_.assign(record.payload.begin(), record.payload.end());
    const EventHead event{record.type, record.execution, record.time_ns};
    sink(event, scratch_);
    ++*events;
    const uint64_t before = ring_->tail.load(std::memory_order_relaxed);
    ring_pop(ring_.get());
    tail_ = ring_->tail.load(std::memory_order_relaxed);
    if (ring_->corrupted.load(std::memory_order_relaxed) != 0) return State::kCorrupt;
    budget -= std::min(budget, std::max<uint64_t>(tail_ - before, sizeof(RecordHeader)));
  }
  return State::kPending;
}

uint64_t RingReader::take_dropped() {
  const uint64_t now = ring_->dropped.load(std::memory_order_relaxed);
  const uint64_t more = now > dropped_ ? now - dropped_ : 0;
  dropped_ = now;
  return more;
}

}  // namespace filibuster
