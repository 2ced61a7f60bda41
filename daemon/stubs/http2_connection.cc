// The server's side of HTTP/2 (RFC 9113) over nghttp2, and of gRPC's unary calls on it.
#include <nghttp2/nghttp2.h>

#include <algorithm>

#include "core/grpc/message_reader.h"
#include "core/rpc/header_field.h"
#include "core/text/ascii.h"
#include "daemon/stubs/stub_connection.h"

namespace filibuster::stubs {
namespace {

constexpr size_t kMostStreams = 1000;
constexpr size_t kMostStatusMessage = 4096;  // bytes of grpc-message, encoded

// What a stream sends: data, then trailers where it is an answer of gRPC.
struct Stream {
  Call call;
  bool is_grpc = false, asked = false;
  std::string data;
  size_t sent = 0;
  std::string trailers_code, trailers_message;
};

nghttp2_nv field(std::string_view name, std::string_view value) {
  // nghttp2 copies both unless it is told that they stay.
  return {const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(name.data())),
          const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string encoded(const std::string& message) {
  std::string out(kMostStatusMessage, '\0');
  out.resize(grpc::encode_message(message, out.data(), out.size()));
  return out;
}

class Http2Connection final : public StubConnection {
 public:
  explicit Http2Connection(std::string service) : service_(std::move(service)) {
    nghttp2_session_callbacks* callbacks = nullptr;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) return;
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if (nghttp2_session_server_new(&session_, callbacks, this) != 0) session_ = nullptr;
    nghttp2_session_callbacks_del(callbacks);
    if (session_ == nullptr) return;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMostStreams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  }
  ~Http2Connection() override { nghttp2_session_del(session_); }
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  bool feed(std::string_view bytes) override {
    if (session_ == nullptr) return false;
    const ssize_t taken = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    return taken >= 0;
  }

  void reply(uint64_t number, const Reply& reply) override {
    const auto id = static_cast<int32_t>(number);
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;  // its client has cancelled it
    if (found->second.is_grpc) {
      reply_grpc(id, &found->second, reply);
    } else {
      reply_http(id, &found->second, reply);
    }
  }

  bool finished() const override {
    return session_ == nullptr ||
           (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
  }

  std::string take_output() override {
    const uint8_t* bytes = nullptr;
    if (session_ == nullptr) return "";
    for (ssize_t size = nghttp2_session_mem_send(session_, &bytes); size > 0;
         size = nghttp2_session_mem_send(session_, &bytes))
      output_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    return std::exchange(output_, {});
  }

 private:
  static Http2Connection* self(void* user) { return static_cast<Http2Connection*>(user); }

  static int on_begin(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      self(user)->streams_[frame->hd.stream_id].call.service = self(user)->service_;
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                       void* user) {
    const auto found = self(user)->streams_.find(frame->hd.stream_id);
    if (found == self(user)->streams_.end()) return 0;
    Stream& stream = found->second;
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    const std::string_view text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":method") stream.call.method = text;
    if (key == ":path") stream.call.path = text;
    if (key == "content-type") stream.is_grpc = grpc::is_grpc(text);
    if (key == kHeaderName) stream.call.field = text;
    if (key != kHeaderName && !key.starts_with(':')) stream.call.headers.emplace_back(key, text);
    return 0;
  }

  static int on_data(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* data,
                     size_t size, void* user) {
    const auto found = self(user)->streams_.find(id);
    if (found == self(user)->streams_.end()) return 0;
    std::string& body = found->second.call.body;
    if (body.size() + size > kMostBody) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_ENHANCE_YOUR_CALM);
      return 0;
    }
    body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (ends && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA))
      self(user)->on_request(frame->hd.stream_id);
    return 0;
  }

  static int on_close(nghttp2_session*, int32_t id, uint32_t, void* user) {
    self(user)->streams_.erase(id);
    return 0;
  }

  void on_request(int32_t id) {
    const auto found = streams_.find(id);
    if (found == streams_.end() || found->second.asked) return;
    found->second.asked = true;
    Call call = std::move(found->second.call);
    if (found->second.is_grpc) call.kind = Kind::kGrpc;
    call.number = static_cast<uint64_t>(id);
    calls_.push_back({static_cast<uint64_t>(id), std::move(call)});
  }

  void reply_http(int32_t id, Stream* stream, const Reply& reply) {
    const bool answered = reply.problem.empty();
    const std::string status = std::to_string(answered ? reply.answer.status : 501);
    stream->data = answered ? reply.answer.body : "filibuster: " + reply.problem + "\n";
    std::vector<std::pair<std::string, std::string>> fields;
    for (const auto& [name, value] : reply.answer.headers) {
      std::string lower = name;
      std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return to_lower(c); });
      fields.emplace_back(std::move(lower), value);
    }
    if (!answered) fields = {{"content-type", "text/plain; charset=utf-8"}};
    std::vector<nghttp2_nv> out{field(":status", status)};
    for (const auto& [name, value] : fields) out.push_back(field(name, value));
    nghttp2_data_provider body{};
    body.source.ptr = stream;
    body.read_callback = read_data;
    nghttp2_submit_response(session_, id, out.data(), out.size(),
                            stream->data.empty() ? nullptr : &body);
  }

  void reply_grpc(int32_t id, Stream* stream, const Reply& reply) {
    const bool answered = reply.problem.empty();
    const grpc::Code code = answered ? reply.answer.code : grpc::Code::kUnimplemented;
    stream->trailers_code = std::to_string(static_cast<int>(code));
    stream->trailers_message =
        encoded(answered ? reply.answer.status_message : "filibuster: " + reply.problem);
    std::vector<nghttp2_nv> out{field(":status", "200"), field("content-type", "application/grpc")};
    if (code != grpc::Code::kOk) {
      out.push_back(field("grpc-status", stream->trailers_code));
      if (!stream->trailers_message.empty())
        out.push_back(field("grpc-message", stream->trailers_message));
      nghttp2_submit_response(session_, id, out.data(), out.size(), nullptr);
      return;
    }
    char prefix[grpc::kPrefixSize];
    grpc::write_prefix(false, static_cast<uint32_t>(reply.grpc_message.size()), prefix);
    stream->data.assign(prefix, sizeof prefix);
    stream->data += reply.grpc_message;
    nghttp2_data_provider body{};
    body.source.ptr = stream;
    body.read_callback = read_data;
    nghttp2_submit_response(session_, id, out.data(), out.size(), &body);
  }

  static ssize_t read_data(nghttp2_session* session, int32_t id, uint8_t* out, size_t size,
                           uint32_t* flags, nghttp2_data_source* source, void*) {
    auto* stream = static_cast<Stream*>(source->ptr);
    const size_t now = std::min(size, stream->data.size() - stream->sent);
    std::copy_n(stream->data.data() + stream->sent, now, reinterpret_cast<char*>(out));
    stream->sent += now;
    if (stream->sent < stream->data.size()) return static_cast<ssize_t>(now);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (stream->is_grpc) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const nghttp2_nv trailers[] = {field("grpc-status", stream->trailers_code)};
      nghttp2_submit_trailer(session, id, trailers, std::size(trailers));
    }
    return static_cast<ssize_t>(now);
  }

  const std::string service_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Stream> streams_;  // their places stay while they are open
};

}  // namespace

std::unique_ptr<StubConnection> make_http2_connection(std::string service) {
  return std::make_unique<Http2Connection>(std::move(service));
}

}  // namespace filibuster::stubs
