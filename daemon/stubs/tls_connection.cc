// TLS around the connection of another protocol, between memory and memory.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "daemon/stubs/certificate.h"
#include "daemon/stubs/stub_connection.h"

namespace filibuster::stubs {
namespace {

constexpr size_t kRecord = 16 * 1024;  // bytes of the largest record (RFC 8446 §5.1)

class TlsConnection final : public StubConnection {
 public:
  TlsConnection(std::shared_ptr<const Certificate> certificate,
                std::unique_ptr<StubConnection> inside)
      : certificate_(std::move(certificate)),
        inside_(std::move(inside)),
        tls_(SSL_new(certificate_->context())) {
    received_ = BIO_new(BIO_s_mem());
    to_send_ = BIO_new(BIO_s_mem());
    if (tls_ == nullptr || received_ == nullptr || to_send_ == nullptr) std::abort();  // no memory
    BIO_set_mem_eof_return(received_, -1);  // more may come
    SSL_set_bio(tls_.get(), received_, to_send_);
    SSL_set_accept_state(tls_.get());
  }

  bool feed(std::string_view bytes) override {
    if (broken_) return false;
    // OpenSSL keeps what it was given, so that it is given no more than one of its reads may take.
    BIO_write(received_, bytes.data(), static_cast<int>(bytes.size()));
    char text[kRecord];
    while (true) {
      ERR_clear_error();
      const int size = SSL_read(tls_.get(), text, sizeof text);
      if (size <= 0) {
        const int why = SSL_get_error(tls_.get(), size);
        ERR_clear_error();
        if (why == SSL_ERROR_WANT_READ) return true;
        // The client says that nothing more comes, or does not accept our certificate, or it is no TLS.
        broken_ = why != SSL_ERROR_ZERO_RETURN;
        return false;
      }
      const bool good = inside_->feed({text, static_cast<size_t>(size)});
      for (OpenCall& call : inside_->take_calls()) calls_.push_back(std::move(call));
      if (!good) return false;
    }
  }

  void reply(uint64_t number, const Reply& reply) override { inside_->reply(number, reply); }
  std::optional<DuePart> take_due() override { return inside_->take_due(); }
  void send_part(uint64_t number) override { inside_->send_part(number); }
  Call* open_call(uint64_t number) override { return inside_->open_call(number); }
  End ended() const override { return inside_->ended(); }
  bool finished() const override { return broken_ || inside_->finished(); }

  std::string take_output() override {
    const std::string text = inside_->take_output();
    if (!broken_ && !text.empty()) {
      ERR_clear_error();
      broken_ = SSL_write(tls_.get(), text.data(), static_cast<int>(text.size())) <= 0;
    }
    if (!broken_ && inside_->finished() && !said_end_) {
      said_end_ = true;
      SSL_shutdown(tls_.get());
    }
    std::string out(BIO_ctrl_pending(to_send_), '\0');
    if (!out.empty()) BIO_read(to_send_, out.data(), static_cast<int>(out.size()));
    return out;
  }

 private:
  struct Free {
    void operator()(SSL* tls) const { SSL_free(tls); }  // and both of its BIOs
  };
  const std::shared_ptr<const Certificate> certificate_;
  const std::unique_ptr<StubConnection> inside_;
  const std::unique_ptr<SSL, Free> tls_;
  BIO* received_ = nullptr;
  BIO* to_send_ = nullptr;
  bool broken_ = false, said_end_ = false;
};

}  // namespace

std::unique_ptr<StubConnection> make_tls_connection(std::shared_ptr<const Certificate> certificate,
                                                    std::unique_ptr<StubConnection> inside) {
  return std::make_unique<TlsConnection>(std::move(certificate), std::move(inside));
}

}  // namespace filibuster::stubs
