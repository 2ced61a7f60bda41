// An error that a service answered with by itself.
#pragma once

#include <string>
#include <vector>

#include "core/rpc/protocol.h"

namespace filibuster {

// A call of a service that failed.
struct FailedCall {
  std::string service, method, path;
  std::string what;  // the injected fault, or how the call ended by itself: "timeout", "503"
  bool injected = false;
  bool operator==(const FailedCall&) const = default;
};

struct ObservedAnswer {
  std::string service, method, path;  // the path without its query
  // KGrpc: `path` names a method; kRedis: the pattern of a key.
  Protocol protocol = Protocol::kHttp;
  std::string answer;  // as a fault: "status:503", "grpc:UNAVAILABLE", "redis:LOADING"
  // The failed calls when the answer was first seen; empty if none of the service's calls failed.
  std::vector<FailedCall> under;
};

}  // namespace filibuster
