// Request ids: header fields by which a client library names one logical call, the same at each of its attempts.
// The known ones are data; a configuration adds others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/rpc/field_table.h"

namespace filibuster {

inline constexpr size_t kMaxRequestIdValue = 64;  // bytes; of a longer one these count
inline constexpr uint8_t kNoRequestId = kNoField;

// The field that gRPC's own retries carry (gRFC A6): it says that there were attempts, and of no call which.
inline constexpr std::string_view kGrpcPreviousAttempts = "grpc-previous-rpc-attempts";

// Azure, AWS, draft-ietf-httpapi-idempotency-key-header, and what many proxies and frameworks use.
inline constexpr FieldRow kRequestIds[] = {
    {"x-ms-client-request-id", false},
    {"amz-sdk-invocation-id", false},
    {"idempotency-key", false},
    {"x-request-id", true},
};

class RequestIdTable : public FieldTable {
 public:
  constexpr RequestIdTable() : FieldTable(kRequestIds) {}
};

}  // namespace filibuster
