#include "core/tls/client_hello.h"

#include <algorithm>
#include <cstring>

namespace filibuster::tls {
namespace {

constexpr uint8_t kClientHello = 1;  // HandshakeType
constexpr uint8_t kMajor = 3;        // of any version from SSL 3.0 to TLS 1.3
constexpr uint8_t kMostMinor = 4;

// Of the record, then of the handshake message in it, which has a length of 24 bits.
constexpr size_t kRecordHeader = 5, kMessageHeader = 4;

}  // namespace

Hello sniff_client_hello(std::string_view first, ClientRandom* random) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(first[at]); };
  struct Expected {
    size_t at;
    uint8_t least, most;
  };
  constexpr auto kHandshake = static_cast<uint8_t>(ContentType::kHandshake);
  constexpr size_t kVersion = kRecordHeader + kMessageHeader;
  constexpr Expected kExpected[] = {
      {0, kHandshake, kHandshake},
      {1, kMajor, kMajor},
      {2, 0, kMostMinor},
      {kRecordHeader, kClientHello, kClientHello},
      // More than 64 KiB is no ClientHello of any client.
      {kRecordHeader + 1, 0, 0},
      {kVersion, kMajor, kMajor},
      {kVersion + 1, 0, kMostMinor},
  };
  for (const Expected& expected : kExpected) {
    if (expected.at >= first.size()) return Hello::kNeedMore;
    if (byte(expected.at) < expected.least || byte(expected.at) > expected.most) return Hello::kNo;
  }
  if (first.size() < kUpToRandom) return Hello::kNeedMore;
  if (random != nullptr) std::memcpy(random->data(), first.data() + kVersion + 2, random->size());
  return Hello::kYes;
}

Hello sniff_server(std::string_view first) {
  if (first.empty()) return Hello::kNeedMore;
  const auto type = static_cast<ContentType>(first[0]);
  if (type != ContentType::kHandshake && type != ContentType::kAlert) return Hello::kNo;
  if (first.size() > 1 && static_cast<uint8_t>(first[1]) != kMajor) return Hello::kNo;
  if (first.size() > 2 && static_cast<uint8_t>(first[2]) > kMostMinor) return Hello::kNo;
  return first.size() < 3 ? Hello::kNeedMore : Hello::kYes;
}

bool begins_record(std::string_view bytes, ContentType type) {
  return bytes.size() >= 3 && static_cast<uint8_t>(bytes[0]) == static_cast<uint8_t>(type) &&
         static_cast<uint8_t>(bytes[1]) == kMajor && static_cast<uint8_t>(bytes[2]) <= kMostMinor;
}

}  // namespace filibuster::tls
