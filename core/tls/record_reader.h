// The records of a TLS connection that nobody decrypts (RFC 8446 §5.1, RFC 5246 §6.2.1): where the client begins to say
// something behind its handshake, and where the server does. Of what is encrypted only lengths are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/tls/client_hello.h"

namespace filibuster::tls {

struct Record {
  ContentType type = ContentType::kHandshake;
  uint16_t length = 0;  // of what follows its header
};

// Splits one direction of a connection into records, whatever the pieces that it comes in.
class RecordReader {
 public:
  // What feed() stopped at.
  enum class Stop : uint8_t {
    kEnd,      // all bytes are read
    kRecord,   // a header is complete: `record()`
    kBody,     // the first bytes of a handshake record are complete: `body()`
    kGarbled,  // this is no TLS; nothing is read any more
  };
  // Reads from the front of *bytes, and takes away what it has read. To be called until kEnd or kGarbled.
  Stop feed(std::string_view* bytes);

  const Record& record() const { return record_; }
  static constexpr size_t kHeader = 5;  // bytes of a header
  // The body of a handshake record, or its first kKept bytes.
  static constexpr size_t kKept = 512;
  std::string_view body() const { return {body_, kept_}; }

 private:
  enum class At : uint8_t { kInHeader, kInKept, kInRest, kGarbled } at_ = At::kInHeader;
  uint8_t header_size_ = 0;
  uint8_t header_[kHeader] = {};
  Record record_;
  size_t left_ = 0;  // of the record's body
  size_t keep_up_to_ = 0;
  size_t kept_ = 0;
  char body_[kKept];
};

// What a server has chosen.
struct ServerChoice {
  bool is_tls13 = false;
  uint16_t cipher_suite = 0;
};
// Reads the ServerHello with which a handshake record begins. False: it is none, or not all of it is there.
bool read_server_hello(std::string_view body, ServerChoice* choice);

// Tells the client's requests from what else its records hold.
class ClientTurns {
 public:
  void choose(const ServerChoice& choice);
  // Does this record of the client say something to the server, behind the handshake? Alerts, updates of keys and what
  // HTTP/2 acknowledges are too small to do so.
  bool says_something(const Record& record);

 private:
  bool chosen_ = false;
  bool encrypts_handshake_ =
      false;               // the client's part of the handshake is not over, and looks like data
  uint16_t finished_ = 0;  // length of the record that ends it
  uint8_t records_ = 0;    // of that part
};

}  // namespace filibuster::tls
