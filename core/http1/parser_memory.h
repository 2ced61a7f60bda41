// What a parser of HTTP/1 keeps besides its state (message_parser.h). It is memory of the caller's, because there are many
// connections: a parser of responses needs no texts of requests, and one that waits for its next request needs none now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/rpc/request_ids.h"
#include "core/rpc/told_fields.h"

namespace filibuster::http1 {

inline constexpr size_t kMaxTarget = 2048;
inline constexpr size_t kMaxHost = 255;          // RFC 1035 §2.3.4
inline constexpr size_t kMaxOutstanding = 1024;  // requests of one connection without a response

// White space after a value is no part of it (RFC 9110 §5.5); llhttp removes only that before it.
std::string_view trim_end(std::string_view text);

// Keeps the first N bytes. Nothing is written before clear().
template <size_t N>
struct KeptText {
  void clear() {
    size = 0;
    truncated = false;
  }
  void append(const char* data, size_t count) {
    if (count > N - size) {
      truncated = true;
      count = N - size;
    }
    std::memcpy(bytes + size, data, count);
    size += count;
  }
  std::string_view view() const { return {bytes, size}; }

  size_t size;
  bool truncated;
  char bytes[N];
};

// The texts of the request that is under way. The views of its MessageHead point here.
struct RequestTexts {
  void clear();
  // Without the port.
  std::string_view host_name() const;
  // Is h2c in the list of protocols in Upgrade, with one HTTP2-Settings field?
  bool ask_for_h2c() const;

  uint8_t request_id_row;
  KeptText<kMaxRequestIdValue> request_id;
  ToldText told;
  KeptText<kMaxFieldName> name;  // of the current field; longer ones are of no interest
  KeptText<16> expect;
  KeptText<64> upgrade;
  KeptText<256> http2_settings;  // truncated: too long, or more than one
  KeptText<128> filibuster;
  KeptText<kMaxHost + 9> host;  // with ":65535"
  KeptText<kMaxTarget> target;
};

// What the next responses answer.
class Outstanding {
 public:
  enum class Expected : uint8_t { kOrdinary = 0, kNoBody = 1, kTunnel = 2 };
  // False: there are kMaxOutstanding of them.
  bool add(Expected expected);
  // kOrdinary if nothing is outstanding.
  Expected take();

 private:
  uint32_t first_ = 0;
  uint32_t count_ = 0;
  uint8_t ring_[kMaxOutstanding / 4] = {};  // two bits each
};

}  // namespace filibuster::http1
