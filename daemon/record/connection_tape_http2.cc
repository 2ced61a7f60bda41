// The part of a connection's tape that is of HTTP/2: exchanges are streams.
#include <algorithm>
#include <utility>

#include "daemon/record/connection_tape.h"
#include "daemon/record/exchange_parts.h"

namespace filibuster::record {

void ConnectionTape::feed_http2(bool requests, std::string_view text, uint64_t time_ns) {
  kept_ -= http2_->kept();
  keep(http2_->feed(requests, text, time_ns));
  kept_ += http2_->kept();
  if (const std::string_view problem = http2_->problem(); !problem.empty())
    lose("what went over its connection is not read: " + std::string(problem));
}

void ConnectionTape::keep(std::vector<wire::Http2Message> messages) {
  for (wire::Http2Message& each : messages) {
    wire::HttpMessage& message = each.message;
    Kept& to = exchange(message.number, message.ended_ns, size_of(message));
    set_once(&to.problem, problem_of(message));
    if (each.is_request) {
      to.begun_ns = message.begun_ns;
      if (!each.whole) set_once(&to.problem, "its request was not sent to its end");
      to.request = std::move(message);
      continue;
    }
    to.answer_is_whole = each.whole;
    if (each.reset && !each.reset_by_client) to.stream_error = each.reset;
    if (message.status != 0) to.answer = std::move(message);
  }
}

const wire::HttpMessage* ConnectionTape::open_answer(uint64_t number) const {
  if (http2_) return http2_->open_answer(static_cast<uint32_t>(number));
  const auto& answers = directions_[0].http;
  if (!answers || answers->state() != wire::Http1Reader::State::kInMessage) return nullptr;
  const wire::HttpMessage& open = answers->open_message();
  return before_ + open.number == number && open.status != 0 ? &open : nullptr;
}

}  // namespace filibuster::record
