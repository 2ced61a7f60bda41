// Who wrote which bytes of an outbound connection. Pure.
//
// An event says where in the stream a call of the attached process began, and how many bytes it offered; of
// these the kernel may have taken fewer, and the rest came with a later call. So the writer of a byte is that of
// the last event that begins at it or before, if that event reaches as far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "daemon/proxy/events.h"

namespace filibuster::proxy {

struct Writer {
  bool known = false;
  Task task;
  uint32_t stack = 0;   // its number (StackTexts); 0: not known
  uint32_t stream = 0;  // as in Event
  uint64_t call = 0;    // the same
  bool operator==(const Writer&) const = default;
};

class WriteLog {
 public:
  // The most events that are kept of bytes that were not read yet. Bytes of what does not fit have no writer.
  static constexpr size_t kMost = 1024;

  void add(uint32_t position, uint32_t size, const Writer& writer);

  struct Piece {
    size_t size;
    Writer writer;
  };
  // Of the `size` bytes that were read from position `at` on; neighbours of one writer are one piece. Forgets
  // what was before their end.
  std::vector<Piece> take(uint32_t at, size_t size);
  size_t size() const { return calls_.size(); }

 private:
  struct Call {
    uint32_t position;
    uint32_t size;
    Writer writer;
  };
  std::deque<Call> calls_;  // by position
};

}  // namespace filibuster::proxy
