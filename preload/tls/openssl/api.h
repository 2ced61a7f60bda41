// The functions of OpenSSL 3 that are hooked or called, as its manual declares them (man7/ossl-guide, SSL_read(3),
// BIO_read(3), CRYPTO_get_ex_new_index(3)). One Api for each copy of the library in the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace filibuster::preload::openssl {

struct Ssl;
struct SslContext;
struct Bio;
struct SslSession;
struct ExData;
struct BioMethod;
struct VerifyParam;
struct Store;

// SSL_get_error(3)
enum Error : int {
  kErrorNone = 0,
  kErrorWantRead = 2,
  kErrorWantWrite = 3,
  kErrorSyscall = 5,
  kErrorZeroReturn = 6,
};
// SSL_want(3)
enum Want : int { kNothing = 1, kWriting = 2, kReading = 3 };

inline constexpr int kSentShutdown = 1, kReceivedShutdown = 2;  // SSL_get_shutdown(3)
inline constexpr int kControlMode = 33;                         // SSL_ctrl(3), for SSL_get_mode(3)
inline constexpr long kModeAutoRetry = 4;                       // SSL_MODE_AUTO_RETRY
inline constexpr long kModePartialWrite = 1;                    // SSL_MODE_ENABLE_PARTIAL_WRITE
inline constexpr int kControlPending = 10;                      // BIO_ctrl_pending(3)
inline constexpr int kControlFlush = 11;                        // BIO_flush(3)
inline constexpr int kControlWritePending = 13;                 // BIO_ctrl_wpending(3)
inline constexpr int kControlMemoryEnd = 130;                   // BIO_set_mem_eof_return(3)
inline constexpr int kControlMessageCallback = 15;              // SSL_set_msg_callback(3)
inline constexpr int kControlVerifyStore = 106;                 // SSL_set0_verify_cert_store(3)
inline constexpr int kFlagShouldRetry = 8;                      // BIO_should_retry(3)
inline constexpr int kTypePair = 19 | 0x0400;                   // BIO_find_type(3)
inline constexpr int kExDataOfContext = 1;
inline constexpr int kExDataOfSsl = 0;  // CRYPTO_get_ex_new_index(3)

// SSL_CTX_sess_set_new_cb(3)
using NewSession = int (*)(Ssl*, SslSession*);
using FreeExData = void (*)(void* parent, void* value, ExData*, int index, long, void*);
using CopyExData = int (*)(ExData* to, const ExData* from, void** value, int index, long, void*);

#define FILIBUSTER_OPENSSL_FUNCTIONS(X)                                              \
  X(int, SSL_read, (Ssl*, void*, int))                                               \
  X(int, SSL_peek, (Ssl*, void*, int))                                               \
  X(int, SSL_write, (Ssl*, const void*, int))                                        \
  X(int, SSL_pending, (const Ssl*))                                                  \
  X(int, SSL_get_error, (const Ssl*, int))                                           \
  X(int, SSL_get_fd, (const Ssl*))                                                   \
  X(size_t, SSL_get_client_random, (const Ssl*, unsigned char*, size_t))             \
  X(int, SSL_is_server, (const Ssl*))                                                \
  X(long, SSL_ctrl, (Ssl*, int, long, void*))                                        \
  X(Bio*, SSL_get_rbio, (const Ssl*))                                                \
  X(Bio*, SSL_get_wbio, (const Ssl*))                                                \
  X(void*, SSL_get_ex_data, (const Ssl*, int))                                       \
  X(int, SSL_set_ex_data, (Ssl*, int, void*))                                        \
  X(int, CRYPTO_get_ex_new_index, (int, long, void*, void*, CopyExData, FreeExData)) \
  X(int, BIO_read, (Bio*, void*, int))                                               \
  X(int, BIO_write, (Bio*, const void*, int))                                        \
  X(long, BIO_ctrl, (Bio*, int, long, void*))                                        \
  X(int, BIO_test_flags, (const Bio*, int))                                          \
  X(int, BIO_method_type, (const Bio*))                                              \
  X(void*, BIO_get_data, (Bio*))                                                     \
  X(uint64_t, BIO_number_written, (Bio*))                                            \
  X(Bio*, BIO_new, (const BioMethod*))                                               \
  X(const BioMethod*, BIO_s_mem, ())                                                 \
  X(int, BIO_up_ref, (Bio*))                                                         \
  X(void, BIO_free_all, (Bio*))                                                      \
  X(int, SSL_up_ref, (Ssl*))                                                         \
  X(int, SSL_is_init_finished, (const Ssl*))                                         \
  X(int, SSL_do_handshake, (Ssl*))                                                   \
  X(void, SSL_free, (Ssl*))                                                          \
  X(void, SSL_set0_rbio, (Ssl*, Bio*))                                               \
  X(void, SSL_set0_wbio, (Ssl*, Bio*))                                               \
  X(int, SSL_shutdown, (Ssl*))                                                       \
  X(int, SSL_want, (const Ssl*))                                                     \
  X(long, SSL_callback_ctrl, (Ssl*, int, void (*)()))                                \
  X(void, SSL_set_info_callback, (Ssl*, void (*)(const Ssl*, int, int)))             \
  X(SslContext*, SSL_get_SSL_CTX, (const Ssl*))                                      \
  X(void*, SSL_CTX_get_ex_data, (const SslContext*, int))                            \
  X(int, SSL_CTX_set_ex_data, (SslContext*, int, void*))                             \
  X(void, SSL_CTX_sess_set_new_cb, (SslContext*, NewSession))                        \
  X(NewSession, SSL_CTX_sess_get_new_cb, (SslContext*))                              \
  X(const char*, BIO_method_name, (const Bio*))                                      \
  X(VerifyParam*, SSL_get0_param, (Ssl*))                                            \
  X(void, X509_VERIFY_PARAM_set_time, (VerifyParam*, time_t))                        \
  X(Store*, X509_STORE_new, ())                                                      \
  X(void, X509_STORE_free, (Store*))                                                 \
  X(void, ERR_clear_error, ())

struct Api {
#define FILIBUSTER_MEMBER(type, name, parameters) type(*name) parameters;
  FILIBUSTER_OPENSSL_FUNCTIONS(FILIBUSTER_MEMBER)
#undef FILIBUSTER_MEMBER
  int index;          // of our pointer in each SSL
  int context_index;  // of the application's callback in each SSL_CTX
  // A callback that calls that of the application, but not from a thread of the agent.
  NewSession new_session;
};

// The functions that applications call and we hook, in the order of kNames (originals.cc).
enum class Function : uint8_t {
  kRead,
  kReadEx,
  kWrite,
  kWriteEx,
  kPeek,
  kPeekEx,
  kPending,
  kHasPending,
  kShutdown,
  kGetError,
  kGetShutdown,
  kWant,
  kHandshake,
  kConnect,
  kAccept,
  kFree,
  kGetFd,
  kGetReadFd,
  kGetWriteFd,
  kGetReadBio,
  kGetWriteBio,
  kCount,
};

// For code at `caller`. nullptr: no object in its reach has the function.
void* find_original(Function function, const void* caller);
template <typename F>
F original(Function function, const void* caller) {
  return reinterpret_cast<F>(find_original(function, caller));
}
// The library that the code at `caller` uses. nullptr: it is not OpenSSL 3 (the report says so).
const Api* api_for(const void* caller);

// From now on the callback of the SSL's context for new sessions is called from the application's threads only.
void keep_new_session(const Api& api, const Ssl* ssl);

// The OpenSSL that is linked into the program and shows its functions; nullptr: there is none.
const Api* api_inside();
// Its function of that name; nullptr: there is none.
void* find_inside(const char* name);

// Called when an SSL is freed whose pointer of ours is `value` (session.cc).
void ssl_freed(void* value);

}  // namespace filibuster::preload::openssl
