// Header fields of requests whose values the daemon is told: by them it knows the service, and whether a call reads or
// writes (daemon/retries/effects.h). They take no part in what identifies an RPC. The known ones are data; rules of a
// configuration name others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/rpc/request_ids.h"

namespace filibuster {

inline constexpr size_t kMaxToldValue = 128;  // bytes; of a longer one these are told
inline constexpr size_t kMaxToldText = 512;   // bytes of all of them

// The operation of AWS' JSON protocols; the other fields are in each request to S3, to Azure Storage and, where it is signed,
// to Google Cloud Storage.
inline constexpr FieldRow kToldFields[] = {
    {"x-amz-target"},
    {"x-amz-content-sha256"},
    {"x-ms-version"},
    {"x-goog-content-sha256"},
};

class ToldFieldTable : public FieldTable {
 public:
  constexpr ToldFieldTable() : FieldTable(kToldFields) {}
};

// What is looked for in the head of each request.
struct SoughtFields {
  RequestIdTable request_ids;
  ToldFieldTable told;
};

// The fields of one request as they are told, one a line: "x-amz-target: DynamoDB_20120810.GetItem". Nothing is written
// before clear(), since parsers keep it in memory that they share.
class ToldText {
 public:
  void clear() { size_ = left_ = 0; }
  // Another field; `name` as the table has it.
  void begin(std::string_view name);
  // The next bytes of its value.
  void append(std::string_view value);
  std::string_view view() const { return {bytes_, size_}; }

 private:
  void put(std::string_view text);

  size_t size_;
  size_t left_;  // bytes that the value may still have
  char bytes_[kMaxToldText];
};

}  // namespace filibuster
