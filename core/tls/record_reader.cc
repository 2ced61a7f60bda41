#include "core/tls/record_reader.h"

#include <algorithm>
#include <cstring>

#include "core/tls/reading.h"

namespace filibuster::tls {
namespace {

// RFC 8446 §5.2: at most 2^14 bytes, and 256 for the encryption; older versions may use 2048.
constexpr size_t kLongest = (1u << 14) + 2048;
constexpr uint8_t kMajor = 3, kNewestMinor = 4;

// The type of the content (one byte), and the tag of the cipher (all of TLS 1.3 but CCM_8 have 16 bytes).
constexpr uint16_t kAround13 = 1 + 16;
// The longest of what is no request: a WINDOW_UPDATE of HTTP/2 (RFC 9113 §6.9).
constexpr uint16_t kSmall = 9 + 4;
// Certificate, CertificateVerify and Finished, and EndOfEarlyData before them.
constexpr uint8_t kMostOfHandshake = 4;

bool is_type(uint8_t value) {
  return value >= static_cast<uint8_t>(ContentType::kChangeCipherSpec) &&
         value <= static_cast<uint8_t>(ContentType::kApplicationData) + 1;  // and heartbeat
}

}  // namespace

RecordReader::Stop RecordReader::feed(std::string_view* bytes) {
  while (!bytes->empty() && at_ != At::kGarbled) {
    if (at_ == At::kInHeader) {
      const size_t more = std::min(bytes->size(), kHeader - header_size_);
      std::memcpy(header_ + header_size_, bytes->data(), more);
      header_size_ = static_cast<uint8_t>(header_size_ + more);
      bytes->remove_prefix(more);
      if (header_size_ < kHeader) break;
      header_size_ = 0;
      left_ = static_cast<size_t>(header_[3] << 8 | header_[4]);
      if (!is_type(header_[0]) || header_[1] != kMajor || header_[2] > kNewestMinor ||
          left_ > kLongest) {
        at_ = At::kGarbled;
        break;
      }
      record_ = {static_cast<ContentType>(header_[0]), static_cast<uint16_t>(left_)};
      kept_ = 0;
      keep_up_to_ = record_.type == ContentType::kHandshake ? std::min(left_, kKept) : 0;
      at_ = keep_up_to_ > 0 ? At::kInKept : left_ > 0 ? At::kInRest : At::kInHeader;
      return Stop::kRecord;
    }
    if (at_ == At::kInKept) {
      const size_t more = std::min(bytes->size(), keep_up_to_ - kept_);
      std::memcpy(body_ + kept_, bytes->data(), more);
      kept_ += more;
      left_ -= more;
      bytes->remove_prefix(more);
      if (kept_ < keep_up_to_) break;
      at_ = left_ > 0 ? At::kInRest : At::kInHeader;
      return Stop::kBody;
    }
    const size_t more = std::min(bytes->size(), left_);
    left_ -= more;
    bytes->remove_prefix(more);
    if (left_ == 0) at_ = At::kInHeader;
  }
  return at_ == At::kGarbled ? Stop::kGarbled : Stop::kEnd;
}

bool read_server_hello(std::string_view body, ServerChoice* choice) {
  constexpr size_t kServerHello = 2, kVersion = 0x0303, kSupportedVersions = 43, kTls13 = 0x0304;
  Reading message(body);
  if (message.number(1) != kServerHello) return false;
  const size_t size = message.number(3);
  if (size > message.left().size()) return false;
  Reading hello(message.take(size));
  if (hello.number(2) > kVersion) return false;
  hello.take(std::tuple_size_v<ClientRandom>);
  hello.vector(1);  // the session's id
  if (hello.at_end()) return false;
  *choice = {};
  choice->cipher_suite = static_cast<uint16_t>(hello.number(2));
  hello.number(1);  // the compression method
  Reading extensions(hello.vector(2));
  while (!extensions.at_end()) {
    const size_t type = extensions.number(2);
    Reading value(extensions.vector(2));
    if (type == kSupportedVersions && value.number(2) == kTls13) choice->is_tls13 = true;
  }
  return true;
}

void ClientTurns::choose(const ServerChoice& choice) {
  if (chosen_) return;
  chosen_ = true;
  encrypts_handshake_ = choice.is_tls13;
  // Finished holds a hash (RFC 8446 §4.4.4), behind the header of a handshake message.
  constexpr uint16_t kAes256GcmSha384 = 0x1302;
  finished_ =
      static_cast<uint16_t>(4 + (choice.cipher_suite == kAes256GcmSha384 ? 48 : 32) + kAround13);
}

bool ClientTurns::says_something(const Record& record) {
  if (record.type != ContentType::kApplicationData) return false;
  if (encrypts_handshake_ && records_ < kMostOfHandshake) {
    ++records_;
    if (record.length == finished_) encrypts_handshake_ = false;
    return false;
  }
  encrypts_handshake_ = false;
  return record.length > kSmall + kAround13;
}

}  // namespace filibuster::tls
