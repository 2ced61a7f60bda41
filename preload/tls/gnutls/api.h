// The functions of GnuTLS 3 that are hooked or called, as its manual declares them. One Api for each copy of the
// library in the process.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace filibuster::preload::gnutls {

struct SessionInt;
using SessionPtr = SessionInt*;  // gnutls_session_t

struct Datum {  // gnutls_datum_t
  unsigned char* data;
  unsigned int size;
};

// Of gnutls_init().
inline constexpr unsigned kServer = 1;
inline constexpr int kSendsFinOnly = 1;  // GNUTLS_SHUT_WR

enum Error : int {
  kAgain = -28,
  kInterrupted = -52,
  kPushError = -53,
  kPullError = -54,
};

using Push = ssize_t (*)(void*, const void*, size_t);
using Pull = ssize_t (*)(void*, void*, size_t);
using PullTimeout = int (*)(void*, unsigned);

#define FILIBUSTER_GNUTLS_FUNCTIONS(X)                              \
  X(ssize_t, gnutls_record_send, (SessionPtr, const void*, size_t)) \
  X(ssize_t, gnutls_record_recv, (SessionPtr, void*, size_t))       \
  X(size_t, gnutls_record_check_pending, (SessionPtr))              \
  X(int, gnutls_bye, (SessionPtr, int))                             \
  X(void, gnutls_session_get_random, (SessionPtr, Datum*, Datum*))  \
  X(void, gnutls_transport_get_ptr2, (SessionPtr, void**, void**))  \
  X(void, gnutls_transport_set_ptr, (SessionPtr, void*))            \
  X(void, gnutls_transport_set_errno, (SessionPtr, int))            \
  X(void, gnutls_transport_set_push_function, (SessionPtr, Push))   \
  X(void, gnutls_transport_set_pull_function, (SessionPtr, Pull))   \
  X(void, gnutls_transport_set_pull_timeout_function, (SessionPtr, PullTimeout))

struct Api {
#define FILIBUSTER_MEMBER(type, name, parameters) type(*name) parameters;
  FILIBUSTER_GNUTLS_FUNCTIONS(FILIBUSTER_MEMBER)
#undef FILIBUSTER_MEMBER
};

// The functions that applications call and we hook, in the order of kNames (originals.cc).
enum class Function : unsigned char {
  kInit,
  kDeinit,
  kHandshake,
  kSend,
  kReceive,
  kPending,
  kDirection,
  kBye,
  kGetPointer,
  kGetPointers,
  kGetNumber,
  kGetNumbers,
  kCount,
};

// For code at `caller`. nullptr: no object in its reach has the function.
void* find_original(Function function, const void* caller);
template <typename F>
F original(Function function, const void* caller) {
  return reinterpret_cast<F>(find_original(function, caller));
}
// The library that the code at `caller` uses; nullptr: not all of its functions are there.
const Api* api_for(const void* caller);

}  // namespace filibuster::preload::gnutls
