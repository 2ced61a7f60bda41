// What of a message's header fields is of interest to us, collected from a decoded block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/hash.h"
#include "core/http2/header_block.h"
#include "core/rpc/request_ids.h"
#include "core/rpc/told_fields.h"

namespace filibuster::http2 {

// The head of a request or a response, or trailers. The views are valid during the call that hands it out.
struct MessageHead {
  // requests
  std::string_view method;
  std::string_view authority;  // :authority, else host; as sent, at most 255 bytes
  std::string_view path;       // as sent; at most kMaxPath bytes, path_truncated says more
  bool path_truncated = false;
  // Value of our field; the last one if there are several; at most 128 bytes.
  std::string_view filibuster;
  std::string_view request_id;  // as in http1::MessageHead
  uint8_t request_id_row = kNoRequestId;
  std::string_view told;  // as in http1::MessageHead
  bool was_attempted =
      false;  // it says that there were attempts of this call (kGrpcPreviousAttempts)
  // responses
  uint16_t status = 0;  // 0: none, or not three digits
  // responses without a body (trailers-only) and trailers
  bool has_grpc_status = false;
  std::string_view grpc_status;   // as sent
  std::string_view grpc_message;  // as sent, percent-encoded; at most 1024 bytes
  Hash128 grpc_words;  // of all that grpc-message and grpc-status-details-bin say; zero: nothing
  // both
  std::string_view content_type;  // at most 96 bytes
  bool has_content_length = false;
  uint64_t content_length = 0;
  // Names, values and 32 for each field: what the reader's SETTINGS_MAX_HEADER_LIST_SIZE counts.
  uint64_t list_size = 0;
};

inline constexpr size_t kMaxPath = 2048;

class HeadCollector final : public FieldHandler {
 public:
  // Which request ids heads have, and of which fields the values are told. The tables outlive the collector; nullptr: none.
  void look_for(const SoughtFields* sought) { sought_ = sought; }
  void clear();
  void on_field(const Field& field) override;
  MessageHead head() const;

 private:
  void add_words(std::string_view name, std::string_view value);
  template <size_t N>
  struct Text {  // the first N bytes
    void set(std::string_view text) {
      size = text.size() < N ? text.size() : N;
      truncated = text.size() > N;
      std::memcpy(bytes, text.data(), size);
    }
    void clear() {
      size = 0;
      truncated = false;
    }
    std::string_view view() const { return {bytes, size}; }
    size_t size = 0;
    bool truncated = false;
    char bytes[N];
  };

  const SoughtFields* sought_ = nullptr;
  uint8_t request_id_row_ = kNoRequestId;
  bool was_attempted_ = false;
  Text<kMaxRequestIdValue> request_id_;
  ToldText told_{};
  uint16_t status_ = 0;
  bool has_grpc_status_ = false;
  bool has_authority_ = false;
  bool has_content_length_ = false;
  uint64_t content_length_ = 0;
  uint64_t list_size_ = 0;
  Text<32> method_;
  Text<255> authority_;
  Text<kMaxPath> path_;
  Text<128> filibuster_;
  Text<16> grpc_status_;
  Text<1024> grpc_message_;
  Hash128 grpc_words_;
  Text<96> content_type_;
};

}  // namespace filibuster::http2
