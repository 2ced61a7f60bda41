// One end of a connection of session_model.h: its session of OpenSSL, and what its application has written and read.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/programs/tls/session_model.h"

namespace sessions {

enum Ways : uint8_t {
  kClientMemory = 1,  // the client's bytes go over memory BIOs, and the application moves them
  kServerMemory = 2,
  kPartialWrites = 4,
  kMovingBuffer = 8,
  kTls12 = 16,
  kNoProtocol = 32,  // what is written is none that is followed
  kReadAhead = 64,
  kEarlyAnswers = 128,  // the server answers what it has not read whole
};

[[noreturn]] inline void wrong(const char* who, const std::string& what) {
  std::fprintf(stderr, "%s: %s (errno: %s)\n", who, what.c_str(), std::strerror(errno));
  ERR_print_errors_fp(stderr);
  std::abort();
}

// One end: its session, what its application has to write, and what it has written and read.
class End {
 public:
  End(const char* who, SSL_CTX* context, int fd, bool memory, uint8_t ways, bool client)
      : who_(who), fd_(fd), memory_(memory), ways_(ways) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ssl_ = SSL_new(context);
    if (memory) {
      BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
      BIO_set_mem_eof_return(in, -1);
      BIO_set_mem_eof_return(out, -1);
      SSL_set_bio(ssl_, in, out);
    } else {
      SSL_set_fd(ssl_, fd);
    }
    uint64_t mode = 0;
    if (ways & kPartialWrites) mode |= SSL_MODE_ENABLE_PARTIAL_WRITE;
    if (ways & kMovingBuffer) mode |= SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;
    SSL_set_mode(ssl_, static_cast<long>(mode));
    if (ways & kTls12) SSL_set_max_proto_version(ssl_, TLS1_2_VERSION);
    if (ways & kReadAhead) SSL_set_read_ahead(ssl_, 1);
    if (client)
      SSL_set_connect_state(ssl_);
    else
      SSL_set_accept_state(ssl_);
  }
  ~End() { close_now(); }
  End(const End&) = delete;

  bool is_open() const { return fd_ >= 0; }
  bool is_broken() const { return broken_; }
  bool is_made() const { return ssl_ != nullptr && SSL_is_init_finished(ssl_) == 1; }
  // May there be more of what the other end has written?
  bool may_read() const { return is_open() && !broken_ && !ended_; }
  bool may_write() const { return is_open() && !broken_ && !notified_ && !writes_ended_; }
  bool has_closed() const { return !is_open() || writes_ended_ || notified_; }
  bool notified() const { return notified_; }

  void to_write(std::string_view bytes) { waiting_ += bytes; }
  size_t waiting() const { return waiting_.size(); }
  const std::string& written() const { return written_; }
  const std::string& read() const { return read_; }

  void step_handshake() {
    if (!is_open() || broken_) return;
    ERR_clear_error();
    check_failure(SSL_do_handshake(ssl_));
  }

  void write(size_t size, bool ex) {
    if (!may_write()) return;
    size = std::max(std::min(size, waiting_.size()), retried_);
    if (size == 0) return;
    // A retry comes with the same bytes, at another place if the mode allows it.
    if (retried_ == 0 || (ways_ & kMovingBuffer) != 0) buffer_ = std::string(waiting_, 0, size);
    if ((ways_ & kMovingBuffer) == 0) size = std::min(size, buffer_.size());
    ERR_clear_error();
    size_t moved = 0;
    int result;
    if (ex) {
      result = SSL_write_ex(ssl_, buffer_.data(), size, &moved);
    } else {
      result = SSL_write(ssl_, buffer_.data(), static_cast<int>(size));
      if (result > 0) moved = static_cast<size_t>(result);
    }
    if (result > 0) {
      if (moved > size || moved == 0) wrong(who_, "more was written than was offered, or nothing");
      if (moved < size && (ways_ & kPartialWrites) == 0)
        wrong(who_, "a part was written, which the mode forbids");
      written_.append(waiting_, 0, moved);
      waiting_.erase(0, moved);
      retried_ = 0;
      return;
    }
    check_failure(result);
    if (!broken_) retried_ = size;
  }

  // `from`: the other end. False: nothing came.
  bool read(size_t size, bool ex, bool peek, const End& from) {
    if (!is_open() || broken_ || size == 0) return false;
    std::string buffer(size, '\0');
    const bool pending = SSL_pending(ssl_) > 0;
    // An answer in the place of the server's comes from another process: at any time.
    const bool quiet = fault_ == Fault::kNone && !memory_ && !pending &&
                       SSL_has_pending(ssl_) == 0 && !is_readable();
    ERR_clear_error();
    errno = 0;
    size_t moved = 0;
    int result;
    if (ex) {
      result = (peek ? SSL_peek_ex : SSL_read_ex)(ssl_, buffer.data(), size, &moved);
    } else {
      result = (peek ? SSL_peek : SSL_read)(ssl_, buffer.data(), static_cast<int>(size));
      if (result > 0) moved = static_cast<size_t>(result);
    }
    if (result <= 0) {
      if (pending) wrong(who_, "bytes were pending, and are not read");
      check_failure(result);
      return false;
    }
    if (quiet)
      wrong(who_, "bytes are read, but neither the descriptor nor SSL_pending told of them");
    if (moved > size || moved == 0)
      wrong(who_, "more was read than there was room for, or nothing");
    if (ended_) wrong(who_, "bytes are read behind the end");
    read_.append(buffer, 0, moved);
    check_bytes(from);
    if (peek) {
      read_.resize(read_.size() - moved);
      if (SSL_pending(ssl_) < static_cast<int>(moved))
        wrong(who_, "what was looked at is not pending");
    }
    return true;
  }

  void check_pending() const {
    if (!is_open()) return;
    const int pending = SSL_pending(ssl_);
    if (pending < 0) wrong(who_, "a negative number is pending");
    if (pending > 0 && SSL_has_pending(ssl_) != 1)
      wrong(who_, "SSL_pending and SSL_has_pending differ");
  }

  void check_states(const End& from) const {
    // (An alert ends both directions. SSL_shutdown, which reads when it is called again, takes the alert of an end that is
    // broken for its end.)
    if (!is_open() || broken_) return;
    const int state = SSL_get_shutdown(ssl_);
    if ((state & SSL_RECEIVED_SHUTDOWN) != 0 && !from.notified_ && !from.broken_ &&
        fault_ == Fault::kNone)
      wrong(who_, "an end was received that nobody has sent");
    if ((state & SSL_SENT_SHUTDOWN) != 0 && !notified_ && !broken_)
      wrong(who_, "an end was sent that nobody has asked for");
    if (notified_ && (state & SSL_SENT_SHUTDOWN) == 0) wrong(who_, "SSL_shutdown left no trace");
    if (ended_ && (state & SSL_RECEIVED_SHUTDOWN) == 0)
      wrong(who_, "SSL_ERROR_ZERO_RETURN left no trace");
    if (SSL_get_fd(ssl_) != (memory_ ? -1 : fd_))
      wrong(who_, "SSL_get_fd gives another descriptor");
  }

  void shut_down() {
    // OpenSSL refuses it during a handshake, and a write that has to be repeated would be lost.
    if (!is_open() || broken_ || !is_made() || retried_ != 0) return;
    ERR_clear_error();
    const int result = SSL_shutdown(ssl_);
    if (result >= 0) {
      notified_ = true;
    } else {
      const int error = SSL_get_error(ssl_, result);
      if (error == SSL_ERROR_SSL || error == SSL_ERROR_SYSCALL) broken_ = true;
      notified_ = true;
    }
  }
  void end_writes() {
    if (!is_open() || memory_ || retried_ != 0) return;
    shutdown(fd_, SHUT_WR);
    writes_ended_ = true;
  }
  void close_now() {
    if (!is_open()) return;
    int unread = 0;
    ioctl(fd_, FIONREAD, &unread);
    // The kernel resets a connection that is closed with bytes unread: what is on its way may be lost.
    lost_ = lost_ || unread > 0 || (memory_ && BIO_pending(SSL_get_wbio(ssl_)) > 0);
    SSL_free(ssl_);
    ssl_ = nullptr;
    close(fd_);
    fd_ = -1;
  }
  bool lost() const { return lost_ || broken_ || faulted_; }

  // Moves bytes between the memory BIOs and the descriptor, as an application does.
  bool move_out(size_t most) {
    if (!is_open() || !memory_) return false;
    BIO* out = SSL_get_wbio(ssl_);
    char* data = nullptr;
    const long there = BIO_get_mem_data(out, &data);
    if (there <= 0) return false;
    const ssize_t sent = send(fd_, data, std::min(most, static_cast<size_t>(there)), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    std::string taken(static_cast<size_t>(sent), '\0');
    BIO_read(out, taken.data(), static_cast<int>(sent));
    return true;
  }
  bool move_in(size_t most) {
    if (!is_open() || !memory_) return false;
    std::string bytes(most, '\0');
    const ssize_t got = recv(fd_, bytes.data(), bytes.size(), 0);
    if (got > 0) BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(got));
    if (got == 0) BIO_set_mem_eof_return(SSL_get_rbio(ssl_), 0);
    return got > 0;
  }

  bool is_readable() const {
    pollfd ready{fd_, POLLIN, 0};
    return poll(&ready, 1, 0) == 1;
  }
  int fd() const { return fd_; }
  bool faulted() const { return faulted_; }
  void expect(Fault fault) { fault_ = fault; }

 private:
  void check_bytes(const End& from) {
    if (faulted_) return;
    if (from.written_.compare(0, read_.size(), read_) == 0 && read_.size() <= from.written_.size())
      return;
    // A write that is repeated has sent bytes already.
    const std::string sent = from.written_ + from.buffered();
    if (sent.compare(0, read_.size(), read_) == 0 && read_.size() <= sent.size()) return;
    constexpr std::string_view kPlanned = "HTTP/1.1 503 ";
    size_t same = 0;
    while (same < read_.size() && same < sent.size() && read_[same] == sent[same]) ++same;
    const size_t head = read_.rfind("HTTP/1.1 ", same);
    if (fault_ == Fault::kAnswer && head != std::string::npos &&
        kPlanned.compare(0, std::min(kPlanned.size(), read_.size() - head), read_, head,
                         kPlanned.size()) == 0) {
      faulted_ = true;
      return;
    }
    wrong(who_, "byte " + std::to_string(same) + " is not what was written: \"" +
                    read_.substr(same, 40) + "\" for \"" +
                    (same < sent.size() ? sent.substr(same, 40) : "") + "\"");
  }
  std::string buffered() const {
    return retried_ == 0 ? std::string() : waiting_.substr(0, retried_);
  }

  void check_failure(int result) {
    if (result > 0) return;
    const int number = errno;
    const int error = SSL_get_error(ssl_, result);
    const int want = SSL_want(ssl_);
    switch (error) {
      case SSL_ERROR_WANT_READ:
        if (want != SSL_READING) wrong(who_, "SSL_want differs from SSL_get_error");
        return;
      case SSL_ERROR_WANT_WRITE:
        if (want != SSL_WRITING) wrong(who_, "SSL_want differs from SSL_get_error");
        return;
      case SSL_ERROR_ZERO_RETURN:
        ended_ = true;
        return;
      case SSL_ERROR_SYSCALL:
      case SSL_ERROR_SSL:
        broken_ = true;
        if (fault_ == Fault::kReset) faulted_ = true;
        errno = number;
        return;
      default:
        wrong(who_, "SSL_get_error gives " + std::to_string(error));
    }
  }

  const char* who_;
  SSL* ssl_;
  int fd_;
  bool memory_;
  uint8_t ways_;
  Fault fault_ = Fault::kNone;
  std::string waiting_;  // to be written
  std::string buffer_;   // that a write was given
  size_t retried_ = 0;   // of it have to be offered again
  std::string written_, read_;
  bool broken_ = false, ended_ = false, notified_ = false, writes_ended_ = false, lost_ = false;
  bool faulted_ = false;
};

}  // namespace sessions
