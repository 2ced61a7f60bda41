// The certificate with which the stubs of a lane serve TLS, and the authority that signed it: both are made for this lane, and
// neither key is ever written to a file. Who is to trust it: daemon/process/trust.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"

struct ssl_ctx_st;  // SSL_CTX of OpenSSL

namespace filibuster::stubs {

class Certificate {
 public:
  // For `names` (DNS names), localhost, 127.0.0.1 and ::1. Error: OpenSSL's words.
  static Result<std::shared_ptr<const Certificate>> make(const std::vector<std::string>& names);

  const std::string& authority() const { return authority_; }  // PEM (RFC 7468)
  // Serves TLS 1.2 and 1.3, and takes HTTP/2 where a client offers it (RFC 7301).
  ssl_ctx_st* context() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  std::string authority_;
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace filibuster::stubs
