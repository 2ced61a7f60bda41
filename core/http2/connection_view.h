// One HTTP/2 connection, followed from its first byte at one of its ends: what this end sends and
// what it receives. Passive: nothing is answered, nothing is changed, nothing is buffered. Bytes that are
// sent are fed before they leave, if they are to be changed.
//
// What the listener is told of one stream:
//   on_request, on_data*, [on_trailers], on_end     direction kRequests
//   on_response, on_data*, [on_trailers], on_end    direction kResponses, in between
//   [on_reset]                                       at any time
//   on_closed                                        last, when both halves ended or it was reset
// Interim responses (1xx) are not reported. A response of trailers only is an on_response with
// end_stream and has_grpc_status. Positions are those of the stream of bytes of that direction.
//
// It never guesses: after an error (`on_lost`, once) nothing is parsed in either direction. Streams
// beyond kMaxStreams open at once are named by on_untracked and pass; streams that the server opens
// (push) pass unreported.
//
// One thread at a time: both directions share streams and settings; their owner has a lock
// around feed. Large (sizeof: about 560 KiB), but untouched where it is not used; it
// allocates nothing and needs no destructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/http2/frame_parser.h"
#include "core/http2/header_block.h"
#include "core/http2/message_head.h"
#include "core/http2/stream_table.h"

namespace filibuster::http2 {

enum class Side : uint8_t { kClient, kServer };

// Every function does nothing unless it is overridden. ConnectionView::give_up may be called in
// any.
class ConnectionListener {
 public:
  virtual void on_request(Stream&, const MessageHead&, const HeaderBlock&) {}
  virtual void on_response(Stream&, const MessageHead&, const HeaderBlock&) {}
  virtual void on_data(Stream&, Direction, const char*, size_t) {}
  virtual void on_trailers(Stream&, Direction, const MessageHead&, const HeaderBlock&) {}
  virtual void on_end(Stream&, Direction) {}
  // `by`: whose RST_STREAM it is (kRequests: the client's).
  virtual void on_reset(Stream&, Direction /*by*/, uint32_t /*error_code*/) {}
  // The frames are no HTTP message (RFC 9113 §8.1.1): the stream is not followed any more, and
  // on_closed follows.
  virtual void on_malformed(Stream&, Direction) {}
  virtual void on_closed(Stream&) {}
  virtual void on_untracked(uint32_t /*stream*/) {}

  virtual void on_settings(Direction /*by*/, const Settings&) {}
  virtual void on_settings_ack(Direction /*by*/) {}
  virtual void on_ping(Direction /*by*/, bool /*ack*/, const char* /*8 bytes*/) {}
  virtual void on_goaway(Direction /*by*/, uint32_t /*last_stream*/, uint32_t /*error_code*/) {}
  virtual void on_window_update(Direction /*by*/, uint32_t /*stream*/, uint32_t /*increment*/) {}
  virtual void on_lost(Error) {}

  // For a listener that takes some of the bytes away: every frame when its header is complete, and
  // every header block (pushed, trailing and untracked ones too) with every field, before what it
  // means is reported.
  virtual void on_frame(Direction, const FrameHeader&, uint64_t /*start*/) {}
  virtual void on_block(Direction, const HeaderBlock&) {}
  virtual void on_field(Direction, const Field&) {}
  virtual void on_block_end(Direction, const HeaderBlock&) {}

 protected:
  ~ConnectionListener() = default;
};

class ConnectionView {
 public:
  // `listener` outlives the view.
  ConnectionView(Side side, ConnectionListener* listener);
  ConnectionView(const ConnectionView&) = delete;
  ConnectionView& operator=(const ConnectionView&) = delete;

  // They return the error, which is kNone as a rule.
  Error feed(Direction direction, const char* data, size_t size);
  // Data bytes that went by unseen (sendfile).
  Error skip_data(Direction direction, uint64_t size);

  // After `Upgrade: h2c` and 101 (RFC 7540 §3.2), before any feed: the HTTP/1.1 request is stream
  // 1, complete, and HTTP2-Settings holds the client's first settings. nullptr: they are malformed,
  // and the view is lost. The client still sends its preface, the server answers on stream 1.
  Stream* begin_upgraded(std::string_view http2_settings);

  // Nothing more is parsed; no on_lost.
  void give_up(Error error);

  Side side() const { return side_; }
  Error error() const { return error_; }
  bool lost() const { return error_ != Error::kNone; }
  // Which request ids the heads of requests have (core/rpc/request_ids.h), and which fields are told.
  void look_for(const SoughtFields* sought) { requests_.collector.look_for(sought); }
  const FrameParser& parser(Direction d) const { return way(d).parser; }
  const HeaderDecoder& decoder(Direction d) const { return way(d).decoder; }
  // What the reader of this direction asks its writer for.
  const Settings& settings_for(Direction d) const { return way(opposite(d)).parser.settings(); }
  Stream* find(uint32_t id) { return streams_.find(id); }
  size_t open_streams() const { return streams_.size(); }
  template <typename Visit>
  void for_each_stream(Visit visit) {
    streams_.for_each(visit);
  }
  // Bytes of DATA that the writer of this direction may send now; below 0 after a smaller
  // SETTINGS_INITIAL_WINDOW_SIZE. Whoever adds or takes away DATA has to keep the difference.
  int64_t window(Direction d, const Stream& stream) const;
  // The same for all streams together.
  int64_t connection_window(Direction d) const { return way(d).credit; }

 private:
  // A change of the header table's size that its writer has not acknowledged.
  struct TableChange {
    uint64_t number;    // of the SETTINGS frame
    uint32_t smallest;  // kUnlimited: it was never below the size before
    uint32_t now;
  };
  static constexpr size_t kMaxTableChanges = 16;

  // One direction: its frames, its header table, and the settings that its writer sends.
  struct Way final : FrameHandler, FieldHandler {
    Way(ConnectionView* view_, Direction direction_);
    void on_frame(const FrameHeader& header, uint64_t start) override;
    void on_block(const HeaderBlock& block) override;
    void on_block_bytes(const char* data, size_t size) override;
    void on_block_end(const HeaderBlock& block) override;
    void on_data(uint32_t stream, const char* data, size_t size) override;
    void on_data_end(uint32_t stream, uint32_t flow_controlled, bool end) override;
    void on_reset(uint32_t stream, uint32_t error_code) override;
    void on_settings(const SettingsFrame& settings) override;
    void on_settings_ack() override;
    void on_ping(bool ack, const char* data) override;
    void on_goaway(uint32_t last_stream, uint32_t error_code) override;
    void on_window_update(uint32_t stream, uint32_t increment) override;
    void on_field(const Field& field) override;

    ConnectionView* const view;
    const Direction direction;
    FrameParser parser;
    HeaderDecoder decoder;
    HeadCollector collector;
    int64_t credit = kDefaultWindow;  // of the connection, for this direction's data
    uint64_t settings_sent = 0;
    uint64_t settings_acked = 0;                          // by the other end
    uint32_t asked_table_size = kDefaultHeaderTableSize;  // by the newest SETTINGS
    size_t change_count = 0;
    TableChange changes[kMaxTableChanges];
    alignas(64) char memory[kDecoderMemory];
  };

  Way& way(Direction d) { return d == Direction::kRequests ? requests_ : responses_; }
  const Way& way(Direction d) const { return d == Direction::kRequests ? requests_ : responses_; }
  void fail(Error error);
  bool check_idle(uint32_t stream);
  void take_request(const HeaderBlock& block);
  void take_block(Stream* stream, Direction direction, const HeaderBlock& block);
  void end_half(Stream* stream, Direction direction);
  void close(Stream* stream);

  const Side side_;
  Error error_ = Error::kNone;
  ConnectionListener* listener_;
  uint32_t last_request_ = 0;  // highest stream of the client
  StreamTable streams_;
  Way requests_;
  Way responses_;
};

}  // namespace filibuster::http2
