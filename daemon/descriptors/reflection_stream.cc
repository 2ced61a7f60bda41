#include "daemon/descriptors/reflection_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/grpc/call.h"
#include "core/http2/frame.h"

namespace filibuster {
namespace {

constexpr uint64_t kMostReceived = 16u << 20;  // bytes of one call

// "127.0.0.1:5001", "[::1]:5001".
Result<socklen_t> parse_address(std::string_view text, sockaddr_storage* out) {
  const size_t colon = text.rfind(':');
  std::string host(text.substr(0, colon == std::string_view::npos ? 0 : colon));
  uint16_t port = 0;
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool good = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  *out = {};
  auto* four = reinterpret_cast<sockaddr_in*>(out);
  auto* six = reinterpret_cast<sockaddr_in6*>(out);
  if (good && ::inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    return socklen_t{sizeof *four};
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (good && ::inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    return socklen_t{sizeof *six};
  }
  return Error{std::string(text) + " is no address with a port"};
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

ReflectionStream::~ReflectionStream() {
  if (session_ != nullptr) nghttp2_session_del(session_);
}

Result<void> ReflectionStream::connect(const std::string& address) {
  address_ = address;
  sockaddr_storage to{};
  auto size = parse_address(address, &to);
  if (!size) return size.error();
  socket_ = UniqueFd(::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_.valid()) return system_error("socket");
  if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), size.value()) != 0 &&
      errno != EINPROGRESS) {
    return system_error("connect");
  }
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) return Error{"no memory"};
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  const int made = nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  if (made != 0) return Error{"no memory"};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  return {};
}

Result<void> ReflectionStream::call(const std::string& path) {
  if (stream_ > 0 && !closed_)
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream_, NGHTTP2_CANCEL);
  reader_ = {};
  message_.clear();
  answers_.clear();
  to_send_.clear();
  received_ = 0;
  closed_ = too_much_ = compressed_ = false;
  status_.clear();
  grpc_status_.clear();
  grpc_message_.clear();
  const nghttp2_nv fields[] = {field(":method", "POST"),
                               field(":scheme", "http"),
                               field(":path", path),
                               field(":authority", address_),
                               field("te", "trailers"),
                               field("content-type", "application/grpc"),
                               field("user-agent", "filibuster")};
  nghttp2_data_provider body{};
  body.source.ptr = this;
  body.read_callback = send_from;
  stream_ = nghttp2_submit_request(session_, nullptr, fields, std::size(fields), &body, nullptr);
  if (stream_ < 0) return Error{std::string("no stream: ") + nghttp2_strerror(stream_)};
  return {};
}

Result<std::string> ReflectionStream::ask(std::string_view message) {
  char prefix[grpc::kPrefixSize];
  grpc::write_prefix(false, static_cast<uint32_t>(message.size()), prefix);
  to_send_.append(prefix, sizeof prefix);
  to_send_ += message;
  nghttp2_session_resume_data(session_, stream_);
  while (answers_.empty()) {
    if (too_much_) return Error{"it sends more than 16 MiB"};
    if (compressed_)
      return Error{"it sends a compressed message, although the request accepts none"};
    if (reader_.failed()) return Error{"what it sends is not gRPC"};
    if (closed_) return Error{how_it_ended()};
    if (auto turned = turn(); !turned) return turned.error();
  }
  std::string answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

void ReflectionStream::finish() {
  if (stream_ <= 0) return;
  ending_ = true;
  nghttp2_session_resume_data(session_, stream_);
  while (!closed_ && turn().ok()) {
  }
}

std::string ReflectionStream::how_it_ended() const {
  if (!grpc_status_.empty()) {
    std::string text(grpc::to_name(grpc::parse_status(grpc_status_)));
    if (grpc_message_.empty()) return text;
    char said[200];
    return text + " (" + std::string(said, grpc::decode_message(grpc_message_, said, sizeof said)) +
           ")";
  }
  if (!status_.empty() && status_ != "200") return "HTTP status " + status_;
  return "the stream ended with " + std::string(nghttp2_http2_strerror(close_code_));
}

Result<void> ReflectionStream::turn() {
  for (const uint8_t* bytes = nullptr; unsent_.size() < (64u << 10);) {
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) return Error{nghttp2_strerror(static_cast<int>(size))};
    if (size == 0) break;
    unsent_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  }
  if (unsent_.empty() && nghttp2_session_want_read(session_) == 0)
    return Error{"it does not speak HTTP/2"};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
  if (left.count() <= 0) return Error{"no answer in time"};
  pollfd ready{socket_.get(), static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
  const int count = ::poll(&ready, 1, static_cast<int>(left.count()));
  if (count < 0 && errno != EINTR) return system_error("poll");
  if (count <= 0) return {};
  if ((ready.revents & POLLOUT) != 0) {
    const ssize_t size = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN) return system_error("send");
    if (size > 0) unsent_.erase(0, static_cast<size_t>(size));
  }
  if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
    uint8_t buffer[16384];
    const ssize_t size = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (size < 0 && errno != EAGAIN) return system_error("recv");
    if (size == 0) return Error{"the connection was closed"};
    if (size > 0) {
      const ssize_t taken = nghttp2_session_mem_recv(session_, buffer, static_cast<size_t>(size));
      if (taken < 0)
        return Error{std::string("it does not speak HTTP/2: ") +
                     nghttp2_strerror(static_cast<int>(taken))};
    }
  }
  return {};
}

ssize_t ReflectionStream::send_from(nghttp2_session*, int32_t, uint8_t* out, size_t size,
                                    uint32_t* flags, nghttp2_data_source* source, void*) {
  auto* self = static_cast<ReflectionStream*>(source->ptr);
  if (self->to_send_.empty()) {
    if (!self->ending_) return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return 0;
  }
  const size_t count = std::min(size, self->to_send_.size());
  std::memcpy(out, self->to_send_.data(), count);
  self->to_send_.erase(0, count);
  return static_cast<ssize_t>(count);
}

int ReflectionStream::on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                                size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                                void* user) {
  auto* self = static_cast<ReflectionStream*>(user);
  if (frame->hd.stream_id != self->stream_) return 0;
  const std::string_view key(reinterpret_cast<const char*>(name), name_size);
  const std::string_view text(reinterpret_cast<const char*>(value), value_size);
  if (key == ":status") self->status_ = text;
  if (key == "grpc-status") self->grpc_status_ = text;
  if (key == "grpc-message") self->grpc_message_ = text;
  return 0;
}

int ReflectionStream::on_data(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data,
                              size_t size, void* user) {
  auto* self = static_cast<ReflectionStream*>(user);
  if (stream != self->stream_) return 0;
  self->received_ += size;
  self->too_much_ = self->too_much_ || self->received_ > kMostReceived;
  if (!self->too_much_) self->reader_.feed(reinterpret_cast<const char*>(data), size, self);
  return 0;
}

int ReflectionStream::on_close(nghttp2_session*, int32_t stream, uint32_t error, void* user) {
  auto* self = static_cast<ReflectionStream*>(user);
  if (stream != self->stream_) return 0;
  self->closed_ = true;
  self->close_code_ = error;
  return 0;
}

void ReflectionStream::on_message(const grpc::MessageInfo& message) {
  compressed_ = compressed_ || message.compressed;
  message_.clear();
}

void ReflectionStream::on_message_bytes(const grpc::MessageInfo&, const char* data, size_t size) {
  message_.append(data, size);
}

void ReflectionStream::on_message_end(const grpc::MessageInfo&) {
  answers_.push_back(std::move(message_));
}

}  // namespace filibuster
