// Request ids: header fields by which a client library names one logical call, the same at each of its attempts.
// The known ones are data; a configuration adds others. Names are only ever added, so that a parser may read the
// table while another thread adds one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "core/text/ascii.h"

namespace filibuster {

inline constexpr size_t kMaxRequestIds = 16;
inline constexpr size_t kMaxRequestIdName = 63;   // bytes
inline constexpr size_t kMaxRequestIdValue = 64;  // bytes; of a longer one these count
inline constexpr uint8_t kNoRequestId = 0xff;

// The field that gRPC's own retries carry (gRFC A6): it says that there were attempts, and of no call which.
inline constexpr std::string_view kGrpcPreviousAttempts = "grpc-previous-rpc-attempts";

struct RequestIdRow {
  std::string_view name;  // lower case
  // The field is passed on from request to request, too: it names a call only together with its method and path.
  bool with_path = false;
};
// Azure, AWS, draft-ietf-httpapi-idempotency-key-header, and what many proxies and frameworks use.
inline constexpr RequestIdRow kRequestIds[] = {
    {"x-ms-client-request-id", false},
    {"amz-sdk-invocation-id", false},
    {"idempotency-key", false},
    {"x-request-id", true},
};

class RequestIdTable {
 public:
  constexpr RequestIdTable() : lengths_(known_lengths()), count_(std::size(kRequestIds)) {
    for (size_t i = 0; i < std::size(kRequestIds); ++i) rows_[i].set(kRequestIds[i]);
  }
  // To be called by one thread at a time. False: the name is too long or empty, or there is no room. A name that is
  // there already stays as it is.
  bool add(std::string_view name, bool with_path);
  // The number of the row with this name, in any case of letters; kNoRequestId: there is none.
  uint8_t find(std::string_view name) const;
  size_t size() const { return count_.load(std::memory_order_acquire); }
  std::string_view name(uint8_t row) const { return {rows_[row].name, rows_[row].size}; }
  bool with_path(uint8_t row) const { return rows_[row].with_path; }

 private:
  struct Row {
    constexpr void set(const RequestIdRow& from) {
      for (size_t i = 0; i < from.name.size(); ++i) name[i] = to_lower(from.name[i]);
      size = static_cast<uint8_t>(from.name.size());
      with_path = from.with_path;
    }
    char name[kMaxRequestIdName] = {};
    uint8_t size = 0;
    bool with_path = false;
  };
  static constexpr uint64_t known_lengths() {
    uint64_t lengths = 0;
    for (const RequestIdRow& row : kRequestIds) lengths |= uint64_t{1} << row.name.size();
    return lengths;
  }

  Row rows_[kMaxRequestIds] = {};
  std::atomic<uint64_t> lengths_;  // bit n: a name has n bytes
  std::atomic<size_t> count_;
};

}  // namespace filibuster
