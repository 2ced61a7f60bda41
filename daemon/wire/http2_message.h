// Whole messages of HTTP/2 (RFC 9113): from the bytes of both directions of a connection, from its first byte on, in any split. Frames
// and header blocks are read by core/http2, so that the preload and this reader agree on where a message ends.
//
// Bytes of a request are given before those of its answer. Pushed streams are no messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/http2/connection_view.h"
#include "daemon/wire/http_message.h"

namespace filibuster::wire {

struct Http2Message {
  bool is_request = false;
  HttpMessage message;  // of an answer that never began the status is 0
  bool whole = true;    // else it is what came before the end of its stream
  // The error code (RFC 9113 §7) with which the stream ended, and who has ended it. A stream that a GOAWAY says will
  // not be processed ends with REFUSED_STREAM.
  std::optional<uint32_t> reset;
  bool reset_by_client = false;
};

class Http2Reader {
 public:
  Http2Reader();
  ~Http2Reader();
  Http2Reader(const Http2Reader&) = delete;
  Http2Reader& operator=(const Http2Reader&) = delete;

  // Times do not go back. The messages that are whole now, or never will be. Interim answers (1xx) are none.
  std::vector<Http2Message> feed(bool requests, std::string_view bytes, uint64_t time_ns);
  // Why nothing is read any more, in a few words; "": it is.
  std::string_view problem() const;
  // What is there so far of the answer of a stream, or nullptr.
  const HttpMessage* open_answer(uint32_t stream) const;
  // About how many bytes are kept of what is open.
  size_t kept() const { return kept_; }

 private:
  struct Listener;
  struct Open {
    HttpMessage request, answer;
    bool request_ended = false, answer_ended = false;
  };
  void take_head(const HttpMessage& head, uint32_t stream, bool requests);
  void end(uint32_t stream, bool requests);
  void reset(uint32_t stream, bool by_client, uint32_t code);
  void close(uint32_t stream);
  void emit(Open* of, bool request, bool whole);

  std::unique_ptr<Listener> listener_;
  std::unique_ptr<http2::ConnectionView> view_;
  std::map<uint32_t, Open> open_;
  std::vector<Http2Message> out_;
  uint64_t time_ns_ = 0;
  size_t kept_ = 0;
};

}  // namespace filibuster::wire
