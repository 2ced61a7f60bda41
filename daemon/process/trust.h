// The environment by which processes trust an authority that was made for their lane, besides those that they trust anyway.
//
// Who reads what: OpenSSL (Python's ssl, Ruby, Go, Rust's rustls-native-certs) SSL_CERT_FILE; requests REQUESTS_CA_BUNDLE; curl's command
// CURL_CA_BUNDLE; the AWS SDKs AWS_CA_BUNDLE; gRPC's C core GRPC_DEFAULT_SSL_ROOTS_FILE_PATH; Node NODE_EXTRA_CA_CERTS; the JVM the property
// javax.net.ssl.trustStore, which JAVA_TOOL_OPTIONS brings; PHP its ini files, to whose folders PHP_INI_SCAN_DIR adds one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace filibuster {

class Trust {
 public:
  // `authority`: PEM. `folder`: absolute; files of certificates come there. Error: one cannot be written.
  static Result<Trust> make(const std::string& authority, const std::string& folder);

  // A file that a variable names already keeps what it has: a copy of it with the authority takes its place. A relative path and
  // a file that cannot be read are left as they are, as is a trust store that JAVA_TOOL_OPTIONS names.
  void add_to(std::vector<std::string>* environment) const;

 private:
  std::string authority_, folder_, own_, all_, java_, php_;
};

// The trust store that a JVM reads without a password, of the certificates among PEM texts (RFC 7468). Its form is JKS, version 2, of
// which the JDK's `JavaKeyStore.engineLoad` is the only specification.
std::string java_trust_store(std::string_view pem);

}  // namespace filibuster
