// Numbers and vectors from the front of a text, as messages of TLS have them (RFC 8446 §3). After a read beyond the end,
// all is empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster::tls {

class Reading {
 public:
  explicit Reading(std::string_view bytes) : left_(bytes) {}
  bool at_end() const { return left_.empty(); }
  std::string_view left() const { return left_; }
  size_t number(size_t bytes) {
    size_t value = 0;
    for (const char byte : take(bytes)) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }
  // A vector whose length stands before it, in so many bytes.
  std::string_view vector(size_t length_bytes) {
    const size_t size = number(length_bytes);
    return take(size);
  }
  std::string_view take(size_t size) {
    if (size > left_.size()) {
      left_ = {};
      return {};
    }
    const std::string_view out = left_.substr(0, size);
    left_.remove_prefix(size);
    return out;
  }

 private:
  std::string_view left_;
};

}  // namespace filibuster::tls
