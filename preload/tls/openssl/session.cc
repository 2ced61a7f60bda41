#include "preload/tls/openssl/session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "preload/inject/pair.h"
#include "preload/interpose.h"
#include "preload/os/pool.h"
#include "preload/os/raw_syscall.h"
#include "preload/stream/handshake_faults.h"
#include "preload/stream/registry.h"
#include "preload/tls/openssl/engine.h"

FILIBUSTER_REAL(ssize_t, send, (int, const void*, size_t, int))

namespace filibuster::preload::openssl {
namespace {

Pool<Session, 64, 1024> g_sessions;

// Can what is written into the BIO be read from it? Its name tells: libcurl gives the type of a memory BIO to its own
// one, which writes to the socket and reads from it.
bool is_memory(const Api& api, Bio* bio) {
  for (const char* name : {"memory buffer", "secure memory buffer", "node.js SSL buffer"}) {
    if (std::strcmp(api.BIO_method_name(bio), name) == 0) return true;
  }
  return false;
}

// The BIO from which what is written into this one is read, by the application; nullptr: not known. That of a pair
// (libgrpc has one) is what its data begin with, in each version from 1.0 to 3 (crypto/bio/bss_bio.c), and leads back.
Bio* source_of(const Api& api, Bio* bio) {
  if (is_memory(api, bio)) return bio;
  if (api.BIO_method_type(bio) != kTypePair) return nullptr;
  auto* const* data = static_cast<Bio**>(api.BIO_get_data(bio));
  Bio* peer = data != nullptr ? *data : nullptr;
  if (peer == nullptr || api.BIO_method_type(peer) != kTypePair) return nullptr;
  auto* const* back = static_cast<Bio**>(api.BIO_get_data(peer));
  return back != nullptr && *back == bio ? peer : nullptr;
}

}  // namespace

void ssl_freed(void* value) {
  static_cast<Session*>(value)->freed();
}

Session* Session::make(const Api& api, Ssl* ssl) {
  Session* memory = g_sessions.take();
  if (memory == nullptr) return nullptr;
  auto* made = new (memory) Session;
  made->api_ = &api;
  made->ssl_ = ssl;
  keep_new_session(api, ssl);
  if (api.SSL_set_ex_data(ssl, api.index, made) == 1) return made;
  g_sessions.give(made);
  return nullptr;
}

Session* Session::find(const Api& api, const Ssl* ssl) {
  return static_cast<Session*>(api.SSL_get_ex_data(ssl, api.index));
}

void Session::give_back() {
  give_tls_buffer(peeked_);
  g_sessions.give(this);
}

void Session::freed() {
  {
    // No thread of the agent finds the SSL from here on, and none is inside.
    const Use use(this);
    ssl_ = nullptr;
  }
  drop();
}

void Session::released() {
  if (!pumped_ || ssl_ == nullptr) return;
  const Use use(this);
  ssl_ = nullptr;
  for (Bio* bio : {read_bio_, write_bio_}) api_->BIO_free_all(bio);
  read_bio_ = write_bio_ = nullptr;
}

// Of a pair of BIOs: libgrpc reads the descriptor in one thread while another one writes.
void Session::joins(const Connection& c) {
  counted_ = false;
  if (!fed_ || connection_ != nullptr || !c.carried_known) return;
  Bio* bio = api_->SSL_get_rbio(ssl_);
  if (bio == nullptr || api_->BIO_method_type(bio) != kTypePair || source_of(*api_, bio) == nullptr)
    return;
  // (What is left in it at the end of the handshake, libgrpc takes out and gives back later.)
  if (api_->BIO_ctrl(bio, kControlPending, 0, nullptr) == 0) counts_received();
}

uint64_t Session::consumed() const {
  Bio* bio = ssl_ != nullptr ? read_bio() : nullptr;
  Bio* source = bio != nullptr ? source_of(*api_, bio) : nullptr;
  return source != nullptr ? api_->BIO_number_written(source) : 0;
}

Pinned Session::connection(int* fd) {
  if (!pumped_) {
    const int own = api_->SSL_get_fd(ssl_);
    fed_ = own < 0;
    if (!fed_) {
      fd_ = own;
      cookie_ = 0;
    }
  }
  const bool server = api_->SSL_is_server(ssl_) == 1;
  if (fd_ < 0) {
    tls::ClientRandom random{};
    if (api_->SSL_get_client_random(ssl_, random.data(), random.size()) != random.size() ||
        !find_descriptor(random, server))
      return Pinned();
  }
  *fd = fd_;
  return join_connection(server);
}

void Session::set_certificate_fault(const Api& api, Ssl* ssl, Connection& c) {
  if (c.certificate_fault_set) return;
  constexpr time_t kLater = 253'370'764'800;  // the first second of the year 9999
  switch (handshake_fault(c)) {
    case TlsFault::kCertificateExpired:
      api.X509_VERIFY_PARAM_set_time(api.SSL_get0_param(ssl), kLater);
      return certificate_fault_is_set(c);
    case TlsFault::kUnknownCa:
      // The SSL owns the store: it trusts nobody.
      if (Store* nobody = api.X509_STORE_new(); nobody != nullptr) {
        if (api.SSL_ctrl(ssl, kControlVerifyStore, 0, nobody) == 1)
          return certificate_fault_is_set(c);
        api.X509_STORE_free(nobody);
      }
      break;
    case TlsFault::kNone:
    case TlsFault::kHandshakeTimeout:
    case TlsFault::kClosedWithoutNotify:
      break;
  }
}

bool Session::writes_in_part() const {
  return (api_->SSL_ctrl(ssl_, kControlMode, 0, nullptr) & kModePartialWrite) != 0;
}

int Session::error_of(int result) const {
  const int error = errno;
  switch (api_->SSL_get_error(ssl_, result)) {
    case kErrorWantRead:
    case kErrorWantWrite:
      return EAGAIN;
    case kErrorZeroReturn:
      return 0;
    case kErrorSyscall:
      return error;
    default:
      return ECONNABORTED;
  }
}

// --- sending ------------------------------------------------------------------------------------------

ssize_t Session::send(const OnTheWire& out) {
  if (ssl_ == nullptr) {
    errno = EPIPE;
    return -1;
  }
  own_error = kErrorNone;
  const iovec piece = gathered_.of(out);
  const void* data = piece.iov_base;
  const size_t size = std::min<size_t>(piece.iov_len, INT32_MAX);
  if (writes_diverted()) {
    write_result = write_diverted(data, size).result;
  } else {
    t_carrying = connection_;
    errno = 0;
    write_result = api_->SSL_write(ssl_, data, static_cast<int>(size));
    t_carrying = nullptr;
    wrote = true;
  }
  if (write_result > 0) {
    gathered_.forget();  // if they were sent in part, the rest is laid out anew
    return write_result;
  }
  const int error = own_error != kErrorNone ? errno : error_of(write_result);
  errno = error != 0 ? error : EPIPE;
  if (errno != EAGAIN) gathered_.forget();
  return -1;
}

// What the SSL wrote, the application takes from a BIO and sends. (Node looks at it, sends it, and takes it when
// it was sent.) nullopt: some of what was taken is not sent yet, or nobody knows.
std::optional<size_t> Session::sent_of_pending(Bio* bio) const {
  const Pinned c = preload::find(fd_);
  if (!c || c->transport.load() != this || !c->carried_known) return std::nullopt;
  Bio* source = source_of(*api_, bio);
  const auto pending = static_cast<uint64_t>(
      source != nullptr ? api_->BIO_ctrl(source, kControlPending, 0, nullptr)
                        : api_->BIO_ctrl(bio, kControlWritePending, 0, nullptr));
  const uint64_t taken = api_->BIO_number_written(bio) - pending;
  if (c->carried < taken || c->carried - taken > pending || (source == nullptr && pending != 0))
    return std::nullopt;
  return static_cast<size_t>(c->carried - taken);
}

// A BIO of an application may keep what it gets until it is told (Apache's does).
void Session::flush_bio(Bio* bio) const {
  t_carrying = connection_;
  api_->BIO_ctrl(bio, kControlFlush, 0, nullptr);
  t_carrying = nullptr;
}

// The bytes of a memory BIO can be taken out in the place of the application.
bool Session::may_hold() {
  if (!fed_) return true;
  Bio* bio = ssl_ != nullptr && !pumped_ ? api_->SSL_get_wbio(ssl_) : nullptr;
  return bio != nullptr && is_memory(*api_, bio) && sent_of_pending(bio).has_value();
}

void Session::flushed(int fd) {
  if (!fed_ || ssl_ == nullptr || pumped_) return;
  Bio* bio = api_->SSL_get_wbio(ssl_);
  Pinned c = preload::find(fd_);
  if (!c || bio == nullptr || !is_memory(*api_, bio)) return;
  flush_bio(bio);
  size_t skipped = sent_of_pending(bio).value_or(0);
  char bytes[2048];
  for (int size; (size = api_->BIO_read(bio, bytes, sizeof bytes)) > 0;) {
    const size_t skip = std::min(skipped, static_cast<size_t>(size));
    skipped -= skip;
    for (size_t done = skip; done < static_cast<size_t>(size);) {
      const ssize_t sent = REAL(send)(fd, bytes + done, static_cast<size_t>(size) - done,
                                      MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) {
        done += static_cast<size_t>(sent);
        c->carried += static_cast<uint64_t>(sent);
      } else if (errno == EAGAIN) {
        wait_writable(fd, 100);
      } else if (errno != EINTR) {
        return;
      }
    }
  }
}

bool Session::has_unread() {
  if (ssl_ == nullptr) return false;
  if (api_->SSL_pending(ssl_) > 0) return true;
  if (!fed_ || pumped_ || api_->BIO_ctrl(read_bio(), kControlPending, 0, nullptr) == 0)
    return false;
  // The application has brought records that nobody has read: those that hold no data (tickets of the session) are read now. They would
  // be taken for bytes of the pair else. (A callback of the application is not called from a thread of the agent.)
  if (agent_is_inside()) return true;
  char first;
  const bool data = api_->SSL_peek(ssl_, &first, 1) > 0;
  if (!data) api_->ERR_clear_error();
  return data;
}

int Session::plain_end(int real) {
  if (ssl_ == nullptr || pumped_ || api_->SSL_want(ssl_) == kWriting) return -1;
  Bio *in = api_->SSL_get_rbio(ssl_), *out = api_->SSL_get_wbio(ssl_);
  if (in == nullptr || out == nullptr) return -1;
  size_t skipped = 0;
  if (fed_) {
    flush_bio(out);
    const std::optional<size_t> sent = sent_of_pending(out);
    if (!sent) return -1;
    skipped = *sent;
  }
  std::string_view received;
  if (counted_ && (!keep_carriers_out() || !received_.last(under_way(), &received))) return -1;
  Pair pair;
  if (!make_pair(AF_INET, &pair)) return -1;
  const int plain = adopt_descriptor(pair.app);
  if (plain < 0) {
    discard_pair(&pair);
    return -1;
  }
  pair.app = -1;
  api_->BIO_up_ref(in);
  api_->BIO_up_ref(out);
  if (!pump_ssl(*api_, ssl_, {source_of(*api_, out), skipped}, received, real, plain)) {
    api_->BIO_free_all(in);
    api_->BIO_free_all(out);
    release_descriptor(plain);
    discard_pair(&pair);
    return -1;
  }
  read_bio_ = in;
  write_bio_ = out;
  to_skip_ = received.size();
  pumped_ = true;
  return pair.held;
}

// --- while a fault stands in the place of the connection --------------------------------------------------

bool Session::reads_diverted() const {
  return LibrarySession::reads_diverted() || peeked_from_ != peeked_to_;
}

void Session::skip_under_way(Bio* bio) {
  char bytes[1024];
  while (to_skip_ != 0 && api_->BIO_ctrl(bio, kControlPending, 0, nullptr) > 0) {
    const int got =
        api_->BIO_read(bio, bytes, static_cast<int>(std::min<uint64_t>(to_skip_, sizeof bytes)));
    if (got <= 0) return;
    to_skip_ -= static_cast<uint64_t>(got);
  }
}

// Sets what SSL_get_error is to give.
void Session::fail(Bio* bio, int result, int error, bool reading) {
  if (bio != nullptr && api_->BIO_test_flags(bio, kFlagShouldRetry) != 0) {
    own_error = reading ? kErrorWantRead : kErrorWantWrite;
    errno = EAGAIN;
  } else if (reading && result == 0) {
    own_error = kErrorZeroReturn;
    ended = true;
    errno = 0;
  } else {
    own_error = kErrorSyscall;
    errno = error;
  }
}

Moved Session::read_diverted(void* data, size_t size, bool peek) {
  own_error = kErrorNone;
  Bio* bio = read_bio();
  skip_under_way(bio);
  if (peek && peeked_from_ == peeked_to_) {
    if (peeked_ == nullptr) peeked_ = take_tls_buffer();
    peeked_from_ = peeked_to_ = 0;
    if (peeked_ != nullptr) {
      errno = 0;
      const int got =
          api_->BIO_read(bio, peeked_->bytes, static_cast<int>(std::min(size, kHoldCapacity)));
      if (got <= 0) {
        fail(bio, got, errno, true);
        return {got < 0 ? got : 0, 0};
      }
      peeked_to_ = static_cast<size_t>(got);
    }
  }
  if (peeked_from_ != peeked_to_) {
    const size_t take = std::min(size, peeked_to_ - peeked_from_);
    std::memcpy(data, peeked_->bytes + peeked_from_, take);
    if (!peek) peeked_from_ += take;
    return {static_cast<int>(take), take};
  }
  errno = 0;
  const int got = api_->BIO_read(bio, data, static_cast<int>(std::min<size_t>(size, INT32_MAX)));
  if (got > 0) return {got, static_cast<size_t>(got)};
  fail(bio, got, errno, true);
  return {own_error == kErrorZeroReturn ? 0 : -1, 0};
}

Moved Session::write_diverted(const void* data, size_t size) {
  own_error = kErrorNone;
  Bio* bio = write_bio();
  errno = 0;
  const int put = api_->BIO_write(bio, data, static_cast<int>(std::min<size_t>(size, INT32_MAX)));
  if (put > 0) return {put, static_cast<size_t>(put)};
  fail(bio, put, errno, false);
  return {-1, 0};
}

size_t Session::pending_diverted() const {
  const size_t peeked = peeked_to_ - peeked_from_;
  if (!fed_) return peeked;
  return peeked + static_cast<size_t>(api_->BIO_ctrl(read_bio(), kControlPending, 0, nullptr));
}

}  // namespace filibuster::preload::openssl
