// A whole message of HTTP, of either version: what http1_message.h and http2_message.h read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace filibuster::wire {

// In order, as they were sent; values without the blanks around them.
using Headers = std::vector<std::pair<std::string, std::string>>;

// What is beyond is not kept, and the message says so.
inline constexpr size_t kMostMessageBody = 4 * 1024 * 1024;
inline constexpr size_t kMostMessageHead = 256 * 1024;

struct HttpPiece {
  size_t size = 0;  // bytes of the body
  uint64_t time_ns = 0;

  bool operator==(const HttpPiece&) const = default;
};

struct HttpMessage {
  // HTTP/1: the n-th request of its connection, from 1, or the answer to the n-th one. HTTP/2: its stream.
  uint64_t number = 0;
  std::string method, target;  // requests
  uint16_t status = 0;         // answers
  std::string reason;
  uint8_t major = 1, minor = 1;  // of the version
  Headers headers, trailers;     // of HTTP/2 without pseudo-header fields (RFC 9113 §8.3)
  std::string body;              // chunked coding removed
  // The body as it came; bytes that were read at one time are one piece.
  std::vector<HttpPiece> pieces;
  bool chunked = false;
  bool until_close = false;  // the end of the connection ends the body
  bool keep_alive = true;
  bool upgraded = false;   // CONNECT, or 101: what follows is another protocol
  bool too_large = false;  // the body is only the beginning
  uint64_t unseen = 0;     // bytes of the body that went by unseen
  // When the first byte, the last one of the head and the last one were there.
  uint64_t begun_ns = 0, head_ns = 0, ended_ns = 0;
};

// Adds to the body and its pieces, as far as the bounds allow.
void add_to_body(HttpMessage* to, const char* data, size_t size, uint64_t time_ns);

}  // namespace filibuster::wire
