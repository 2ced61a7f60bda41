#include "core/tls/client_hello.h"

#include <algorithm>
#include <cstring>

#include "core/tls/reading.h"

namespace filibuster::tls {
namespace {

constexpr uint8_t kClientHello = 1;   // HandshakeType
constexpr uint8_t kMajorVersion = 3;  // of any version from SSL 3.0 to TLS 1.3
constexpr uint8_t kMostMinor = 4;

// Of the record, then of the handshake message in it, which has a length of 24 bits.
constexpr size_t kHeaderOfRecord = 5, kMessageHeader = 4;

}  // namespace

Hello sniff_client_hello(std::string_view first, ClientRandom* random) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(first[at]); };
  struct Expected {
    size_t at;
    uint8_t least, most;
  };
  constexpr auto kHandshake = static_cast<uint8_t>(ContentType::kHandshake);
  constexpr size_t kVersion = kHeaderOfRecord + kMessageHeader;
  constexpr Expected kExpected[] = {
      {0, kHandshake, kHandshake},
      {1, kMajorVersion, kMajorVersion},
      {2, 0, kMostMinor},
      {kHeaderOfRecord, kClientHello, kClientHello},
      // More than 64 KiB is no ClientHello of any client.
      {kHeaderOfRecord + 1, 0, 0},
      {kVersion, kMajorVersion, kMajorVersion},
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

namespace {

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

}  // namespace

std::string_view server_name(std::string_view first) {
  if (sniff_client_hello(first, nullptr) != Hello::kYes) return {};
  Reading record(first.substr(3));
  Reading message(record.vector(2));
  message.take(1);  // its type
  Reading hello(message.vector(3));
  hello.take(2 + std::tuple_size_v<ClientRandom>);
  hello.vector(1);  // the session's id
  hello.vector(2);  // cipher suites
  hello.vector(1);  // compression methods
  Reading extensions(hello.vector(2));
  while (!extensions.at_end()) {
    constexpr size_t kServerName = 0, kHostName = 0;
    const bool is_it = extensions.number(2) == kServerName;
    Reading list(extensions.vector(2));
    if (!is_it) continue;
    Reading names(list.vector(2));
    if (names.at_end() || names.number(1) != kHostName) return {};
    const std::string_view name = names.vector(2);
    return is_name(name) ? name : std::string_view();
  }
  return {};
}

Hello sniff_server(std::string_view first) {
  if (first.empty()) return Hello::kNeedMore;
  const auto type = static_cast<ContentType>(first[0]);
  if (type != ContentType::kHandshake && type != ContentType::kAlert) return Hello::kNo;
  if (first.size() > 1 && static_cast<uint8_t>(first[1]) != kMajorVersion) return Hello::kNo;
  if (first.size() > 2 && static_cast<uint8_t>(first[2]) > kMostMinor) return Hello::kNo;
  return first.size() < 3 ? Hello::kNeedMore : Hello::kYes;
}

bool begins_record(std::string_view bytes, ContentType type) {
  return bytes.size() >= 3 && static_cast<uint8_t>(bytes[0]) == static_cast<uint8_t>(type) &&
         static_cast<uint8_t>(bytes[1]) == kMajorVersion &&
         static_cast<uint8_t>(bytes[2]) <= kMostMinor;
}

}  // namespace filibuster::tls
