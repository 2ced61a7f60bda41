// Bytes that wait to be sent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace filibuster {

class ByteQueue {
 public:
  void append(std::string_view bytes) { bytes_.append(bytes); }
  std::string_view view() const { return std::string_view(bytes_).substr(head_); }
  size_t size() const { return bytes_.size() - head_; }
  bool empty() const { return size() == 0; }
  // The first `count` bytes were sent.
  void take(size_t count) {
    head_ += count;
    if (head_ == bytes_.size()) {
      clear();
    } else if (head_ > bytes_.size() / 2) {
      bytes_.erase(0, head_);
      head_ = 0;
    }
  }
  void clear() {
    // What a burst needed is not kept for the life of the connection.
    if (bytes_.capacity() > kKept) {
      bytes_ = {};
    } else {
      bytes_.clear();
    }
    head_ = 0;
  }

 private:
  static constexpr size_t kKept = 64 * 1024;
  std::string bytes_;
  size_t head_ = 0;
};

}  // namespace filibuster
