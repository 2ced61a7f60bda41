// Of clients and servers: TLS with the files of the folder that the environment variable TLS names, if there is one.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

inline std::string file_of(const std::string& name) {
  std::ifstream file(std::string(std::getenv("TLS")) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::shared_ptr<grpc::ChannelCredentials> channel_credentials() {
  if (std::getenv("TLS") == nullptr) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = file_of("ca.pem");
  return grpc::SslCredentials(options);
}

inline std::shared_ptr<grpc::ServerCredentials> server_credentials() {
  if (std::getenv("TLS") == nullptr) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({file_of("key.pem"), file_of("cert.pem")});
  return grpc::SslServerCredentials(options);
}
