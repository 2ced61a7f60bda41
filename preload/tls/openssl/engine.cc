#include "preload/tls/openssl/engine.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "preload/os/pool.h"
#include "preload/tls/pump.h"

namespace filibuster::preload::openssl {
namespace {

class SslEngine final : public Engine {
 public:
  SslEngine(const Api& api, Ssl* ssl, Bio* in, Bio* out)
      : api_(api), ssl_(ssl), in_(in), out_(out) {}

  void feed(const char* bytes, size_t size) override {
    api_.BIO_write(in_, bytes, static_cast<int>(size));
  }
  size_t take(char* bytes, size_t room) override {
    return static_cast<size_t>(std::max(api_.BIO_read(out_, bytes, static_cast<int>(room)), 0));
  }
  ssize_t read(char* bytes, size_t room) override {
    return moved(api_.SSL_read(ssl_, bytes, static_cast<int>(room)));
  }
  ssize_t write(const char* bytes, size_t size) override {
    return moved(api_.SSL_write(ssl_, bytes, static_cast<int>(size)));
  }
  void close() override { api_.SSL_shutdown(ssl_); }
  void drop(bool process_ends) override;

 private:
  ssize_t moved(int result) {
    if (result > 0) return result;
    const int error = api_.SSL_get_error(ssl_, result);
    api_.ERR_clear_error();
    if (error == kErrorWantRead || error == kErrorWantWrite) return -EAGAIN;
    return error == kErrorZeroReturn ? 0 : -ECONNABORTED;
  }

  const Api& api_;
  Ssl* ssl_;
  Bio *in_, *out_;
};

Pool<SslEngine, 16, 1024> g_engines;

void SslEngine::drop(bool process_ends) {
  if (!process_ends) api_.SSL_free(ssl_);
  g_engines.give(this);
}

void no_callback() {}

Bio* make_memory(const Api& api) {
  Bio* made = api.BIO_new(api.BIO_s_mem());
  // An empty one says "later", not "the end".
  if (made != nullptr) api.BIO_ctrl(made, kControlMemoryEnd, -1, nullptr);
  return made;
}

// Only what is there: to ask for more, a BIO of the application might wait.
void move(const Api& api, Bio* from, Bio* to, size_t skipped) {
  char bytes[1024];
  while (api.BIO_ctrl(from, kControlPending, 0, nullptr) > 0) {
    const int size = api.BIO_read(from, bytes, sizeof bytes);
    if (size <= 0) return;
    const int skip = static_cast<int>(std::min(skipped, static_cast<size_t>(size)));
    skipped -= static_cast<size_t>(skip);
    if (size > skip) api.BIO_write(to, bytes + skip, size - skip);
  }
}

}  // namespace

bool pump_ssl(const Api& api, Ssl* ssl, Output output, std::string_view received, int real,
              int plain) {
  SslEngine* memory = g_engines.take();
  Bio* in = make_memory(api);
  Bio* out = make_memory(api);
  if (memory == nullptr || in == nullptr || out == nullptr) return false;
  auto* engine = new (memory) SslEngine(api, ssl, in, out);
  Bio* const before_in = api.SSL_get_rbio(ssl);
  Bio* const before_out = api.SSL_get_wbio(ssl);
  move(api, before_in, in, 0);
  if (!received.empty()) api.BIO_write(in, received.data(), static_cast<int>(received.size()));
  if (output.source != nullptr) move(api, output.source, out, output.sent);
  api.SSL_up_ref(ssl);
  api.SSL_set0_rbio(ssl, in);
  api.SSL_set0_wbio(ssl, out);
  // Else a record that brings no data (a ticket of the session) ends SSL_read, although others follow.
  api.SSL_ctrl(ssl, kControlMode, kModeAutoRetry, nullptr);
  // Nothing of the application is called from another thread.
  api.SSL_callback_ctrl(ssl, kControlMessageCallback, no_callback);
  api.SSL_set_info_callback(ssl, reinterpret_cast<void (*)(const Ssl*, int, int)>(no_callback));
  if (start_pump(engine, real, plain)) return true;
  api.BIO_up_ref(before_in);
  api.BIO_up_ref(before_out);
  api.SSL_set0_rbio(ssl, before_in);
  api.SSL_set0_wbio(ssl, before_out);
  api.SSL_free(ssl);
  g_engines.give(engine);
  return false;
}

}  // namespace filibuster::preload::openssl
