// One request and its response on one connection, and the queue of those that are open.
//
// The request is followed by one thread and the response perhaps by another: each marks its half
// done, and the second of the two ends the exchange (finish_half).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/rpc/agent.h"
#include "preload/rpc/causality.h"

namespace filibuster::preload {

struct Connection;

inline constexpr size_t kBodySample = 256;       // bytes of a body that travel in events
inline constexpr size_t kMaxOpenExchanges = 16;  // pipelined requests that are followed

enum ExchangeHalf : uint8_t { kRequestHalf = 1, kResponseHalf = 2 };

struct Exchange {
  std::atomic<uint8_t> halves{0};  // ExchangeHalf: done
  char method[16] = {};
  uint8_t method_size = 0;
  bool head_request = false;
  uint64_t request_start = 0;       // positions in the application's stream (client)
  uint64_t request_end = 0;         // 0: not known yet
  OutgoingCall call;                // client
  RequestFields* fields = nullptr;  // client: owned
  RpcFinished finished;             // client; `body_sample` is set when it is reported
  Incoming* incoming = nullptr;     // server
  bool changed = false;             // client: the answer passes as a fault changes it
  // client: a fault stops the answer, and so many bytes of its body come. UINT64_MAX: none does, or they have come.
  uint64_t stalls_after = UINT64_MAX;
  uint16_t status = 0;
  uint16_t sample_size = 0;
  char sample[kBodySample];
};

// What one live request takes: an Exchange at its client, and another one with an Incoming at its server.
static_assert(sizeof(Exchange) + sizeof(Incoming) <= 1024);

// One producer (who follows the requests), one consumer (who follows the responses).
class ExchangeQueue {
 public:
  bool push(Exchange* exchange) {
    const uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == kMaxOpenExchanges) return false;
    slots_[tail % kMaxOpenExchanges] = exchange;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  uint32_t size() const {
    return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_acquire);
  }
  bool empty() const { return size() == 0; }

  // Called by the consumer alone.
  Exchange* front() const {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    return head == tail_.load(std::memory_order_acquire) ? nullptr
                                                         : slots_[head % kMaxOpenExchanges];
  }
  Exchange* pop() {
    Exchange* exchange = front();
    if (exchange != nullptr) {
      head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    return exchange;
  }
  // The i-th of those that are open, oldest first, or nullptr.
  Exchange* open_at(uint32_t i) const {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    return i < tail_.load(std::memory_order_acquire) - head ? slots_[(head + i) % kMaxOpenExchanges]
                                                            : nullptr;
  }
  // The next exchange that was not given out by this function, or nullptr.
  Exchange* next_unannounced() {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    if (static_cast<int32_t>(announced_ - head) < 0) announced_ = head;
    if (announced_ == tail_.load(std::memory_order_acquire)) return nullptr;
    return slots_[announced_++ % kMaxOpenExchanges];
  }

 private:
  std::atomic<uint32_t> head_{0};
  std::atomic<uint32_t> tail_{0};
  uint32_t announced_ = 0;
  Exchange* slots_[kMaxOpenExchanges] = {};
};

Exchange* make_exchange();
// Marks one half of the exchange done. When both are done, it is ended and freed.
void finish_half(Connection& connection, Exchange* exchange, ExchangeHalf half);

}  // namespace filibuster::preload
