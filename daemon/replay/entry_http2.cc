#include "daemon/replay/entry_http2.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "core/text/ascii.h"
#include "daemon/cases/grpc_body.h"
#include "daemon/cases/messages.h"

namespace filibuster::replay {
namespace {

constexpr uint32_t kEntryWindow = 1u << 24;

nghttp2_nv entry_field(std::string_view name, std::string_view value) {
  return {const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(name.data())),
          const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct EntryStream::Callbacks {
  static EntryStream* self(void* user) { return static_cast<EntryStream*>(user); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                       void* user) {
    EntryStream& of = *self(user);
    if (frame->hd.stream_id != of.stream_) return 0;
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    const std::string_view text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":status") {
      of.answer_ = {};  // of an interim answer (1xx) nothing stays
      std::from_chars(text.data(), text.data() + text.size(), of.answer_.status);
      of.answer_.head_ns = of.time_ns_;
    } else if (of.has_head_) {
      of.answer_.trailers.emplace_back(key, text);
    } else {
      of.answer_.headers.emplace_back(key, text);
    }
    return 0;
  }

  static int on_data(nghttp2_session*, uint8_t, int32_t, const uint8_t* data, size_t size,
                     void* user) {
    EntryStream& of = *self(user);
    wire::add_to_body(&of.answer_, reinterpret_cast<const char*>(data), size, of.time_ns_);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    EntryStream& of = *self(user);
    if (frame->hd.stream_id != of.stream_ || frame->hd.stream_id == 0) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS) of.has_head_ = of.answer_.status >= 200;
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (ends && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA))
      of.over_ = of.ended_ = true;
    return 0;
  }

  static int on_close(nghttp2_session*, int32_t stream, uint32_t error, void* user) {
    EntryStream& of = *self(user);
    if (stream != of.stream_) return 0;
    of.over_ = true;
    of.error_ = error;
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, int32_t, uint8_t* out, size_t size, uint32_t* flags,
                           nghttp2_data_source*, void* user) {
    EntryStream& of = *self(user);
    const std::string& body = of.request_.body;
    const size_t now = std::min(size, body.size() - of.sent_);
    std::copy_n(body.data() + of.sent_, now, reinterpret_cast<char*>(out));
    of.sent_ += now;
    if (of.sent_ == body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(now);
  }
};

EntryStream::EntryStream(const cases::Request& request, const std::string& host)
    : request_(request) {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) std::abort();  // no memory
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_close);
  if (nghttp2_session_client_new(&session_, callbacks, this) != 0) std::abort();
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                             {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kEntryWindow}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  submit(host);
}

EntryStream::~EntryStream() {
  nghttp2_session_del(session_);
}

void EntryStream::submit(const std::string& host) {
  cases::Headers fields{{":method", request_.method},
                        {":scheme", "http"},
                        {":authority", host},
                        {":path", request_.target}};
  for (const auto& [name, value] : request_.headers) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
    fields.emplace_back(std::move(lower), value);
  }
  // Of gRPC it says that the client reads trailers.
  if (cases::is_grpc(request_.headers)) fields.emplace_back("te", "trailers");
  std::vector<nghttp2_nv> out;
  for (const auto& [name, value] : fields) out.push_back(entry_field(name, value));
  nghttp2_data_provider body{};
  body.read_callback = Callbacks::read_body;
  // A call of gRPC without a message ends with an empty frame of data, as its clients send it.
  const bool has_body = !request_.body.empty() || cases::is_grpc(request_.headers);
  stream_ = nghttp2_submit_request(session_, nullptr, out.data(), out.size(),
                                   has_body ? &body : nullptr, nullptr);
  over_ = stream_ < 0;
}

void EntryStream::feed(std::string_view bytes, uint64_t time_ns) {
  time_ns_ = time_ns;
  const ssize_t taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  over_ = over_ || taken < 0;
}

std::string EntryStream::take_output() {
  std::string out;
  const uint8_t* bytes = nullptr;
  for (ssize_t size = nghttp2_session_mem_send(session_, &bytes); size > 0;
       size = nghttp2_session_mem_send(session_, &bytes))
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  return out;
}

cases::Answer EntryStream::answer() const {
  cases::Answer out = cases::answer_of(answer_);
  if (ended_) return out;
  out.ends = cases::Ends::kReset;
  out.stream_error = error_;
  return out;
}

}  // namespace filibuster::replay
