// Fields of records one after the other, in host byte order (a ring is read on the machine that wrote it) and without
// padding. A text has its length before it, in 16 bits; a longer one is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "core/hash.h"

namespace filibuster {

// Each call writes one field. False: it does not fit.
class FieldWriter {
 public:
  FieldWriter(uint8_t* out, size_t size) : out_(out), size_(size) {}

  template <typename T>
  bool operator()(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put(&value, sizeof value);
  }
  bool operator()(const Hash128& hash) { return (*this)(hash.hi) && (*this)(hash.lo); }
  bool operator()(const std::string_view& text) {
    const auto length = static_cast<uint16_t>(text.size() < 65535 ? text.size() : 65535);
    return (*this)(length) && put(text.data(), length);
  }
  size_t written() const { return used_; }

 private:
  bool put(const void* data, size_t size) {
    if (size > size_ - used_) return false;
    if (size != 0) std::memcpy(out_ + used_, data, size);
    used_ += size;
    return true;
  }
  uint8_t* out_;
  size_t size_;
  size_t used_ = 0;
};

// Each call reads one field. False: the bytes are cut short. Texts are views of the bytes.
class FieldReader {
 public:
  FieldReader(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  template <typename T>
  bool operator()(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (sizeof value > size_) return false;
    std::memcpy(&value, data_, sizeof value);
    skip(sizeof value);
    return true;
  }
  bool operator()(Hash128& hash) { return (*this)(hash.hi) && (*this)(hash.lo); }
  bool operator()(std::string_view& text) {
    uint16_t length = 0;
    if (!(*this)(length) || length > size_) return false;
    text = {reinterpret_cast<const char*>(data_), length};
    skip(length);
    return true;
  }

  size_t left() const { return size_; }

 private:
  void skip(size_t size) {
    data_ += size;
    size_ -= size;
  }
  const uint8_t* data_;
  size_t size_;
};

}  // namespace filibuster
