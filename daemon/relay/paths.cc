// What the two directions of a relayed connection do with each frame.
#include <algorithm>
#include <cstdlib>

#include "core/http2/frame_writer.h"
#include "daemon/relay/relay.h"

namespace filibuster {

using http2::FrameType;
using http2::Output;

namespace {

// Memory of one decoder: a table of 64 KiB and a list of kMaxHeaderList beside it.
constexpr size_t kTableMemory = 2u << 20;
// Memory for a list of kMaxHeaderList as literals, in frames. (Of each field, less than 32 bytes are not
// its text.)
constexpr size_t kBlockMemory = http2::kMaxHeaderList + 32 * 1024;
constexpr size_t kMemory = kTableMemory + 2 * kBlockMemory;

std::string settings_frame(std::initializer_list<std::pair<http2::SettingId, uint32_t>> values) {
  char memory[64];
  Output out(memory, sizeof memory);
  http2::write_settings(values, out);
  return std::string(out.view());
}

}  // namespace

// --- requests ----------------------------------------------------------------------------------

void Relay::Requests::begin_with(const RelayState& state) {
  resume(std::string(http2::kClientPreface) +
             settings_frame({{http2::SettingId::kInitialWindowSize,
                              std::min(state.client_initial_window, http2::kLargestWindow)}}),
         0, {});
}

FramePath::Action Relay::Requests::begin(const http2::FrameHeader& frame) {
  if (frame.type == kOrderFrame) return Action::kHold;
  const uint32_t id = frame.stream;
  if (id == 0) return frame.type == FrameType::kWindowUpdate ? Action::kHold : Action::kPass;
  if (relay->dead(id)) return Action::kDrop;
  const Stream* stream = relay->find(id);
  if (frame.type == FrameType::kHeaders && id > relay->last_seen_) {
    relay->last_seen_ = id;
    if (stream == nullptr && id > relay->server_last_) {
      relay->refuse(id);
      return Action::kDrop;
    }
    relay->open_.open(id);
    relay->client_due_ = true;  // a stream that waits to be alone (kReset) is not alone any more
  }
  return stream != nullptr && stream->closed_at_server() ? Action::kDrop : Action::kPass;
}

void Relay::Requests::take(const http2::FrameHeader& frame, std::string_view bytes) {
  if (frame.type == kOrderFrame) {
    StreamOrder order;
    const std::string_view payload = bytes.substr(http2::kFrameHeaderSize);
    if (read_order(payload.data(), payload.size(), &order)) {
      relay->take_order(frame.stream, order);
      return;
    }
    // The frame is the application's own.
    const Stream* stream = relay->find(frame.stream);
    const bool away = stream != nullptr && stream->closed_at_server();
    if (!away && !relay->dead(frame.stream)) out()->append(bytes);
    return;
  }
  // An increment of the connection's window. The server believes that it has some of that already.
  const auto known =
      static_cast<uint32_t>(std::min<uint64_t>(increment, relay->unknown_to_server_));
  relay->unknown_to_server_ -= known;
  if (known == 0) {
    out()->append(bytes);
  } else if (increment > known) {
    char memory[http2::kFrameHeaderSize + 4];
    Output update(memory, sizeof memory);
    http2::write_window_update(0, increment - known, update);
    out()->append(update.view());
  }
}

void Relay::Requests::on_block_end(const http2::HeaderBlock& block) {
  Stream* stream = relay->find(block.stream);
  if (stream == nullptr) return;
  if (stream->phase == Phase::kOrdered) {
    const bool passes = stream->changed != nullptr && !stream->cancelled;
    stream->phase = passes ? Phase::kPassing : Phase::kWaiting;
  }
  if (block.end_stream) stream->request_ended = true;
  relay->advance(stream, false);
}

void Relay::Requests::on_data_end(uint32_t id, uint32_t flow_controlled, bool end) {
  const bool away = action() == Action::kDrop;
  if (away) {
    relay->owed_to_client_ += flow_controlled;
    relay->client_due_ = true;
  }
  Stream* stream = relay->find(id);
  if (stream == nullptr) return;
  if (away && !end) stream->owed_to_client += flow_controlled;
  if (end) {
    stream->request_ended = true;
    relay->advance(stream, false);
  }
}

void Relay::Requests::on_reset(uint32_t id, uint32_t) {
  relay->open_.close(id);
  const auto place = relay->faulted_.find(id);
  if (place == relay->faulted_.end() || place->second.phase == Phase::kOrdered) return;
  place->second.server_reset = true;  // by this frame, which passes unless closed_at_server()
  relay->finish(place);
}

void Relay::Requests::on_settings(const http2::SettingsFrame& settings) {
  relay->client_initial_window_ = settings.now.initial_window_size;
  relay->client_due_ = true;
}

void Relay::Requests::on_window_update(uint32_t id, uint32_t more) {
  if (id == 0) {
    increment = more;
    relay->client_window_ += more;
  } else if (Stream* stream = relay->find(id); stream != nullptr) {
    stream->credit += more;
  }
  relay->client_due_ = true;
}

// --- responses ---------------------------------------------------------------------------------

Relay::Responses::Responses(Relay* r)
    : FramePath(http2::Direction::kResponses, &r->to_client_),
      relay(r),
      memory(static_cast<char*>(std::aligned_alloc(64, kMemory))),
      decoder(memory.get(), kTableMemory),
      rewriter(memory.get() + kTableMemory, kBlockMemory) {}

bool Relay::Responses::begin_with(const RelayState& state, std::string_view table,
                                  std::string_view half_read) {
  settings_seen = state.server_settings_seen != 0;
  // The client's decoder holds the server's encoder to its limits; this one follows any.
  decoder.limit_table(http2::kUnlimited, http2::kUnlimited);
  struct Ignore final : http2::FieldHandler {
    void on_field(const http2::Field&) override {}
  } ignore;
  const bool known =
      table.empty() || (decoder.begin() == http2::Error::kNone &&
                        decoder.feed(table.data(), table.size(), &ignore) == http2::Error::kNone &&
                        decoder.end(&ignore) == http2::Error::kNone);
  return known && resume(settings_seen ? settings_frame({}) : std::string(),
                         state.response_bytes_left, half_read);
}

FramePath::Action Relay::Responses::begin(const http2::FrameHeader& frame) {
  const uint32_t id = frame.stream;
  const Stream* stream = relay->find(id);
  const bool away = id != 0 && (stream != nullptr || relay->dead(id));
  switch (frame.type) {
    case FrameType::kHeaders:
    case FrameType::kPushPromise:
    case FrameType::kGoaway:
      return Action::kHold;
    case FrameType::kData:
      if (away) return Action::kDrop;
      if (relay->must_wait(id, frame.length)) return Action::kHold;
      relay->client_window_ -= frame.length;
      return Action::kPass;
    case FrameType::kWindowUpdate:  // for what the client still uploads
      return away && (stream == nullptr || !stream->forwarded) ? Action::kDrop : Action::kPass;
    default:
      if (away) return Action::kDrop;
      return id != 0 && relay->waits(id) ? Action::kHold : Action::kPass;
  }
}

void Relay::Responses::take(const http2::FrameHeader& frame, std::string_view bytes) {
  if (frame.type == FrameType::kGoaway) {
    relay->pass_goaway(goaway_last, goaway_error, std::string(bytes));
    return;
  }
  if (frame.type != FrameType::kHeaders && frame.type != FrameType::kPushPromise) {
    const uint32_t size = frame.type == FrameType::kData ? frame.length : 0;
    relay->wait(frame.stream, size, bytes);
    return;
  }
  Stream* stream = relay->find(block.stream);
  if (stream == nullptr && !relay->dead(block.stream)) {
    if (rewriting) {
      write_anew();
    } else {
      relay->to_client_in_turn(block.stream, bytes);
    }
    return;
  }
  rewriting = true;  // the server's encoder has in its table what the client's decoder does not get
  if (block.promised != 0) {
    relay->dead_.insert(block.promised);
    relay->resets_to_server_.push_back(block.promised);
    relay->server_due_ = true;
  } else if (stream != nullptr) {
    if (ChangedAnswer* answer = relay->changed_answer(block.stream); answer != nullptr) {
      answer->end_block(block.end_stream, relay->now_ns_);
      relay->client_due_ = true;
    }
    if (block.end_stream) {
      stream->answer_ended = true;
      relay->advance(stream, false);
    }
  }
}

void Relay::Responses::write_anew() {
  Output frames(memory.get() + kTableMemory + kBlockMemory, kBlockMemory);
  if (!rewriter.write(block, http2::kDefaultMaxFrameSize, frames)) {
    relay->fail("a header block of the server could not be written anew");
    return;
  }
  relay->to_client_in_turn(block.stream, frames.view());
}

void Relay::Responses::on_block(const http2::HeaderBlock& begun) {
  rewriter.begin();
  changed_block = begun.promised == 0 ? begun.stream : 0;
  if (const http2::Error error = decoder.begin(); error != http2::Error::kNone)
    parser().fail(error);
}

void Relay::Responses::on_block_bytes(const char* data, size_t size) {
  const http2::Error error = decoder.feed(data, size, this);
  if (error != http2::Error::kNone) parser().fail(error);
}

void Relay::Responses::on_goaway(uint32_t last_stream, uint32_t error_code) {
  goaway_last = last_stream;
  goaway_error = error_code;
  if (action() == Action::kPass) relay->goaway_last_ = last_stream;
}

void Relay::Responses::on_field(const http2::Field& field) {
  rewriter.add(field);
  // The client may have given the stream up within the block.
  ChangedAnswer* answer = changed_block != 0 ? relay->changed_answer(changed_block) : nullptr;
  if (answer != nullptr) answer->field(field);
}

void Relay::Responses::on_data(uint32_t id, const char* data, size_t size) {
  ChangedAnswer* answer = relay->changed_answer(id);
  if (answer == nullptr) return;
  answer->data({data, size}, relay->now_ns_);
  relay->client_due_ = true;
}

void Relay::Responses::on_block_end(const http2::HeaderBlock& whole) {
  if (const http2::Error error = decoder.end(this); error != http2::Error::kNone) {
    parser().fail(error);
    return;
  }
  block = whole;
  if (block.end_stream && relay->find(block.stream) == nullptr) relay->open_.close(block.stream);
}

void Relay::Responses::on_data_end(uint32_t id, uint32_t flow_controlled, bool end) {
  Stream* stream = relay->find(id);
  if (action() == Action::kDrop) {
    relay->owed_to_server_ += flow_controlled;
    relay->server_due_ = true;
    if (stream != nullptr && stream->changed != nullptr && !stream->holding) {
      // The client's increments give back what is placed anew. So they do for the prefix of a message,
      // which will be placed when it is whole.
      stream->data_received += flow_controlled;
      const uint64_t settled = stream->changed->kept() + stream->data_returned + grpc::kPrefixSize;
      if (!end && stream->data_received > settled) {
        const uint64_t more = stream->data_received - settled;
        stream->owed_to_server += more;
        stream->data_returned += more;
      }
    } else if (stream != nullptr && !end) {
      stream->owed_to_server += flow_controlled;
    }
  }
  if (!end) return;
  if (stream == nullptr) {
    relay->open_.close(id);
  } else {
    stream->answer_ended = true;
    if (ChangedAnswer* answer = relay->changed_answer(id); answer != nullptr) {
      answer->end(relay->now_ns_);
      relay->client_due_ = true;
    }
    relay->advance(stream, false);
  }
}

void Relay::Responses::on_reset(uint32_t id, uint32_t error_code) {
  Stream* stream = relay->find(id);
  if (stream == nullptr) {
    relay->open_.close(id);
    return;
  }
  stream->answer_ended = true;
  stream->server_reset = true;
  if (ChangedAnswer* answer = relay->changed_answer(id); answer != nullptr) {
    answer->reset(static_cast<http2::ErrorCode>(error_code), relay->now_ns_);
    relay->client_due_ = true;
  }
  relay->advance(stream, false);
}

}  // namespace filibuster
