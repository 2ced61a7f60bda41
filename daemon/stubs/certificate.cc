#include "daemon/stubs/certificate.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>

namespace filibuster::stubs {
namespace {

constexpr long kDay = 24 * 60 * 60;  // seconds
// A program that is shown the time of a recording (docs/verify.md) finds the certificate valid, too.
constexpr long kValidFrom = -3650 * kDay, kValidUntil = 3650 * kDay;

template <auto free>
struct Freed {
  template <typename T>
  void operator()(T* what) const {
    free(what);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, Freed<X509_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;

Error openssl_error(const std::string& what) {
  char text[256] = "";
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  ERR_clear_error();
  return Error{"the certificate of the stubs: " + what + ": " + text};
}

bool add_extension(X509* to, X509* issuer, int which, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, which, value.c_str()));
  return extension != nullptr && X509_add_ext(to, extension.get(), -1) == 1;
}

bool set_random_serial(X509* certificate) {
  unsigned char bytes[8];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  uint64_t serial = 0;
  for (const unsigned char byte : bytes) serial = serial << 8 | byte;
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1;
}

// Not signed yet.
X509Ptr make_certificate(const std::string& name, EVP_PKEY* key) {
  X509Ptr out(X509_new());
  if (out == nullptr || X509_set_version(out.get(), 2) != 1 || !set_random_serial(out.get()))
    return nullptr;
  X509_gmtime_adj(X509_getm_notBefore(out.get()), kValidFrom);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), kValidUntil);
  X509_set_pubkey(out.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.data()),
                             static_cast<int>(name.size()), -1, 0);
  return out;
}

bool sign(X509* certificate, X509* issuer, EVP_PKEY* key) {
  return X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

std::string pem_of(X509* certificate) {
  const Bio memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || PEM_write_bio_X509(memory.get(), certificate) != 1) return "";
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

// RFC 7301: the server's choice among what the client offers. A client without this extension speaks HTTP/1.1 or Redis.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  static constexpr unsigned char kOurs[] = "\x02h2\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kOurs, sizeof kOurs - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

void Certificate::Free::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

Result<std::shared_ptr<const Certificate>> Certificate::make(
    const std::vector<std::string>& names) {
  const Key authority_key(EVP_EC_gen("P-256")), key(EVP_EC_gen("P-256"));
  if (authority_key == nullptr || key == nullptr) return openssl_error("no key");

  // Authorities of two sessions have different names: who has met both can tell them apart.
  unsigned char id[4] = {};
  RAND_bytes(id, sizeof id);
  char hex[2 * sizeof id + 1] = "";
  for (size_t i = 0; i < sizeof id; ++i) snprintf(hex + 2 * i, 3, "%02x", id[i]);
  const X509Ptr authority =
      make_certificate("Filibuster stubs " + std::string(hex), authority_key.get());
  if (authority == nullptr ||
      !add_extension(authority.get(), authority.get(), NID_basic_constraints,
                     "critical,CA:TRUE,pathlen:0") ||
      !add_extension(authority.get(), authority.get(), NID_key_usage,
                     "critical,keyCertSign,cRLSign") ||
      !add_extension(authority.get(), authority.get(), NID_subject_key_identifier, "hash") ||
      !sign(authority.get(), authority.get(), authority_key.get()))
    return openssl_error("no authority");

  std::string all = "IP:127.0.0.1,IP:::1,DNS:localhost";
  for (const std::string& name : names) all += ",DNS:" + name;
  const X509Ptr own = make_certificate("Filibuster stubs", key.get());
  if (own == nullptr ||
      !add_extension(own.get(), authority.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(own.get(), authority.get(), NID_key_usage, "critical,digitalSignature") ||
      !add_extension(own.get(), authority.get(), NID_ext_key_usage, "serverAuth") ||
      !add_extension(own.get(), authority.get(), NID_subject_alt_name, all) ||
      !add_extension(own.get(), authority.get(), NID_subject_key_identifier, "hash") ||
      !add_extension(own.get(), authority.get(), NID_authority_key_identifier, "keyid") ||
      !sign(own.get(), authority.get(), authority_key.get()))
    return openssl_error("not signed for " + all);

  auto out = std::make_shared<Certificate>();
  out->authority_ = pem_of(authority.get());
  out->context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const context = out->context_.get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_use_certificate(context, own.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return openssl_error("not taken by TLS");
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  return std::shared_ptr<const Certificate>(std::move(out));
}

}  // namespace filibuster::stubs
