// One bidirectional gRPC stream over a connection of its own: one message is sent, then one is waited
// for. Calls block until `end` at most. Answers are bounded in size.
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/grpc/message_reader.h"
#include "core/result.h"
#include "daemon/base/descriptors.h"

namespace filibuster {

class ReflectionStream final : grpc::MessageHandler {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ReflectionStream(Clock::time_point end) : end_(end) {}
  ~ReflectionStream();
  ReflectionStream(const ReflectionStream&) = delete;
  ReflectionStream& operator=(const ReflectionStream&) = delete;

  Result<void> connect(const std::string& address);
  // Begins a call of the method `path`. It takes the place of the call before it, which is cancelled.
  Result<void> call(const std::string& path);
  // The answer to `message`. Error: why there is none; not_there() says whether the server has no
  // such method.
  Result<std::string> ask(std::string_view message);
  // Ends the call, and waits until the server has ended it, too, so that no RPC stays open.
  void finish();
  bool not_there() const { return status_ == "404" || grpc_status_ == "12"; }

 private:
  static ssize_t send_from(nghttp2_session*, int32_t, uint8_t* out, size_t size, uint32_t* flags,
                           nghttp2_data_source* source, void*);
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t, void*);
  static int on_data(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                     void*);
  static int on_close(nghttp2_session*, int32_t stream, uint32_t error, void*);

  void on_message(const grpc::MessageInfo& message) override;
  void on_message_bytes(const grpc::MessageInfo&, const char* data, size_t size) override;
  void on_message_end(const grpc::MessageInfo&) override;

  // Sends and receives what is ready, after waiting for it. Error: the connection or the time ended.
  Result<void> turn();
  std::string how_it_ended() const;

  const Clock::time_point end_;
  UniqueFd socket_;
  std::string address_;
  nghttp2_session* session_ = nullptr;
  int32_t stream_ = 0;
  std::string to_send_;  // messages that are not in DATA frames yet
  std::string unsent_;   // frames that are not written to the socket yet
  grpc::MessageReader reader_;
  std::string message_;
  std::deque<std::string> answers_;
  uint64_t received_ = 0;
  bool too_much_ = false, compressed_ = false, closed_ = false, ending_ = false;
  uint32_t close_code_ = 0;
  std::string status_, grpc_status_, grpc_message_;
};

}  // namespace filibuster
