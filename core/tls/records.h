// Records of TLS, seen from outside (RFC 8446 §5.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster::tls {

inline constexpr size_t kRecordHeader = 5;
inline constexpr size_t kMostInRecord = 16 * 1024;

// What completes a record of which only a part came: the last `header_left` bytes of `header`, then so many zeros.
struct RecordRest {
  char header[kRecordHeader] = {};
  uint8_t header_left = 0;
  uint32_t zeros = 0;
};

// `bytes` begin where a record does. Its rest is empty if they end where one does.
RecordRest rest_of_record(std::string_view bytes);

// Writes the header of a record of application data with `size` bytes, kMostInRecord at most.
void write_record_header(size_t size, char (&out)[kRecordHeader]);

}  // namespace filibuster::tls
