// Where events come from: the ring buffer of a slot, or a socket (for tests without eBPF).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/result.h"
#include "daemon/base/descriptors.h"

namespace filibuster::proxy {

class EventSource {
 public:
  virtual ~EventSource() = default;
  // Readable when nobody has looked for long. Events are looked for before any bytes are taken, and nobody is woken for each.
  virtual int descriptor() const = 0;

  enum class Next : uint8_t {
    kNone,
    kRecord,
    kBusy,  // a processor is just writing the next record: it is there in a microsecond
  };
  // `*record` is valid until the next call.
  virtual Next next(std::string_view* record) = 0;
};

// `map`: a BPF_MAP_TYPE_RINGBUF. libbpf's reader does not tell whether a record is just being written, and we
// must not forward bytes whose event is that record.
Result<std::unique_ptr<EventSource>> ring_source(UniqueFd map);
// `socket`: each datagram is one record.
std::unique_ptr<EventSource> socket_source(UniqueFd socket);

}  // namespace filibuster::proxy
