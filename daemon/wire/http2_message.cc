#include "daemon/wire/http2_message.h"

#include <string>
#include <utility>

namespace filibuster::wire {

using http2::Direction;

namespace {

constexpr size_t kOpenOverhead = 512;  // of a stream, beside its bytes

size_t list_size(const Headers& fields) {
  size_t out = 0;
  for (const auto& [name, value] : fields) out += name.size() + value.size();
  return out;
}

size_t bytes_of(const HttpMessage& message) {
  return message.body.size() + message.target.size() + list_size(message.headers) +
         list_size(message.trailers);
}

}  // namespace

struct Http2Reader::Listener final : http2::ConnectionListener {
  explicit Listener(Http2Reader* owner) : reader(owner) {}

  void on_block(Direction d, const http2::HeaderBlock&) override { fields(d).clear(); }
  void on_field(Direction d, const http2::Field& field) override {
    fields(d).emplace_back(field.name, field.value);
  }
  void on_request(http2::Stream& stream, const http2::MessageHead& head,
                  const http2::HeaderBlock&) override {
    take_head(stream.id, Direction::kRequests, head);
  }
  void on_response(http2::Stream& stream, const http2::MessageHead& head,
                   const http2::HeaderBlock&) override {
    take_head(stream.id, Direction::kResponses, head);
  }
  void on_data(http2::Stream& stream, Direction d, const char* data, size_t size) override {
    const auto found = reader->open_.find(stream.id);
    if (found == reader->open_.end()) return;
    HttpMessage& to = is_request(d) ? found->second.request : found->second.answer;
    const size_t before = to.body.size();
    add_to_body(&to, data, size, reader->time_ns_);
    reader->kept_ += to.body.size() - before;
  }
  void on_trailers(http2::Stream& stream, Direction d, const http2::MessageHead&,
                   const http2::HeaderBlock&) override {
    const auto found = reader->open_.find(stream.id);
    if (found == reader->open_.end()) return;
    HttpMessage& to = is_request(d) ? found->second.request : found->second.answer;
    for (auto& each : fields(d)) {
      if (!each.first.starts_with(':')) to.trailers.push_back(std::move(each));
    }
    reader->kept_ += list_size(to.trailers);
  }
  void on_end(http2::Stream& stream, Direction d) override {
    reader->end(stream.id, is_request(d));
  }
  void on_reset(http2::Stream& stream, Direction by, uint32_t code) override {
    reader->reset(stream.id, is_request(by), code);
  }
  void on_malformed(http2::Stream& stream, Direction by) override {
    reader->reset(stream.id, is_request(by),
                  static_cast<uint32_t>(http2::ErrorCode::kProtocolError));
  }
  void on_closed(http2::Stream& stream) override { reader->close(stream.id); }
  void on_goaway(Direction by, uint32_t last_stream, uint32_t) override {
    if (is_request(by)) return;
    std::vector<uint32_t> refused;
    for (const auto& [stream, open] : reader->open_) {
      if (stream > last_stream) refused.push_back(stream);
    }
    for (const uint32_t stream : refused) {
      reader->reset(stream, false, static_cast<uint32_t>(http2::ErrorCode::kRefusedStream));
      reader->close(stream);
    }
  }

  static bool is_request(Direction d) { return d == Direction::kRequests; }
  Headers& fields(Direction d) { return fields_of[is_request(d) ? 1 : 0]; }

  void take_head(uint32_t stream, Direction d, const http2::MessageHead& known) {
    HttpMessage head;
    head.status = known.status;
    for (auto& [name, value] : fields(d)) {
      if (!name.starts_with(':')) {
        head.headers.emplace_back(std::move(name), std::move(value));
      } else if (name == ":method") {
        head.method = std::move(value);
      } else if (name == ":path" || (name == ":authority" && head.target.empty())) {
        head.target = std::move(value);  // CONNECT has no path
      }
    }
    reader->take_head(head, stream, is_request(d));
  }

  Http2Reader* const reader;
  Headers fields_of[2];
};

Http2Reader::Http2Reader()
    : listener_(std::make_unique<Listener>(this)),
      view_(new http2::ConnectionView(http2::Side::kServer, listener_.get())) {}
Http2Reader::~Http2Reader() = default;

std::vector<Http2Message> Http2Reader::feed(bool requests, std::string_view bytes,
                                            uint64_t time_ns) {
  time_ns_ = time_ns;
  view_->feed(requests ? Direction::kRequests : Direction::kResponses, bytes.data(), bytes.size());
  return std::exchange(out_, {});
}

std::string_view Http2Reader::problem() const {
  return view_->lost() ? http2::describe(view_->error()) : std::string_view();
}

const HttpMessage* Http2Reader::open_answer(uint32_t stream) const {
  const auto found = open_.find(stream);
  if (found == open_.end() || found->second.answer_ended || found->second.answer.status == 0)
    return nullptr;
  return &found->second.answer;
}

void Http2Reader::take_head(const HttpMessage& head, uint32_t stream, bool requests) {
  const auto [place, added] = open_.try_emplace(stream);
  Open& open = place->second;
  if (added) kept_ += kOpenOverhead;
  if (requests) open.answer.begun_ns = time_ns_;
  HttpMessage& to = requests ? open.request : open.answer;
  to = head;
  to.number = open.request.number = open.answer.number = stream;
  to.major = 2;
  to.minor = 0;
  to.begun_ns = to.head_ns = time_ns_;
  kept_ += bytes_of(to);
}

void Http2Reader::emit(Open* of, bool request, bool whole) {
  HttpMessage& message = request ? of->request : of->answer;
  message.ended_ns = time_ns_;
  kept_ -= bytes_of(message);
  out_.push_back({request, std::exchange(message, {}), whole, {}, false});
  (request ? of->request_ended : of->answer_ended) = true;
}

void Http2Reader::end(uint32_t stream, bool requests) {
  const auto found = open_.find(stream);
  if (found != open_.end()) emit(&found->second, requests, true);
}

void Http2Reader::reset(uint32_t stream, bool by_client, uint32_t code) {
  const auto found = open_.find(stream);
  if (found == open_.end()) return;
  for (const bool request : {true, false}) {
    if (request ? found->second.request_ended : found->second.answer_ended) continue;
    emit(&found->second, request, false);
    out_.back().message.number = stream;
    out_.back().reset = code;
    out_.back().reset_by_client = by_client;
  }
}

void Http2Reader::close(uint32_t stream) {
  const auto found = open_.find(stream);
  if (found == open_.end()) return;
  kept_ -= kOpenOverhead + (found->second.request_ended ? 0 : bytes_of(found->second.request)) +
           (found->second.answer_ended ? 0 : bytes_of(found->second.answer));
  open_.erase(found);
}

}  // namespace filibuster::wire
