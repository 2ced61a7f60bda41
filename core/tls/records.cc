#include "core/tls/records.h"

#include <cstring>

#include "core/tls/client_hello.h"

namespace filibuster::tls {
namespace {

constexpr size_t kSizeAt = 3;

size_t size_in(const char (&header)[kRecordHeader]) {
  return static_cast<size_t>(static_cast<uint8_t>(header[kSizeAt])) << 8 |
         static_cast<uint8_t>(header[kSizeAt + 1]);
}

}  // namespace

void write_record_header(size_t size, char (&out)[kRecordHeader]) {
  const char header[] = {static_cast<char>(ContentType::kApplicationData), 3, 3,
                         static_cast<char>(size >> 8), static_cast<char>(size)};
  std::memcpy(out, header, sizeof header);
}

RecordRest rest_of_record(std::string_view bytes) {
  RecordRest rest;
  while (bytes.size() >= kRecordHeader) {
    std::memcpy(rest.header, bytes.data(), kRecordHeader);
    bytes.remove_prefix(kRecordHeader);
    const size_t size = size_in(rest.header);
    if (size > bytes.size()) {
      rest.zeros = static_cast<uint32_t>(size - bytes.size());
      return rest;
    }
    bytes.remove_prefix(size);
  }
  if (bytes.empty()) return rest;
  // A record of no bytes would be none for some readers.
  write_record_header(1, rest.header);
  std::memcpy(rest.header, bytes.data(), bytes.size());
  rest.header_left = static_cast<uint8_t>(kRecordHeader - bytes.size());
  rest.zeros = static_cast<uint32_t>(size_in(rest.header));
  return rest;
}

}  // namespace filibuster::tls
