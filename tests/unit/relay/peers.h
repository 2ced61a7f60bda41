// A client, a relay and a server: the ends are real (libnghttp2's sessions), with their windows,
// header tables and protocol errors. What the agent does is done here: order frames before the
// HEADERS of faulted streams, request blocks that leave the server's table alone. Shared by the
// unit tests and the fuzz target.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/http2/header_block.h"
#include "core/protocol/relay.h"
#include "daemon/relay/relay.h"

namespace filibuster {

using FieldList = std::vector<std::pair<std::string, std::string>>;

// What one end knows of a stream: what it received.
struct Received {
  FieldList head;  // of the last block but trailers
  FieldList trailers;
  std::string data;
  bool ended = false;
  bool reset = false;
  uint32_t error = 0;  // of the reset
  uint32_t promised = 0;
  int blocks = 0;
  std::string field(std::string_view name) const {
    for (const FieldList* list : {&trailers, &head}) {
      for (const auto& [n, value] : *list) {
        if (n == name) return value;
      }
    }
    return "-";
  }
};

// An end of a connection.
class Session {
 public:
  // `table`: of its encoder's header table. `window`: of each stream, for what it receives.
  // `manual`: what it received is not given back to the sender before consume().
  Session(bool server, size_t table, uint32_t window = 65535, bool manual = false) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &on_frame);
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_max_deflate_dynamic_table_size(option, table);
    nghttp2_option_set_no_auto_window_update(option, manual ? 1 : 0);
    if (server) {
      nghttp2_session_server_new2(&session, callbacks, this, option);
    } else {
      nghttp2_session_client_new2(&session, callbacks, this, option);
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &entry, 1);
  }
  ~Session() { nghttp2_session_del(session); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Whole frames that it wants to send (the first with the preface).
  std::vector<std::string> frames() {
    std::vector<std::string> out;
    const uint8_t* data = nullptr;
    for (ssize_t n; (n = nghttp2_session_mem_send(session, &data)) > 0;) {
      out.emplace_back(reinterpret_cast<const char*>(data), static_cast<size_t>(n));
      const uint8_t type = data[3];
      const uint32_t error =
          type == NGHTTP2_RST_STREAM ? http2::read_u32(out.back().data() + 9) : 0;
      // No session sends a GOAWAY of its own accord here.
      healthy = healthy && type != NGHTTP2_GOAWAY && error != NGHTTP2_PROTOCOL_ERROR &&
                error != NGHTTP2_FLOW_CONTROL_ERROR && error != NGHTTP2_STREAM_CLOSED;
    }
    return out;
  }
  bool receive(std::string_view bytes) {
    const ssize_t used = nghttp2_session_mem_recv(
        session, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    healthy = healthy && used == static_cast<ssize_t>(bytes.size());
    return healthy;
  }

  // Return the stream. `open`: its half does not end yet.
  int32_t request(const FieldList& fields) {
    auto nva = pairs(fields);
    return nghttp2_submit_request(session, nullptr, nva.data(), nva.size(), nullptr, nullptr);
  }
  int32_t request_with_body(const FieldList& fields, std::string body, bool open = false) {
    const auto id = static_cast<int32_t>(nghttp2_session_get_next_stream_id(session));
    bodies[id] = {std::move(body), {}, open};
    auto nva = pairs(fields);
    const nghttp2_data_provider provider = {{0}, &read_body};
    return nghttp2_submit_request(session, nullptr, nva.data(), nva.size(), &provider, nullptr);
  }
  void respond(int32_t id, const FieldList& fields, std::string body, FieldList trailers = {},
               bool open = false) {
    bodies[id] = {std::move(body), std::move(trailers), open};
    auto nva = pairs(fields);
    const nghttp2_data_provider provider = {{0}, &read_body};
    nghttp2_submit_response(session, id, nva.data(), nva.size(), &provider);
  }
  // More of a body that was left open.
  void more(int32_t id, std::string_view text, bool end) {
    bodies[id].bytes += text;
    bodies[id].open = !end;
    nghttp2_session_resume_data(session, id);
  }
  void reset(int32_t id, uint32_t code) { nghttp2_submit_rst_stream(session, 0, id, code); }
  void consume(int32_t id, size_t size) { nghttp2_session_consume(session, id, size); }

  nghttp2_session* session = nullptr;
  std::map<int32_t, Received> streams;
  std::vector<int32_t> requests;   // server: complete heads, in order
  std::vector<std::string> lines;  // goaway, ping
  bool healthy = true;             // it has found no fault with what it received
  int32_t goaway_last = -1;

 private:
  struct Body {
    std::string bytes;
    FieldList trailers;
    bool open = false;
    size_t at = 0;
  };
  static std::vector<nghttp2_nv> pairs(const FieldList& fields) {
    std::vector<nghttp2_nv> out;
    for (const auto& [name, value] : fields) {
      out.push_back({bytes(name), bytes(value), name.size(), value.size(), 0});
    }
    return out;
  }
  static uint8_t* bytes(const std::string& s) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(s.data()));
  }
  static ssize_t read_body(nghttp2_session* s, int32_t id, uint8_t* out, size_t size,
                           uint32_t* flags, nghttp2_data_source*, void* self) {
    Body& body = static_cast<Session*>(self)->bodies[id];
    const size_t n = std::min(size, body.bytes.size() - body.at);
    std::copy_n(body.bytes.begin() + static_cast<std::ptrdiff_t>(body.at), n, out);
    body.at += n;
    if (body.at < body.bytes.size()) return static_cast<ssize_t>(n);
    if (body.open) return n == 0 ? ssize_t{NGHTTP2_ERR_DEFERRED} : static_cast<ssize_t>(n);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!body.trailers.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      auto nva = pairs(body.trailers);
      nghttp2_submit_trailer(s, id, nva.data(), nva.size());
    }
    return static_cast<ssize_t>(n);
  }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                       void* self) {
    auto* s = static_cast<Session*>(self);
    int32_t id = frame->hd.stream_id;
    if (frame->hd.type == NGHTTP2_PUSH_PROMISE) id = frame->push_promise.promised_stream_id;
    Received& r = s->streams[id];
    FieldList& list = r.blocks == 0 ? r.head : r.trailers;
    list.emplace_back(std::string(reinterpret_cast<const char*>(name), name_size),
                      std::string(reinterpret_cast<const char*>(value), value_size));
    return 0;
  }
  static int on_data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size,
                     void* self) {
    static_cast<Session*>(self)->streams[id].data.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
    auto* s = static_cast<Session*>(self);
    const int32_t id = frame->hd.stream_id;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
        if (s->streams[id].field(":status").substr(0, 1) == "1") {
          s->streams[id].head.clear();
        } else {
          ++s->streams[id].blocks;
        }
        if (nghttp2_session_check_server_session(session) != 0 && s->streams[id].blocks == 1) {
          s->requests.push_back(id);
        }
        break;
      case NGHTTP2_PUSH_PROMISE:
        s->streams[id].promised = static_cast<uint32_t>(frame->push_promise.promised_stream_id);
        ++s->streams[frame->push_promise.promised_stream_id].blocks;
        break;
      case NGHTTP2_RST_STREAM:
        s->streams[id].reset = true;
        s->streams[id].error = frame->rst_stream.error_code;
        break;
      case NGHTTP2_GOAWAY:
        s->goaway_last = frame->goaway.last_stream_id;
        s->lines.push_back("goaway " + std::to_string(frame->goaway.error_code));
        break;
      case NGHTTP2_PING:
        s->lines.push_back((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 ? "pong" : "ping");
        break;
      default:
        break;
    }
    const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (may_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) s->streams[id].ended = true;
    return 0;
  }

  std::map<int32_t, Body> bodies;
};

// The client's header table of responses, as the agent gives it (RelayState): a size update, then
// its entries as literals with incremental indexing, the oldest first.
class TableReader {
 public:
  TableReader() { nghttp2_hd_inflate_new(&inflater_); }
  ~TableReader() { nghttp2_hd_inflate_del(inflater_); }
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  // Frames of the server: whole ones, unpadded, blocks in one frame.
  void frame(std::string_view bytes) {
    const http2::FrameHeader header = http2::read_frame_header(bytes.data());
    if (header.type != http2::FrameType::kHeaders) return;
    bytes.remove_prefix(http2::kFrameHeaderSize);
    auto* in = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
    size_t size = bytes.size();
    for (;;) {
      nghttp2_nv nv;
      int flags = 0;
      const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &nv, &flags, in, size, 1);
      if (used < 0) std::abort();
      in += used;
      size -= static_cast<size_t>(used);
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    }
    nghttp2_hd_inflate_end_headers(inflater_);
  }
  std::string dump() const {
    std::string memory(16 * 1024, '\0');
    http2::Output out(memory.data(), memory.size());
    http2::write_size_update(
        static_cast<uint32_t>(nghttp2_hd_inflate_get_max_dynamic_table_size(inflater_)), out);
    for (size_t i = nghttp2_hd_inflate_get_num_table_entries(inflater_); i > 61; --i) {
      const nghttp2_nv* nv = nghttp2_hd_inflate_get_table_entry(inflater_, i);
      const size_t at = out.size();
      http2::write_literal(std::string_view(reinterpret_cast<char*>(nv->name), nv->namelen),
                           std::string_view(reinterpret_cast<char*>(nv->value), nv->valuelen), out);
      memory[at] = 0x40;  // RFC 7541 §6.2.1, instead of §6.2.2
    }
    return std::string(out.view());
  }

 private:
  nghttp2_hd_inflater* inflater_ = nullptr;
};

}  // namespace filibuster
