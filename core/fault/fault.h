// Fault specifications: what can be done to one RPC, as data. One row of `kFaultKinds` per kind.
//
// Text form (configuration, command line, reports):
//   refused | reset | reset:after | timeout | timeout:after | status:503 | status:503:after
// ":after" = the server receives the request and acts on it; the answer does not come back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace filibuster {

enum class FaultKind : uint8_t {
  kNone = 0,
  kRefused = 1,  // ECONNREFUSED from connect; a reset where the connection is reused
  kReset = 2,    // ECONNRESET instead of an answer
  kTimeout = 3,  // no answer comes; the caller's own timer fires
  kStatus = 4,   // an HTTP answer made here
  kGrpc = 5,     // a gRPC status made here
};

struct FaultKindRow {
  FaultKind kind;
  std::string_view name;
  bool takes_status;  // "status:503"
  bool can_be_after;  // ":after" allowed
  std::string_view meaning;
};
std::span<const FaultKindRow> fault_kinds();  // kNone has no row

struct FaultSpec {
  FaultKind kind = FaultKind::kNone;
  bool after_effect = false;
  uint16_t status = 0;  // kStatus only: 200..599 (a 1xx is no answer)
  std::string body;     // kStatus only
  std::vector<std::pair<std::string, std::string>> headers;  // kStatus only
  bool operator==(const FaultSpec&) const = default;
};

// The Error names the accepted forms.
Result<FaultSpec> parse_fault(std::string_view text);
std::string to_text(const FaultSpec& fault);

// refused, timeout, 500, 502, 503 (issue: default set for HTTP).
std::vector<FaultSpec> default_http_faults();

// The HTTP/1.1 response that the caller receives for a kStatus fault; always has Content-Length
// (but 204, RFC 9110 §8.6) and Connection: close (the connection to the real server is given up).
// For HEAD, 204 and 304 no body follows. Fields that would break the framing are left out.
std::string render_http_response(const FaultSpec& fault, bool head_request);

}  // namespace filibuster
