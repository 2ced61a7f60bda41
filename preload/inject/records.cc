#include "preload/inject/records.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/inject/raw.h"
#include "preload/inject/replaced.h"
#include "preload/os/bounded_wait.h"

namespace filibuster::preload {
namespace {

constexpr uint64_t kBusyWithinNs = 100'000'000;

// Readers of one descriptor take turns. None waits while it has the turn.
class Turn {
 public:
  explicit Turn(Records& records) : records_(records) {
    wait_until([this] { return records_.busy.exchange(1, std::memory_order_acquire) == 0; },
               kBusyWithinNs);
  }
  ~Turn() { records_.busy.store(0, std::memory_order_release); }
  Turn(const Turn&) = delete;

 private:
  Records& records_;
};

size_t available(int fd) {
  int unread = 0;
  if (raw::call(SYS_ioctl, fd, FIONREAD, raw::address_of(&unread)) != 0) return 0;
  return static_cast<size_t>(std::max(unread, 0));
}

void put(Pieces room, size_t at, const char* bytes, size_t size) {
  room.each(at, size, [&](const char* part, size_t count) {
    if (bytes == nullptr) {
      std::memset(const_cast<char*>(part), 0, count);
    } else {
      std::memcpy(const_cast<char*>(part), bytes, count);
      bytes += count;
    }
    return true;
  });
}

size_t receive_there(int fd, Pieces room, size_t at, size_t size, int flags) {
  size_t got = 0;
  room.each(at, size, [&](const char* part, size_t count) {
    const long more = raw::receive(fd, const_cast<char*>(part), count, flags | MSG_DONTWAIT);
    if (more > 0) got += static_cast<size_t>(more);
    return more == static_cast<long>(count) && (flags & MSG_PEEK) == 0;
  });
  return got;
}

// What is to come before the next record begins.
struct Coming {
  tls::RecordRest rest;
  uint32_t body;

  bool is_over() const { return rest.header_left == 0 && rest.zeros == 0 && body == 0; }
  void begin(size_t there, size_t left) {
    size_t size = std::min(there, tls::kMostInRecord);
    if (left > tls::kRecordHeader) size = std::min(size, left - tls::kRecordHeader);
    tls::write_record_header(size, rest.header);
    rest.header_left = tls::kRecordHeader;
    body = static_cast<uint32_t>(size);
  }
};

// Returns how many bytes were put into `room`; of these, `*framed` belong to records of ours.
size_t fill(int fd, Pieces room, int peeking, Coming* coming, size_t* framed) {
  const size_t size = room.size();
  size_t done = 0;
  while (done < size) {
    const size_t left = size - done;
    tls::RecordRest& rest = coming->rest;
    if (coming->is_over()) {
      const size_t there = available(fd);
      if (there == 0 || (peeking != 0 && done != 0)) break;
      coming->begin(there, left);
    } else if (rest.header_left != 0) {
      const size_t more = std::min<size_t>(rest.header_left, left);
      put(room, done, rest.header + tls::kRecordHeader - rest.header_left, more);
      rest.header_left = static_cast<uint8_t>(rest.header_left - more);
      if (rest.zeros == 0) *framed += more;
      done += more;
    } else if (rest.zeros != 0) {
      const size_t more = std::min<size_t>(rest.zeros, left);
      put(room, done, nullptr, more);
      rest.zeros -= static_cast<uint32_t>(more);
      done += more;
    } else {
      const size_t wanted = std::min<size_t>(coming->body, left);
      const size_t more = receive_there(fd, room, done, wanted, peeking);
      coming->body -= static_cast<uint32_t>(more);
      *framed += more;
      done += more;
      if (more < wanted || peeking != 0) break;
    }
  }
  return done;
}

}  // namespace

bool gives_records_slow(int fd) {
  const ReplacedEntry* entry = find_replaced(fd);
  return entry != nullptr && (entry->flags.load(std::memory_order_relaxed) & kEntryRecords) != 0;
}

ssize_t receive_records(int fd, Pieces room, int flags) {
  const int peeking = flags & MSG_PEEK;
  for (;;) {
    // The wait, the end and the errors are those of the pair.
    char first;
    const long there = raw::receive(fd, &first, 1, (flags & MSG_DONTWAIT) | MSG_PEEK);
    ReplacedEntry* entry = find_replaced(fd);
    if (entry == nullptr || !gives_records(fd)) return kNoRecords;
    if (there < 0) errno = static_cast<int>(-there);
    if (there <= 0 || room.size() == 0) return there < 0 ? -1 : 0;
    Records& records = entry->records;
    const Turn turn(records);
    Coming coming{records.rest, records.body};
    size_t framed = 0;
    const size_t done = fill(fd, room, peeking, &coming, &framed);
    if (peeking == 0) {
      records.rest = coming.rest;
      records.body = coming.body;
      records.given.fetch_add(framed);
    }
    // (Another reader may have taken what was there.)
    if (done != 0) return static_cast<ssize_t>(done);
  }
}

void take_records(int fd, size_t size) {
  if (ReplacedEntry* entry = find_replaced(fd)) entry->records.taken.fetch_add(size);
}

bool all_records_are_taken(int fd) {
  const ReplacedEntry* entry = find_replaced(fd);
  return entry == nullptr || entry->records.taken.load() >= entry->records.given.load();
}

}  // namespace filibuster::preload
