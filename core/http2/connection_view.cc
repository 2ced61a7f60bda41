#include "core/http2/connection_view.h"

#include <algorithm>

#include "core/text/base64.h"

namespace filibuster::http2 {

ConnectionView::Way::Way(ConnectionView* view_, Direction direction_)
    : view(view_),
      direction(direction_),
      parser(direction_, this),
      decoder(memory, sizeof memory) {}

ConnectionView::ConnectionView(Side side, ConnectionListener* listener)
    : side_(side),
      listener_(listener),
      requests_(this, Direction::kRequests),
      responses_(this, Direction::kResponses) {}

void ConnectionView::give_up(Error error) {
  if (lost()) return;
  error_ = error;
  requests_.parser.fail(error);
  responses_.parser.fail(error);
}

void ConnectionView::fail(Error error) {
  if (lost() || error == Error::kNone) return;
  give_up(error);
  listener_->on_lost(error);
}

Error ConnectionView::feed(Direction direction, const char* data, size_t size) {
  fail(way(direction).parser.feed(data, size));
  return error_;
}

Error ConnectionView::skip_data(Direction direction, uint64_t size) {
  fail(way(direction).parser.skip_data(size));
  return error_;
}

Stream* ConnectionView::begin_upgraded(std::string_view http2_settings) {
  char payload[512];
  const size_t size = decode_base64(http2_settings, payload, sizeof payload);
  if (size == SIZE_MAX || !requests_.parser.preset_settings(payload, size)) {
    fail(Error::kBadSetting);
    return nullptr;
  }
  // The 101 acknowledges the settings (RFC 7540 §3.2.1).
  const Settings& settings = requests_.parser.settings();
  responses_.parser.allow_frame_size(settings.max_frame_size);
  responses_.decoder.limit_table(settings.header_table_size, settings.header_table_size);
  requests_.asked_table_size = settings.header_table_size;
  last_request_ = 1;
  Stream* stream = streams_.open(1);
  stream->halves[static_cast<size_t>(Direction::kRequests)] = Half::kEnded;
  return stream;
}

int64_t ConnectionView::window(Direction d, const Stream& stream) const {
  return std::min(way(d).credit,
                  stream.credit[static_cast<size_t>(d)] + settings_for(d).initial_window_size);
}

// --- streams -----------------------------------------------------------------------------------

// Frames on a stream that nobody opened (RFC 9113 §5.1). Those that the server opens are not
// followed.
bool ConnectionView::check_idle(uint32_t stream) {
  if (stream % 2 == 0 || stream <= last_request_) return true;
  fail(Error::kIdleStream);
  return false;
}

void ConnectionView::end_half(Stream* stream, Direction direction) {
  Half& half = stream->halves[static_cast<size_t>(direction)];
  if (half == Half::kEnded) return;
  half = Half::kEnded;
  listener_->on_end(*stream, direction);
  if (stream->half(opposite(direction)) == Half::kEnded) close(stream);
}

void ConnectionView::close(Stream* stream) {
  listener_->on_closed(*stream);
  streams_.close(stream);
}

void ConnectionView::take_request(const HeaderBlock& block) {
  last_request_ = block.stream;
  Stream* stream = streams_.open(block.stream);
  if (stream == nullptr) {
    listener_->on_untracked(block.stream);
    return;
  }
  take_block(stream, Direction::kRequests, block);
}

void ConnectionView::take_block(Stream* stream, Direction direction, const HeaderBlock& block) {
  Half& half = stream->halves[static_cast<size_t>(direction)];
  const MessageHead head = way(direction).collector.head();
  bool well_formed = true;
  if (half == Half::kEnded) return;  // its reader answers with RST_STREAM
  if (half == Half::kOpen) {
    well_formed = block.end_stream;
    if (well_formed) listener_->on_trailers(*stream, direction, head, block);
  } else if (direction == Direction::kRequests) {
    well_formed = !head.method.empty();
    if (well_formed) {
      half = Half::kOpen;
      listener_->on_request(*stream, head, block);
    }
  } else if (head.status >= 100 && head.status <= 199) {
    well_formed = !block.end_stream;
  } else {
    well_formed = head.status != 0;
    if (well_formed) {
      half = Half::kOpen;
      listener_->on_response(*stream, head, block);
    }
  }
  if (!well_formed) {
    listener_->on_malformed(*stream, direction);
    close(stream);
  } else if (block.end_stream) {
    end_half(stream, direction);
  }
}

// --- frames of one direction -------------------------------------------------------------------

void ConnectionView::Way::on_frame(const FrameHeader& header, uint64_t start) {
  view->listener_->on_frame(direction, header, start);
}

void ConnectionView::Way::on_block(const HeaderBlock& block) {
  if (direction == Direction::kResponses) {
    if (!view->check_idle(block.stream)) return;
  } else if (block.stream % 2 == 0) {
    view->fail(Error::kStreamId);
    return;
  }
  collector.clear();
  view->fail(decoder.begin());
  if (!view->lost()) view->listener_->on_block(direction, block);
}

void ConnectionView::Way::on_block_bytes(const char* data, size_t size) {
  view->fail(decoder.feed(data, size, this));
}

void ConnectionView::Way::on_field(const Field& field) {
  collector.on_field(field);
  view->listener_->on_field(direction, field);
}

void ConnectionView::Way::on_block_end(const HeaderBlock& block) {
  view->fail(decoder.end(this));
  if (view->lost()) return;
  view->listener_->on_block_end(direction, block);
  if (view->lost() || block.promised != 0 || block.stream % 2 == 0) return;
  if (direction == Direction::kRequests && block.stream > view->last_request_) {
    view->take_request(block);
    return;
  }
  Stream* stream = view->streams_.find(block.stream);
  if (stream != nullptr) view->take_block(stream, direction, block);
}

void ConnectionView::Way::on_data(uint32_t id, const char* data, size_t size) {
  Stream* stream = view->streams_.find(id);
  if (stream != nullptr && stream->half(direction) == Half::kOpen) {
    view->listener_->on_data(*stream, direction, data, size);
  }
}

void ConnectionView::Way::on_data_end(uint32_t id, uint32_t flow_controlled, bool end) {
  if (!view->check_idle(id)) return;
  credit -= flow_controlled;
  Stream* stream = view->streams_.find(id);
  if (stream == nullptr) return;
  stream->credit[static_cast<size_t>(direction)] -= flow_controlled;
  if (stream->half(direction) == Half::kIdle) {  // data before a head
    view->listener_->on_malformed(*stream, direction);
    view->close(stream);
  } else if (end) {
    view->end_half(stream, direction);
  }
}

void ConnectionView::Way::on_reset(uint32_t id, uint32_t error_code) {
  if (!view->check_idle(id)) return;
  Stream* stream = view->streams_.find(id);
  if (stream == nullptr) return;
  view->listener_->on_reset(*stream, direction, error_code);
  view->close(stream);
}

void ConnectionView::Way::on_settings(const SettingsFrame& settings) {
  ++settings_sent;
  Way& other = view->way(opposite(direction));
  other.parser.allow_frame_size(settings.now.max_frame_size);
  if (settings.changes_table_size) {
    if (change_count == kMaxTableChanges) {
      view->fail(Error::kTooManySettings);
      return;
    }
    // A writer that may use a larger table than before owes no size update: it may have made it already.
    const bool shrinks = settings.smallest_table_size < asked_table_size;
    asked_table_size = settings.now.header_table_size;
    changes[change_count++] = {settings_sent, shrinks ? settings.smallest_table_size : kUnlimited,
                               asked_table_size};
    other.decoder.allow_table(settings.now.header_table_size);
  }
  view->listener_->on_settings(direction, settings.now);
}

// This direction's writer acknowledges what the other end sent, and obeys from here on.
void ConnectionView::Way::on_settings_ack() {
  Way& other = view->way(opposite(direction));
  if (other.settings_acked < other.settings_sent) ++other.settings_acked;
  if (other.change_count != 0 && other.changes[0].number <= other.settings_acked) {
    const TableChange change = other.changes[0];
    --other.change_count;
    std::copy(other.changes + 1, other.changes + 1 + other.change_count, other.changes);
    uint32_t limit = change.now;
    for (size_t i = 0; i < other.change_count; ++i) limit = std::max(limit, other.changes[i].now);
    decoder.limit_table(change.smallest, limit);
  }
  view->listener_->on_settings_ack(direction);
}

void ConnectionView::Way::on_ping(bool ack, const char* data) {
  view->listener_->on_ping(direction, ack, data);
}

void ConnectionView::Way::on_goaway(uint32_t last_stream, uint32_t error_code) {
  view->listener_->on_goaway(direction, last_stream, error_code);
}

void ConnectionView::Way::on_window_update(uint32_t id, uint32_t increment) {
  if (id != 0 && !view->check_idle(id)) return;
  const Direction data = opposite(direction);  // whose window it is
  if (id == 0) {
    view->way(data).credit += increment;
  } else if (Stream* stream = view->streams_.find(id); stream != nullptr) {
    stream->credit[static_cast<size_t>(data)] += increment;
  }
  view->listener_->on_window_update(direction, id, increment);
}

}  // namespace filibuster::http2
