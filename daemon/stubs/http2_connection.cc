// The server's side of HTTP/2 (RFC 9113) over nghttp2, and of gRPC's calls on it.
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

// What a stream sends: data, then trailers.
struct Stream {
  Call call;
  bool is_grpc = false, asked = false;
  bool ended = false;            // the request is whole
  grpc::MessageReader messages;  // of the request
  bool begun = false;            // the head of the answer was given to nghttp2
  std::string data;
  size_t sent = 0, released = 0;  // bytes of `data` that have left, and that may
  std::vector<std::pair<std::string, std::string>> trailers;
  std::vector<Part> parts;  // those that have not left
  bool is_told = false;     // the first one, by take_due()
  End end = End::kNone;     // behind the data
  std::optional<uint32_t> stream_error;
};

nghttp2_nv field(std::string_view name, std::string_view value) {
  // nghttp2 copies both unless it is told that they stay.
  return {const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(name.data())),
          const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields in_lower_case(Fields fields) {
  for (auto& [name, value] : fields)
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return to_lower(c); });
  return fields;
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
    if (found->second.begun) {
      go_on(id, &found->second, reply);
    } else if (found->second.is_grpc && !(reply.is_http && reply.problem.empty())) {
      reply_grpc(id, &found->second, reply);
    } else {
      reply_http(id, &found->second, reply);
    }
  }

  std::optional<DuePart> take_due() override {
    for (auto& [id, stream] : streams_) {
      if (stream.parts.empty() || stream.is_told) continue;
      const Part& next = stream.parts.front();
      const bool may_leave = next.after && stream.is_grpc
                                 ? stream.ended || stream.messages.messages() >= *next.after
                                 : stream.ended;
      if (!may_leave) continue;
      stream.is_told = true;
      return DuePart{static_cast<uint64_t>(id), next.gap};
    }
    return std::nullopt;
  }

  void send_part(uint64_t number) override {
    const auto found = streams_.find(static_cast<int32_t>(number));
    if (found == streams_.end() || found->second.parts.empty()) return;
    Stream& stream = found->second;
    stream.released += stream.parts.front().size;
    stream.parts.erase(stream.parts.begin());
    stream.is_told = false;
    nghttp2_session_resume_data(session_, found->first);
  }

  Call* open_call(uint64_t number) override {
    const auto found = streams_.find(static_cast<int32_t>(number));
    return found == streams_.end() || found->second.asked ? nullptr : &found->second.call;
  }

  End ended() const override { return ended_; }
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
      self(user)->begin(frame->hd.stream_id);
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
    const auto* bytes = reinterpret_cast<const char*>(data);
    body.append(bytes, size);
    struct Ignored final : grpc::MessageHandler {
    } ignored;
    if (found->second.is_grpc) found->second.messages.feed(bytes, size, &ignored);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!ends && frame->hd.type == NGHTTP2_DATA) self(user)->on_part(frame->hd.stream_id);
    if (ends && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA))
      self(user)->on_request(frame->hd.stream_id);
    return 0;
  }

  static int on_close(nghttp2_session*, int32_t id, uint32_t, void* user) {
    self(user)->streams_.erase(id);
    return 0;
  }

  void begin(int32_t id) {
    Call& call = streams_[id].call;
    call.service = service_;
    call.number = static_cast<uint64_t>(id) - 1;
  }

  // Messages of a request that goes on: of those that came at once the last one is told.
  void on_part(int32_t id) {
    const auto found = streams_.find(id);
    if (found == streams_.end() || found->second.asked || !found->second.is_grpc ||
        !found->second.messages.between_messages() || found->second.messages.messages() == 0)
      return;
    found->second.call.kind = Kind::kGrpc;
    calls_.push_back({static_cast<uint64_t>(id), {}, true});
  }

  void on_request(int32_t id) {
    const auto found = streams_.find(id);
    if (found == streams_.end() || found->second.asked) return;
    found->second.asked = found->second.ended = true;
    Call call = std::move(found->second.call);
    if (found->second.is_grpc) call.kind = Kind::kGrpc;
    calls_.push_back({static_cast<uint64_t>(id), std::move(call)});
  }

  void submit(int32_t id, Stream* stream, const Fields& fields) {
    std::vector<nghttp2_nv> out;
    for (const auto& [name, value] : fields) out.push_back(field(name, value));
    nghttp2_data_provider body{};
    body.source.ptr = stream;
    body.read_callback = read_data;
    stream->begun = true;
    const bool has_more =
        !stream->data.empty() || !stream->trailers.empty() || stream->end != End::kNone;
    nghttp2_submit_response(session_, id, out.data(), out.size(), has_more ? &body : nullptr);
  }

  // The rest of an answer that was begun while its request was open.
  void go_on(int32_t id, Stream* stream, const Reply& reply) {
    const bool is_same = reply.problem.empty() &&
                         reply.answer.body.starts_with(stream->data.substr(0, stream->released));
    if (is_same) {
      stream->trailers = in_lower_case(reply.trailers);
      stream->end = reply.end;
      stream->stream_error = reply.stream_error;
      if (reply.answer.body != stream->data) {
        stream->data = reply.answer.body;
        stream->parts = {{stream->data.size() - stream->released, {}, {}}};
        stream->is_told = false;
      }
      nghttp2_session_resume_data(session_, id);
      return;
    }
    const std::string& problem =
        reply.problem.empty() ? "two recorded calls begin in the same way" : reply.problem;
    stream->asked = true;
    stream->parts.clear();
    stream->data.resize(stream->released);
    stream->trailers = {{"grpc-status", "12"}, {"grpc-message", encoded("filibuster: " + problem)}};
    stream->end = End::kNone;
    nghttp2_session_resume_data(session_, id);
  }

  void reply_http(int32_t id, Stream* stream, const Reply& reply) {
    if (!reply.problem.empty()) {
      stream->data = "filibuster: " + reply.problem + "\n";
      stream->released = stream->data.size();
      return submit(id, stream,
                    {{":status", "501"}, {"content-type", "text/plain; charset=utf-8"}});
    }
    if (reply.answer.status == 0) {  // it ends with a reset, and nothing before it
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, reply.stream_error.value_or(0));
      return;
    }
    stream->data = reply.answer.body;
    stream->trailers = in_lower_case(reply.trailers);
    stream->parts = reply.parts;
    stream->released = reply.parts.empty() ? stream->data.size() : 0;
    stream->end = reply.end;
    stream->stream_error = reply.stream_error;
    Fields fields{{":status", std::to_string(reply.answer.status)}};
    for (auto& each : in_lower_case(reply.answer.headers)) fields.push_back(std::move(each));
    submit(id, stream, fields);
  }

  void reply_grpc(int32_t id, Stream* stream, const Reply& reply) {
    const bool answered = reply.problem.empty();
    const grpc::Code code = answered ? reply.answer.code : grpc::Code::kUnimplemented;
    const std::string number = std::to_string(static_cast<int>(code));
    const std::string message =
        encoded(answered ? reply.answer.status_message : "filibuster: " + reply.problem);
    Fields fields{{":status", "200"}, {"content-type", "application/grpc"}};
    if (code != grpc::Code::kOk) {
      stream->asked = true;  // what the client still sends is of no interest
      fields.emplace_back("grpc-status", number);
      if (!message.empty()) fields.emplace_back("grpc-message", message);
      return submit(id, stream, fields);
    }
    char prefix[grpc::kPrefixSize];
    grpc::write_prefix(false, static_cast<uint32_t>(reply.grpc_message.size()), prefix);
    stream->data.assign(prefix, sizeof prefix);
    stream->data += reply.grpc_message;
    stream->released = stream->data.size();
    stream->trailers = {{"grpc-status", number}};
    submit(id, stream, fields);
  }

  static ssize_t read_data(nghttp2_session* session, int32_t id, uint8_t* out, size_t size,
                           uint32_t* flags, nghttp2_data_source* source, void* user) {
    auto* stream = static_cast<Stream*>(source->ptr);
    const size_t now = std::min(size, stream->released - stream->sent);
    std::copy_n(stream->data.data() + stream->sent, now, reinterpret_cast<char*>(out));
    stream->sent += now;
    // Whoever speaks in turns ends the request, and then has the end of the answer.
    const bool is_last =
        stream->sent == stream->data.size() && stream->parts.empty() && stream->asked;
    if (!is_last || stream->end != End::kNone) {
      if (now != 0) return static_cast<ssize_t>(now);
      if (is_last) self(user)->end_early(id, *stream);
      return NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!stream->trailers.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      std::vector<nghttp2_nv> trailers;
      for (const auto& [name, value] : stream->trailers) trailers.push_back(field(name, value));
      nghttp2_submit_trailer(session, id, trailers.data(), trailers.size());
    }
    return static_cast<ssize_t>(now);
  }

  // Behind the beginning of an answer.
  void end_early(int32_t id, const Stream& stream) {
    if (stream.end == End::kSilence) return;
    if (stream.stream_error) {
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, *stream.stream_error);
    } else {
      ended_ = stream.end;
    }
  }

  const std::string service_;
  nghttp2_session* session_ = nullptr;
  End ended_ = End::kNone;
  std::map<int32_t, Stream> streams_;  // their places stay while they are open
};

}  // namespace

std::unique_ptr<StubConnection> make_http2_connection(std::string service) {
  return std::make_unique<Http2Connection>(std::move(service));
}

}  // namespace filibuster::stubs
