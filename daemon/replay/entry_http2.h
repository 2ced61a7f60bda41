// The client's side of one request of HTTP/2 (RFC 9113) on a connection of its own, with prior knowledge, over nghttp2. No I/O, no clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/cases/model.h"
#include "daemon/wire/http_message.h"

struct nghttp2_session;

namespace filibuster::replay {

class EntryStream {
 public:
  // `host`: for :authority. `request` outlives it.
  EntryStream(const cases::Request& request, const std::string& host);
  ~EntryStream();
  EntryStream(const EntryStream&) = delete;
  EntryStream& operator=(const EntryStream&) = delete;

  // Times do not go back.
  void feed(std::string_view bytes, uint64_t time_ns);
  std::string take_output();
  // The answer is there, or never will be.
  bool is_over() const { return over_; }
  cases::Answer answer() const;

 private:
  struct Callbacks;
  void submit(const std::string& host);

  const cases::Request& request_;
  nghttp2_session* session_ = nullptr;
  int32_t stream_ = -1;
  size_t sent_ = 0;  // of the body
  wire::HttpMessage answer_;
  bool has_head_ = false, over_ = false, ended_ = false;
  uint32_t error_ = 0;
  uint64_t time_ns_ = 0;
};

}  // namespace filibuster::replay
