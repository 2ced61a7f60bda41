#include "daemon/replay/entry_client.h"

#include "daemon/cases/messages.h"
#include "daemon/replay/entry_http2.h"
#include "daemon/replay/entry_socket.h"
#include "daemon/wire/http1_message.h"

namespace filibuster::replay {
namespace {

using Got = EntrySocket::Got;

cases::Answer no_answer(Got why) {
  cases::Answer out;
  out.silence = why == Got::kNothing;
  if (why == Got::kReset) out.ends = cases::Ends::kReset;
  if (why == Got::kEnd) out.ends = cases::Ends::kClosed;
  return out;
}

cases::Answer read_http1(EntrySocket* socket, const cases::Request& request) {
  wire::Http1Reader reader(http1::Direction::kResponses);
  reader.expect_answer_to(request.method);
  std::string part;
  while (true) {
    const Got got = socket->receive(&part);
    if (got == Got::kNothing) return no_answer(got);
    const auto whole =
        got == Got::kBytes ? reader.feed(part, steady_ns()) : reader.finish(steady_ns());
    if (!whole.empty()) return cases::answer_of(whole.front());
    if (got != Got::kBytes) return no_answer(got);
  }
}

cases::Answer read_http2(EntrySocket* socket, EntryStream* stream) {
  std::string part;
  while (!stream->is_over()) {
    const Got got = socket->receive(&part);
    if (got != Got::kBytes) return no_answer(got);
    stream->feed(part, steady_ns());
    // What cannot be sent any more is not needed: the service says how it ends.
    (void)socket->send(stream->take_output());
  }
  return stream->answer();
}

}  // namespace

cases::EntryEnd send_entry(const cases::Request& request, uint16_t port,
                           std::chrono::milliseconds limit, int wake_fd) {
  cases::EntryEnd out;
  EntrySocket socket(limit, wake_fd);
  out.not_sent = socket.connect(port);
  if (!out.not_sent.empty()) return out;
  const std::string host = "127.0.0.1:" + std::to_string(port);
  if (request.http2) {
    EntryStream stream(request, host);
    out.not_sent = socket.send(stream.take_output());
    if (out.not_sent.empty()) out.answer = read_http2(&socket, &stream);
    return out;
  }
  out.not_sent = socket.send(http1_request_bytes(cases::message_of(request, host)));
  if (out.not_sent.empty()) out.answer = read_http1(&socket, request);
  return out;
}

}  // namespace filibuster::replay
