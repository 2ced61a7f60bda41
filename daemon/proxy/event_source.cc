#include "daemon/proxy/event_source.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstring>

#include "daemon/proxy/maps.h"

namespace filibuster::proxy {
namespace {

// The layout of the kernel's ring buffer (Documentation/bpf/ringbuf.rst): a page with the consumer's position,
// which we may write; then a page with the producers' position, and the data twice in a row.
class RingSource : public EventSource {
 public:
  RingSource(UniqueFd map, char* consumer, char* producer, uint64_t size)
      : map_(std::move(map)),
        consumer_(consumer),
        producer_(producer),
        size_(size),
        at_(position(consumer_).load(std::memory_order_relaxed)) {}
  RingSource(const RingSource&) = delete;
  ~RingSource() override {
    ::munmap(consumer_, page());
    ::munmap(producer_, page() + 2 * size_);
  }

  static size_t page() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

  int descriptor() const override { return map_.get(); }

  Next next(std::string_view* record) override {
    for (;;) {
      position(consumer_).store(at_, std::memory_order_release);
      const uint64_t end = position(producer_).load(std::memory_order_acquire);
      if (at_ >= end) return Next::kNone;
      const char* header = producer_ + page() + (at_ & (size_ - 1));
      const uint32_t length =
          reinterpret_cast<const std::atomic<uint32_t>*>(header)->load(std::memory_order_acquire);
      if ((length & BPF_RINGBUF_BUSY_BIT) != 0) return Next::kBusy;
      const uint64_t size = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
      if (size > end - at_ - BPF_RINGBUF_HDR_SZ) return Next::kNone;  // it cannot be
      at_ += (size + BPF_RINGBUF_HDR_SZ + 7) & ~uint64_t{7};
      if ((length & BPF_RINGBUF_DISCARD_BIT) != 0) continue;
      *record = {header + BPF_RINGBUF_HDR_SZ, size};
      return Next::kRecord;
    }
  }

 private:
  static std::atomic<uint64_t>& position(char* where) {
    return *reinterpret_cast<std::atomic<uint64_t>*>(where);
  }

  UniqueFd map_;
  char* consumer_;
  char* producer_;
  uint64_t size_;  // of the data, a power of two
  uint64_t at_;
};

class SocketSource : public EventSource {
 public:
  explicit SocketSource(UniqueFd socket) : socket_(std::move(socket)) {}
  int descriptor() const override { return socket_.get(); }
  Next next(std::string_view* record) override {
    const ssize_t size = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size <= 0) return Next::kNone;
    *record = {buffer_.data(), static_cast<size_t>(size)};
    return Next::kRecord;
  }

 private:
  UniqueFd socket_;
  std::array<char, 4096> buffer_{};  // more than any record
};

}  // namespace

Result<std::unique_ptr<EventSource>> ring_source(UniqueFd map) {
  const size_t size = map_entries(map.get());
  if (size == 0 || (size & (size - 1)) != 0)
    return Error{"The loader's first descriptor is no ring buffer."};
  const size_t page = RingSource::page();
  void* consumer = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, map.get(), 0);
  if (consumer == MAP_FAILED) return system_error("The ring buffer of events cannot be mapped");
  void* producer =
      ::mmap(nullptr, page + 2 * size, PROT_READ, MAP_SHARED, map.get(), static_cast<off_t>(page));
  if (producer == MAP_FAILED) {
    const Error error = system_error("The ring buffer of events cannot be mapped");
    ::munmap(consumer, page);
    return error;
  }
  return std::unique_ptr<EventSource>(std::make_unique<RingSource>(
      std::move(map), static_cast<char*>(consumer), static_cast<char*>(producer), size));
}

std::unique_ptr<EventSource> socket_source(UniqueFd socket) {
  return std::make_unique<SocketSource>(std::move(socket));
}

}  // namespace filibuster::proxy
