// TLS without sockets, against a client of OpenSSL that trusts nothing but the authority of the certificate.
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "daemon/stubs/stub_connection.h"

namespace filibuster::stubs {
namespace {

// A client in memory: what it sends is fed to the connection in pieces of `step` bytes, and the other way round.
class TlsClient {
 public:
  TlsClient(const Certificate& trusted, const std::string& host, size_t step)
      : step_(step), context_(SSL_CTX_new(TLS_client_method())) {
    BIO* const pem =
        BIO_new_mem_buf(trusted.authority().data(), static_cast<int>(trusted.authority().size()));
    X509* const authority = PEM_read_bio_X509(pem, nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), authority);
    X509_free(authority);
    BIO_free(pem);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    tls_ = SSL_new(context_);
    SSL_set1_host(tls_, host.c_str());
    SSL_set_tlsext_host_name(tls_, host.c_str());
    received_ = BIO_new(BIO_s_mem());
    sent_ = BIO_new(BIO_s_mem());
    SSL_set_bio(tls_, received_, sent_);
    SSL_set_connect_state(tls_);
  }
  ~TlsClient() {
    SSL_free(tls_);
    SSL_CTX_free(context_);
  }
  SSL* tls() const { return tls_; }

  // Both speak until neither has more to say. Returns what the client decrypted; `good`: what feed() returned last.
  std::string talk(StubConnection* connection, std::vector<OpenCall>* calls) {
    std::string text;
    while (true) {
      char piece[4096];
      const int size = SSL_read(tls_, piece, sizeof piece);
      if (size > 0) text.append(piece, static_cast<size_t>(size));
      std::string out(BIO_ctrl_pending(sent_), '\0');
      if (!out.empty()) BIO_read(sent_, out.data(), static_cast<int>(out.size()));
      for (size_t at = 0; at < out.size(); at += step_)
        good = connection->feed(std::string_view(out).substr(at, step_));
      for (OpenCall& call : connection->take_calls()) calls->push_back(std::move(call));
      const std::string back = connection->take_output();
      if (!back.empty()) BIO_write(received_, back.data(), static_cast<int>(back.size()));
      if (out.empty() && back.empty() && size <= 0) return text;
    }
  }
  bool good = true;

 private:
  const size_t step_;
  SSL_CTX* const context_;
  SSL* tls_ = nullptr;
  BIO *received_ = nullptr, *sent_ = nullptr;
};

std::shared_ptr<const Certificate> certificate() {
  static const auto made = Certificate::make({"api.example.com", "cache"}).value();
  return made;
}

class TlsPieces : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(OfBytes, TlsPieces, testing::Values(1, 100000));

TEST_P(TlsPieces, ACallIsDecryptedAndItsAnswerEncrypted) {
  for (const char* host : {"api.example.com", "cache", "localhost"}) {
    const auto connection = make_tls_connection(certificate(), make_http_connection("api"));
    TlsClient client(*certificate(), host, GetParam());
    std::vector<OpenCall> calls;
    EXPECT_EQ(client.talk(connection.get(), &calls), "");
    ASSERT_TRUE(SSL_is_init_finished(client.tls())) << host;
    constexpr std::string_view kAsk = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    SSL_write(client.tls(), kAsk.data(), kAsk.size());
    EXPECT_EQ(client.talk(connection.get(), &calls), "");
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(to_text(calls[0].call), "GET /a");
    EXPECT_FALSE(connection->finished());
    Reply reply;
    reply.answer.body = std::string(100000, 'x');  // several records
    connection->reply(calls[0].number, reply);
    const std::string answer = client.talk(connection.get(), &calls);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer.substr(0, 100);
    EXPECT_TRUE(answer.ends_with(reply.answer.body));
    EXPECT_TRUE(connection->finished());
    // A client sees that the answer was not cut off (RFC 8446 §6.1).
    EXPECT_NE(SSL_get_shutdown(client.tls()) & SSL_RECEIVED_SHUTDOWN, 0);
  }
}

TEST_P(TlsPieces, TheClientsEndIsNoErrorAndItsLastCallIsAnswered) {
  const auto connection = make_tls_connection(certificate(), make_redis_connection("cache"));
  TlsClient client(*certificate(), "cache", GetParam());
  std::vector<OpenCall> calls;
  client.talk(connection.get(), &calls);
  constexpr std::string_view kAsk = "GET a\r\n";
  SSL_write(client.tls(), kAsk.data(), kAsk.size());
  SSL_shutdown(client.tls());
  client.talk(connection.get(), &calls);
  EXPECT_FALSE(client.good);
  EXPECT_FALSE(connection->finished());
  ASSERT_EQ(calls.size(), 1u);
  Reply reply;
  reply.answer.message = "b";
  connection->reply(calls[0].number, reply);
  EXPECT_EQ(client.talk(connection.get(), &calls), "$1\r\nb\r\n");
}

TEST_P(TlsPieces, TheProtocolIsChosenAmongThoseThatTheClientOffers) {
  struct Row {
    std::string offered, chosen;
  };
  const Row rows[] = {{"\x08http/1.1\x02h2", "h2"}, {"\x08http/1.1", "http/1.1"}, {"\x03xyz", ""}};
  for (const Row& row : rows) {
    const auto connection = make_tls_connection(certificate(), make_http_connection("api"));
    TlsClient client(*certificate(), "api.example.com", GetParam());
    SSL_set_alpn_protos(client.tls(), reinterpret_cast<const unsigned char*>(row.offered.data()),
                        static_cast<unsigned>(row.offered.size()));
    std::vector<OpenCall> calls;
    client.talk(connection.get(), &calls);
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client.tls(), &chosen, &size);
    EXPECT_EQ(std::string(chosen, chosen + size), row.chosen);
  }
}

TEST_P(TlsPieces, WhoDoesNotTrustItOrSpeaksSomethingElseIsClosed) {
  for (const char* host : {"another.example.com", "com"}) {
    const auto connection = make_tls_connection(certificate(), make_http_connection("api"));
    TlsClient client(*certificate(), host, GetParam());
    std::vector<OpenCall> calls;
    client.talk(connection.get(), &calls);
    EXPECT_FALSE(SSL_is_init_finished(client.tls())) << host;
    EXPECT_FALSE(client.good);
    EXPECT_TRUE(connection->finished());
  }
  const auto connection = make_tls_connection(certificate(), make_http_connection("api"));
  const std::string nonsense(100, '\x16');
  bool good = true;
  for (size_t at = 0; at < nonsense.size() && good; at += GetParam())
    good = connection->feed(std::string_view(nonsense).substr(at, GetParam()));
  EXPECT_FALSE(good);
  EXPECT_TRUE(connection->finished());
  connection->take_output();
  EXPECT_FALSE(connection->feed("more"));
}

TEST(Certificates, AreOfAnAuthorityEach) {
  const auto one = Certificate::make({}).value(), other = Certificate::make({}).value();
  EXPECT_NE(one->authority(), other->authority());
  const auto connection = make_tls_connection(one, make_http_connection("api"));
  TlsClient client(*other, "localhost", 100000);
  std::vector<OpenCall> calls;
  client.talk(connection.get(), &calls);
  EXPECT_FALSE(SSL_is_init_finished(client.tls()));
}

}  // namespace
}  // namespace filibuster::stubs
