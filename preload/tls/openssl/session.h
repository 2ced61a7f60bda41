// One session of OpenSSL (an SSL), as the transport of a followed connection.
//
// While a fault stands in the place of the connection (inject/inject.h), its descriptor is an end of a
// pair, over which plain bytes go: the session then reads and writes by its BIOs, past the encryption. So
// whoever brings the bytes to the BIOs (OpenSSL by a socket BIO, or the application by memory) and in
// whatever way it waits for them, finds what it expects.
//
#pragma once

#include <cstddef>
#include <optional>

#include "preload/stream/wire.h"
#include "preload/tls/library_session.h"
#include "preload/tls/openssl/api.h"

namespace filibuster::preload::openssl {

// What a function such as SSL_read gives: `result` as it returns it, and how many bytes it moved.
struct Moved {
  int result = -1;
  size_t size = 0;
};

class Session final : public LibrarySession {
 public:
  static Session* make(const Api& api, Ssl* ssl);  // nullptr: no memory

  // The session of an SSL, if it has one.
  static Session* find(const Api& api, const Ssl* ssl);

  // The connection, with the descriptor that carries it. Empty: it is not followed.
  Pinned connection(int* fd);

  // Also true while bytes that were looked at are unread.
  bool reads_diverted() const;
  Moved read_diverted(void* data, size_t size, bool peek);
  Moved write_diverted(const void* data, size_t size);
  // Bytes that can be read without asking the BIO's source.
  size_t pending_diverted() const;
  // What errno, or 0 for an end, a result of OpenSSL's own stands for.
  int error_of(int result) const;

  ssize_t send(const OnTheWire& out) override;
  bool takes_parts() const override { return ssl_ == nullptr || writes_in_part(); }
  bool may_hold() override;
  void flushed(int fd) override;
  bool watches_descriptor() const override { return counted_; }
  bool has_unread() override;
  bool all_is_read() override { return pending_diverted() == 0; }
  int plain_end(int real) override;

  // OpenSSL frees the SSL.
  void freed();
  // The application does.
  void released();
  // A thread of the agent uses the SSL in the place of the application (tls/pump.h). The application goes on with
  // the BIOs that were the SSL's before, and with its descriptor.
  bool is_pumped() const { return pumped_; }
  Bio* read_bio() const { return pumped_ ? read_bio_ : api_->SSL_get_rbio(ssl_); }
  Bio* write_bio() const { return pumped_ ? write_bio_ : api_->SSL_get_wbio(ssl_); }
  int descriptor() const { return fed_ ? -1 : fd_; }

  bool writes_in_part() const;
  // Has the SSL's check of the server's certificate fail, if the plan says so (stream/handshake_faults.h).
  static void set_certificate_fault(const Api& api, Ssl* ssl, Connection& c);

  // What the last call on the SSL gave, if we gave it: SSL_get_error. kErrorNone: OpenSSL gave it.
  int own_error = kErrorNone;
  bool ended = false;   // the peer of a pair has closed it
  bool closed = false;  // the application has called SSL_shutdown meanwhile
  // What SSL_write of OpenSSL returned last, within send().
  bool wrote = false;
  int write_result = 0;
  // How many bytes were sent of a write that the application has to repeat.
  size_t partial = 0;

 private:
  void give_back() override;
  void joins(const Connection& c) override;
  uint64_t consumed() const override;
  // Drops encrypted bytes that the application has received before a fault took the connection's place.
  void skip_under_way(Bio* bio);
  void fail(Bio* bio, int result, int error, bool reading);
  // How much of what waits in the BIO was sent already.
  std::optional<size_t> sent_of_pending(Bio* bio) const;
  void flush_bio(Bio* bio) const;

  bool pumped_ = false;
  Bio *read_bio_ = nullptr, *write_bio_ = nullptr;

  const Api* api_ = nullptr;
  Ssl* ssl_ = nullptr;  // nullptr: it was freed
  // The application brings the bytes from the descriptor, and `fd_` was found by the ClientHello.
  bool fed_ = false;
  uint64_t to_skip_ = 0;
  // Bytes of a pair that were looked at (SSL_peek).
  HoldBuffer* peeked_ = nullptr;
  size_t peeked_from_ = 0, peeked_to_ = 0;
};

}  // namespace filibuster::preload::openssl
