#include "core/hash.h"

// Inlined: no symbol of libxxhash is needed at run time, and none of a host's copy can be taken.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstring>
#include <new>

#include "core/text/ascii.h"
#include "core/text/hex.h"

namespace filibuster {
namespace {

Hash128 from_xxh(XXH128_hash_t hash) {
  return Hash128{hash.high64, hash.low64};
}

// Big endian, so that combinations are the same on machines of either byte order.
void put64(uint64_t value, void* out) {
  if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap64(value);
  std::memcpy(out, &value, sizeof value);
}

}  // namespace

Hash128 hash_bytes(const void* data, size_t size) {
  return from_xxh(XXH3_128bits(data, size));
}

Hash128 combine(Hash128 a, Hash128 b) {
  unsigned char bytes[32];
  put64(a.hi, bytes);
  put64(a.lo, bytes + 8);
  put64(b.hi, bytes + 16);
  put64(b.lo, bytes + 24);
  return hash_bytes(bytes, sizeof bytes);
}

Hash128 combine(Hash128 a, uint64_t b) {
  unsigned char bytes[24];  // not the 32 bytes of two hashes: the two combinations are never equal
  put64(a.hi, bytes);
  put64(a.lo, bytes + 8);
  put64(b, bytes + 16);
  return hash_bytes(bytes, sizeof bytes);
}

void to_hex(Hash128 hash, char* out) {
  put_hex_group(static_cast<uint32_t>(hash.hi >> 32), out);
  put_hex_group(static_cast<uint32_t>(hash.hi), out + 8);
  put_hex_group(static_cast<uint32_t>(hash.lo >> 32), out + 16);
  put_hex_group(static_cast<uint32_t>(hash.lo), out + 24);
}

std::string to_hex(Hash128 hash) {
  std::string text(32, '0');
  to_hex(hash, text.data());
  return text;
}

bool from_hex(std::string_view text, Hash128* out) {
  if (text.size() != 32) return false;
  Hash128 hash;
  for (size_t i = 0; i < 32; ++i) {
    const int value = hex_digit(text[i]);
    if (value < 0) return false;
    uint64_t& half = i < 16 ? hash.hi : hash.lo;
    half = half << 4 | static_cast<uint64_t>(value);
  }
  *out = hash;
  return true;
}

void* HashStream::state() const {
  static_assert(sizeof(XXH3_state_t) <= kStateSize && alignof(XXH3_state_t) <= kStateAlign);
  const auto address = reinterpret_cast<uintptr_t>(storage_);
  return reinterpret_cast<void*>((address + kStateAlign - 1) & ~uintptr_t{kStateAlign - 1});
}

void HashStream::reset() {
  short_size_ = 0;
  long_ = false;
}

void HashStream::update(const void* data, size_t size) {
  if (size == 0) return;
  if (!long_) {
    if (size <= kShort - short_size_) {
      std::memcpy(storage_ + short_size_, data, size);
      short_size_ += size;
      return;
    }
    unsigned char kept[kShort];
    std::memcpy(kept, storage_, short_size_);
    XXH3_state_t* state_of = ::new (state()) XXH3_state_t;
    XXH3_INITSTATE(state_of);
    XXH3_128bits_reset(state_of);
    XXH3_128bits_update(state_of, kept, short_size_);
    long_ = true;
  }
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state()), data, size);
}

Hash128 HashStream::digest() const {
  if (!long_) return hash_bytes(storage_, short_size_);
  return from_xxh(XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state())));
}

}  // namespace filibuster
