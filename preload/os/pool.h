// A pool of objects of one type: lock-free, type-stable (memory of a freed object stays memory of a
// T for ever, so that a stale pointer may still read an atomic in it), from pages of our own.
//
// A pool is a constant-initialised global. take() returns memory that is zeroed the first time and
// as it was left afterwards; nothing is constructed or destroyed. Safe in a forked child: there is
// no lock that another thread could have held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/os/pages.h"

namespace filibuster::preload {

template <typename T, size_t kPerChunk, size_t kMaxChunks>
class Pool {
 public:
  // nullptr: full, or no memory.
  T* take() {
    uint64_t head = free_.load(std::memory_order_acquire);
    while (index_of(head) != 0) {
      Node* node = node_at(index_of(head));
      // Another taker may have changed `next` under us. The tag makes the exchange fail then.
      const uint64_t next = with_tag(head, node->next.load(std::memory_order_relaxed));
      if (free_.compare_exchange_weak(head, next, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        return &node->object;
      }
    }
    // An index is taken only when its memory is there: one that is given back could be another thread's.
    uint32_t used = used_.load(std::memory_order_relaxed);
    do {
      if (used == kPerChunk * kMaxChunks || !ensure_chunk(used / kPerChunk)) return nullptr;
    } while (!used_.compare_exchange_weak(used, used + 1, std::memory_order_relaxed));
    Node* node = node_at(used + 1);
    node->self = used + 1;
    return &node->object;
  }

  void give(T* object) {
    // The object is the first member of its node.
    Node* node = reinterpret_cast<Node*>(object);
    uint64_t head = free_.load(std::memory_order_relaxed);
    do {
      node->next.store(index_of(head), std::memory_order_relaxed);
    } while (!free_.compare_exchange_weak(head, with_tag(head, node->self),
                                          std::memory_order_release, std::memory_order_relaxed));
  }

 private:
  struct Node {
    T object;
    uint32_t self;  // index from 1
    std::atomic<uint32_t> next;
  };

  static uint32_t index_of(uint64_t head) { return static_cast<uint32_t>(head); }
  static uint64_t with_tag(uint64_t old, uint32_t index) {
    return (((old >> 32) + 1) << 32) | index;
  }
  Node* node_at(uint32_t index) {
    Node* chunk = chunks_[(index - 1) / kPerChunk].load(std::memory_order_acquire);
    return chunk + (index - 1) % kPerChunk;
  }
  bool ensure_chunk(size_t i) {
    if (chunks_[i].load(std::memory_order_acquire) != nullptr) return true;
    void* pages = map_pages(sizeof(Node) * kPerChunk);
    if (pages == nullptr) return false;
    Node* expected = nullptr;
    if (!chunks_[i].compare_exchange_strong(expected, static_cast<Node*>(pages),
                                            std::memory_order_acq_rel)) {
      unmap_pages(pages, sizeof(Node) * kPerChunk);
    }
    return true;
  }

  std::atomic<uint64_t> free_{0};
  std::atomic<uint32_t> used_{0};
  std::atomic<Node*> chunks_[kMaxChunks] = {};
};

}  // namespace filibuster::preload
