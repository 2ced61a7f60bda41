// Asks a gRPC service for its descriptors by server reflection (grpc/reflection/v1/reflection.proto,
// and v1alpha, which is the same under another name). The client is our own, over libnghttp2's session:
// libgrpc would bring threads into a process that forks.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace filibuster {

struct Reflected {
  // A serialized google.protobuf.FileDescriptorSet: the files of the services and what they import.
  std::string files;
  // Service -> why its files did not come.
  std::map<std::string, std::string> problems;
};

// Asks the server at `address` ("127.0.0.1:5001", "[::1]:5001") for the files of `services`
// ("shop.CartService"). Takes at most `limit`.
Reflected ask_reflection(const std::string& address, const std::vector<std::string>& services,
                         std::chrono::milliseconds limit);

}  // namespace filibuster
