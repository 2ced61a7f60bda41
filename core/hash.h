// 128-bit hashes (XXH3): what is compared across executions is compared by these.
// Pure, allocation free, and the same on machines of either byte order.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace filibuster {

struct Hash128 {
  uint64_t hi = 0;
  uint64_t lo = 0;
  auto operator<=>(const Hash128&) const = default;
  bool is_zero() const { return hi == 0 && lo == 0; }
};

// Hash of `size` bytes.
Hash128 hash_bytes(const void* data, size_t size);
inline Hash128 hash_text(std::string_view text) {
  return hash_bytes(text.data(), text.size());
}

// Ordered combination: combine(a, b) != combine(b, a).
Hash128 combine(Hash128 a, Hash128 b);
Hash128 combine(Hash128 a, uint64_t b);

// 32 lower-case hexadecimal digits, no terminator. `out` has room for 32 bytes.
void to_hex(Hash128 hash, char* out);
std::string to_hex(Hash128 hash);
// False unless `text` is exactly 32 hexadecimal digits.
bool from_hex(std::string_view text, Hash128* out);

struct Hash128Hasher {
  size_t operator()(const Hash128& h) const {
    return static_cast<size_t>(h.lo ^ (h.hi * 0x9E3779B97F4A7C15ull));
  }
};

// The hash of bytes that arrive in pieces: digest() equals hash_bytes() of all of them, however
// they were split. Fixed size, no allocation; not copyable, because its state is aligned in place.
class HashStream {
 public:
  HashStream() = default;  // call reset() before the first update()
  HashStream(const HashStream&) = delete;
  HashStream& operator=(const HashStream&) = delete;

  void reset();
  void update(const void* data, size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }
  Hash128 digest() const;

 private:
  static constexpr size_t kStateSize = 576;
  static constexpr size_t kStateAlign = 64;
  // Up to this many bytes are only kept, at the start of the storage: most streams are short, and the
  // state of a long one is costly to begin.
  static constexpr size_t kShort = 512;
  size_t short_size_ = 0;
  bool long_ = false;
  // Aligned by hand: a slab that holds one of these needs no over-aligned allocation.
  void* state() const;
  unsigned char storage_[kStateSize + kStateAlign - 1];
};

}  // namespace filibuster
