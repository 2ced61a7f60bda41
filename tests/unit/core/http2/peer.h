// An end of a connection as programs have it: a header encoder with a dynamic table (libnghttp2's),
// and a decoder of its own as reference for what the other end understands.
#pragma once

#include <nghttp2/nghttp2.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/http2/frame.h"

namespace filibuster::http2 {

using FieldList = std::vector<std::pair<std::string, std::string>>;

class Encoder {
 public:
  explicit Encoder(size_t table = 4096) { nghttp2_hd_deflate_new(&deflater_, table); }
  ~Encoder() { nghttp2_hd_deflate_del(deflater_); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  void change_table_size(size_t size) { nghttp2_hd_deflate_change_table_size(deflater_, size); }
  std::string block(const FieldList& fields) {
    std::vector<nghttp2_nv> nva;
    for (const auto& [name, value] : fields) {
      nva.push_back({bytes(name), bytes(value), name.size(), value.size(), 0});
    }
    std::string out(nghttp2_hd_deflate_bound(deflater_, nva.data(), nva.size()), '\0');
    const ssize_t size =
        nghttp2_hd_deflate_hd(deflater_, bytes(out), out.size(), nva.data(), nva.size());
    out.resize(size < 0 ? 0 : static_cast<size_t>(size));
    return out;
  }

 private:
  static uint8_t* bytes(const std::string& s) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(s.data()));
  }
  nghttp2_hd_deflater* deflater_ = nullptr;
};

// What a real server (libnghttp2's session) reads from the wire: headers, data and ends per
// stream, as text; or that it refuses the connection.
class ReferenceServer {
 public:
  explicit ReferenceServer(uint32_t max_frame_size = kDefaultMaxFrameSize) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &on_frame);
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, max_frame_size};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &entry, 1);
    answer();
  }
  ~ReferenceServer() { nghttp2_session_del(session_); }
  ReferenceServer(const ReferenceServer&) = delete;
  ReferenceServer& operator=(const ReferenceServer&) = delete;

  bool receive(std::string_view wire) {
    const ssize_t used = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const uint8_t*>(wire.data()), wire.size());
    answer();
    return used == static_cast<ssize_t>(wire.size()) && !failed_;
  }
  // Its own frames so far.
  const std::string& sent() const { return sent_; }

  std::vector<FieldList> lists;    // of each header block
  std::vector<std::string> lines;  // "headers 1", "data 1 bytes", "end 1", ...

 private:
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                       void* self) {
    auto* s = static_cast<ReferenceServer*>(self);
    if (frame->hd.stream_id != s->open_) {
      s->lists.emplace_back();
      s->open_ = frame->hd.stream_id;
    }
    s->lists.back().emplace_back(std::string(reinterpret_cast<const char*>(name), name_size),
                                 std::string(reinterpret_cast<const char*>(value), value_size));
    return 0;
  }
  static int on_data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size,
                     void* self) {
    static_cast<ReferenceServer*>(self)->lines.push_back(
        "data " + std::to_string(id) + " " +
        std::string(reinterpret_cast<const char*>(data), size));
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    auto* s = static_cast<ReferenceServer*>(self);
    const std::string id = std::to_string(frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_HEADERS) {
      s->open_ = 0;
      s->lines.push_back("headers " + id);
    }
    if (frame->hd.type == NGHTTP2_RST_STREAM) s->lines.push_back("reset " + id);
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      s->lines.push_back("end " + id);
    }
    return 0;
  }
  void answer() {
    const uint8_t* data = nullptr;
    for (ssize_t n; (n = nghttp2_session_mem_send(session_, &data)) > 0;) {
      // RST_STREAM and GOAWAY say that it did not like something.
      if (data[3] == NGHTTP2_GOAWAY || data[3] == NGHTTP2_RST_STREAM) failed_ = true;
      sent_.append(reinterpret_cast<const char*>(data), static_cast<size_t>(n));
    }
  }

  nghttp2_session* session_ = nullptr;
  int32_t open_ = 0;
  bool failed_ = false;
  std::string sent_;
};

}  // namespace filibuster::http2
