// Big-endian bytes of class files, read and written within bounds: after the first step outside
// them everything is zero, and `ok` says so.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace filibuster::preload::jvm {

struct Reader {
  std::span<const uint8_t> bytes;
  size_t at = 0;
  bool ok = true;

  size_t left() const { return bytes.size() - at; }
  std::span<const uint8_t> take(size_t size) {
    if (!ok || size > left()) {
      ok = false;
      return {};
    }
    at += size;
    return bytes.subspan(at - size, size);
  }
  uint32_t number(size_t size) {
    uint32_t value = 0;
    for (uint8_t byte : take(size)) value = value << 8 | byte;
    return value;
  }
  uint8_t u1() { return static_cast<uint8_t>(number(1)); }
  uint16_t u2() { return static_cast<uint16_t>(number(2)); }
  uint32_t u4() { return number(4); }
};

struct Writer {
  std::span<uint8_t> bytes;
  size_t at = 0;
  bool ok = true;

  void put(std::span<const uint8_t> data) {
    if (!ok || data.size() > bytes.size() - at) {
      ok = false;
      return;
    }
    if (!data.empty()) std::memcpy(bytes.data() + at, data.data(), data.size());
    at += data.size();
  }
  void put(std::string_view text) {
    put({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  void number(uint32_t value, size_t size) {
    uint8_t data[4];
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<uint8_t>(value >> (8 * (size - 1 - i)));
    put({data, size});
  }
  void u1(uint32_t value) { number(value, 1); }
  void u2(uint32_t value) { number(value, 2); }
  void u4(uint32_t value) { number(value, 4); }
  // Overwrites what was written before.
  void patch(size_t where, uint32_t value, size_t size) {
    if (!ok) return;
    for (size_t i = 0; i < size; ++i)
      bytes[where + i] = static_cast<uint8_t>(value >> (8 * (size - 1 - i)));
  }
};

}  // namespace filibuster::preload::jvm
