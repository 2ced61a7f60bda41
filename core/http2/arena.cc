#include "core/http2/arena.h"

#include <cstring>

namespace filibuster::http2 {
namespace {

constexpr uint8_t kFree = 0x80;

}  // namespace

Arena::Arena(void* memory, size_t size)
    : orders_(static_cast<uint8_t*>(memory)), base_(static_cast<char*>(memory)) {
  const auto table = [](unsigned order) {  // one byte for each unit, in whole units
    return ((size_t{1} << order) + kUnit - 1) / kUnit * kUnit;
  };
  while (top_ + 1 < kOrders && table(top_ + 1) + (kUnit << (top_ + 1)) <= size) ++top_;
  usable_ = table(top_) + (kUnit << top_) <= size;
  base_ += table(top_);
}

void Arena::push(size_t unit, unsigned order) {
  FreeBlock* block = block_at(unit);
  block->previous = nullptr;
  block->next = free_[order];
  if (block->next != nullptr) block->next->previous = block;
  free_[order] = block;
  orders_[unit] = static_cast<uint8_t>(order | kFree);
}

void Arena::unlink(size_t unit, unsigned order) {
  FreeBlock* block = block_at(unit);
  if (block->next != nullptr) block->next->previous = block->previous;
  if (block->previous != nullptr) {
    block->previous->next = block->next;
  } else {
    free_[order] = block->next;
  }
}

void* Arena::allocate(size_t size) {
  if (!begun_ && usable_) {
    begun_ = true;
    push(0, top_);
  }
  unsigned order = 0;
  while (order < kOrders && (kUnit << order) < size) ++order;
  unsigned from = order;
  while (from < kOrders && free_[from] == nullptr) ++from;
  if (from >= kOrders) {
    refused_ = true;
    return nullptr;
  }
  const size_t unit = unit_of(free_[from]);
  unlink(unit, from);
  while (from > order) {  // give the upper half back
    --from;
    push(unit + (size_t{1} << from), from);
  }
  orders_[unit] = static_cast<uint8_t>(order);
  used_ += kUnit << order;
  return block_at(unit);
}

void* Arena::reallocate(void* block, size_t size) {
  if (block == nullptr) return allocate(size);
  const size_t held = kUnit << orders_[unit_of(block)];
  if (size <= held) return block;
  void* larger = allocate(size);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, block, held);
  release(block);
  return larger;
}

void Arena::release(void* block) {
  if (block == nullptr) return;
  size_t unit = unit_of(block);
  unsigned order = orders_[unit];
  used_ -= kUnit << order;
  for (; order < top_; ++order) {
    const size_t buddy = unit ^ (size_t{1} << order);
    if (orders_[buddy] != (order | kFree)) break;
    unlink(buddy, order);
    // No block begins at the upper half any more: its old mark must not look like one.
    orders_[unit > buddy ? unit : buddy] = 0;
    unit = unit < buddy ? unit : buddy;
  }
  push(unit, order);
}

}  // namespace filibuster::http2
