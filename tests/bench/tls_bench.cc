// The tight loops over OpenSSL that preload_bench.py and sidecar_bench.py run under different preloads. Prints one JSON
// line: nanoseconds per message, and microseconds per request.
//   tls_bench messages [BURSTS [BURST_SIZE [PAUSE_MS]]]     requests and answers of 300 bytes, client and server in one
//                                                           thread, over loopback TCP
//   tls_bench client PORT [BURSTS [BURST_SIZE [PAUSE_MS]]]  requests of 300 bytes to a server (its certificate is not
//                                                           checked), one after the other on one connection
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <thread>

#include "tests/bench/loops.h"

namespace {

using loops::die;

// A certificate of its own. (Who checks it is not measured.)
void certify(SSL_CTX* context) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  if (X509_sign(certificate, key, EVP_sha256()) == 0 ||
      SSL_CTX_use_certificate(context, certificate) != 1 ||
      SSL_CTX_use_PrivateKey(context, key) != 1)
    die("certificate");
}

SSL* over(int fd, const SSL_METHOD* method, bool server) {
  SSL_CTX* context = SSL_CTX_new(method);
  if (server) certify(context);
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  if ((server ? SSL_accept(ssl) : SSL_connect(ssl)) != 1) die("handshake");
  return ssl;
}

void put(SSL* ssl, const std::string& bytes) {
  if (SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size())) !=
      static_cast<int>(bytes.size()))
    die("SSL_write");
}

// In a session the request grows by our header field, and may come as more than one record.
void get(SSL* ssl, size_t least) {
  char buffer[16 * 1024];
  for (size_t got = 0; got < least || SSL_pending(ssl) > 0;) {
    const int size = SSL_read(ssl, buffer, sizeof buffer);
    if (size <= 0) die("SSL_read");
    got += static_cast<size_t>(size);
  }
}

void messages(const loops::Bursts& bursts) {
  int ends[2];
  loops::tcp_pair(ends);
  SSL* server = nullptr;
  std::thread accepting([&] { server = over(ends[1], TLS_server_method(), true); });
  SSL* client = over(ends[0], TLS_client_method(), false);
  accepting.join();
  const std::string request = loops::request(), answer = loops::answer();
  loops::measure(bursts, [&] {
    put(client, request);
    get(server, request.size());
    put(server, answer);
    get(client, answer.size());
  });
}

// Reads one answer, whose body has a length.
void get_answer(SSL* ssl) {
  std::string text;
  char buffer[16 * 1024];
  size_t whole = 0;
  while (whole == 0 || text.size() < whole) {
    const int size = SSL_read(ssl, buffer, sizeof buffer);
    if (size <= 0) die("SSL_read");
    text.append(buffer, static_cast<size_t>(size));
    const size_t head = text.find("\r\n\r\n");
    if (whole != 0 || head == std::string::npos) continue;
    size_t length = text.find("ontent-");
    while (length != std::string::npos && strncasecmp(&text[length], "ontent-length:", 14) != 0)
      length = text.find("ontent-", length + 1);
    if (length > head || text.compare(0, 13, "HTTP/1.1 200 ") != 0) {
      fprintf(stderr, "%s\n", text.c_str());
      exit(1);
    }
    whole = head + 4 + strtoul(&text[length + 14], nullptr, 10);
  }
}

void client(int port, const loops::Bursts& bursts) {
  SSL* ssl = over(loops::connect_to(port), TLS_client_method(), false);
  const std::string request = loops::request();
  loops::measure(bursts, [&] {
    put(ssl, request);
    get_answer(ssl);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string loop = argc > 1 ? argv[1] : "";
  if (loop == "messages") {
    messages(loops::bursts_of(argc, argv, 2));
  } else if (loop == "client" && argc > 2) {
    client(atoi(argv[2]), loops::bursts_of(argc, argv, 3));
  } else {
    fprintf(stderr, "usage: tls_bench messages|client PORT [BURSTS [BURST_SIZE [PAUSE_MS]]]\n");
    return 2;
  }
}
