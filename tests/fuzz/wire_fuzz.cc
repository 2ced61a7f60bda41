// A byte of protocol and direction, one of split, then a stream. Messages are the same for every
// split, and what is made of a message is read as that message again.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/wire/body_form.h"
#include "daemon/wire/http1_message.h"
#include "daemon/wire/http2_message.h"
#include "daemon/wire/resp_value.h"

using namespace filibuster;
using namespace filibuster::wire;

namespace {

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

struct Http1Stream {
  std::vector<HttpMessage> messages;
  Http1Reader::State state;
};

Http1Stream read_http1(http1::Direction direction, std::string_view bytes, size_t step) {
  Http1Reader reader(direction);
  for (const char* method : {"GET", "HEAD", "POST", "CONNECT"}) {
    if (direction == http1::Direction::kResponses) reader.expect_answer_to(method);
  }
  Http1Stream out;
  const auto keep = [&](std::vector<HttpMessage> more) {
    for (HttpMessage& each : more) out.messages.push_back(std::move(each));
  };
  uint64_t time = 0;
  for (size_t at = 0; at < bytes.size(); at += step) {
    const std::string part(bytes.substr(at, step));  // bounds of its own
    keep(reader.feed(part, ++time));
  }
  keep(reader.finish(time));
  out.state = reader.state();
  return out;
}

bool same_message(const HttpMessage& a, const HttpMessage& b) {
  return a.method == b.method && a.target == b.target && a.status == b.status &&
         a.reason == b.reason && a.headers == b.headers && a.trailers == b.trailers &&
         a.body == b.body && a.upgraded == b.upgraded && a.until_close == b.until_close;
}

void check_http1(http1::Direction direction, std::string_view bytes, size_t step) {
  const Http1Stream whole = read_http1(direction, bytes, bytes.size() + 1);
  const Http1Stream parts = read_http1(direction, bytes, step);
  demand(whole.state == parts.state, "the same state");
  demand(whole.messages.size() == parts.messages.size(), "the same number of messages");
  for (size_t i = 0; i < whole.messages.size(); ++i) {
    demand(same_message(whole.messages[i], parts.messages[i]), "the same message");
    size_t size = 0;
    for (const HttpPiece& piece : parts.messages[i].pieces) size += piece.size;
    demand(size == parts.messages[i].body.size(), "pieces are the body");
  }
}

void check_resp(RespReader::Direction direction, std::string_view bytes, size_t step) {
  const auto read = [&](size_t by) {
    RespReader reader(direction);
    std::vector<RespMessage> out;
    for (size_t at = 0; at < bytes.size(); at += by) {
      const std::string part(bytes.substr(at, by));
      for (RespMessage& each : reader.feed(part, at)) out.push_back(std::move(each));
    }
    return out;
  };
  const auto whole = read(bytes.size() + 1), parts = read(step);
  demand(whole.size() == parts.size(), "the same number of values");
  for (size_t i = 0; i < whole.size(); ++i) {
    demand(whole[i].value == parts[i].value && whole[i].number == parts[i].number,
           "the same value");
    if (whole[i].too_large) continue;
    const bool commands = direction == RespReader::Direction::kCommands;
    demand(commands || wrong_resp_value(whole[i].value).empty(), "a value of RESP");
    const std::string again =
        commands ? resp_command_bytes(whole[i].value) : resp_reply_bytes(whole[i].value, 2);
    RespReader reader(direction);
    const auto read_again = reader.feed(again, 1);
    demand(read_again.size() == 1 && read_again[0].value == whole[i].value, "the same again");
  }
}

struct Http2Stream {
  std::vector<Http2Message> messages;
  std::string_view problem;
};

// Chunks: a byte of direction, one of length, and so many bytes.
Http2Stream read_http2(std::string_view chunks, size_t step) {
  Http2Reader reader;
  Http2Stream out;
  uint64_t time = 0;
  while (chunks.size() > 2) {
    const bool requests = chunks[0] % 2 == 0;
    std::string_view bytes = chunks.substr(2, static_cast<uint8_t>(chunks[1]));
    chunks.remove_prefix(2 + bytes.size());
    ++time;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
      const std::string part(bytes.substr(0, step));
      for (Http2Message& each : reader.feed(requests, part, time))
        out.messages.push_back(std::move(each));
    }
  }
  out.problem = reader.problem();
  return out;
}

void check_http2(std::string_view bytes, size_t step) {
  const Http2Stream whole = read_http2(bytes, SIZE_MAX);
  const Http2Stream parts = read_http2(bytes, step);
  demand(whole.problem == parts.problem, "the same problem");
  demand(whole.messages.size() == parts.messages.size(), "the same number of messages");
  for (size_t i = 0; i < whole.messages.size(); ++i) {
    const Http2Message &a = whole.messages[i], &b = parts.messages[i];
    demand(a.is_request == b.is_request && a.whole == b.whole && a.reset == b.reset,
           "the same end of a stream");
    demand(a.message.number == b.message.number && same_message(a.message, b.message) &&
               a.message.pieces == b.message.pieces,
           "the same message of HTTP/2");
  }
}

void check_body(std::string_view bytes) {
  const BodyForm form = body_form(bytes);
  if (form.kind == BodyKind::kJson)
    demand(print_json(form.json, form.style) == bytes, "the very bytes of JSON");
  if (form.kind == BodyKind::kText)
    demand(json_token_text(form.token) == bytes, "the very bytes of a text");
  demand((form.kind == BodyKind::kEmpty) == bytes.empty(), "a body has a form");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t step = data[1] % 16 + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[0] % 6) {
    case 0:
      check_http1(http1::Direction::kRequests, bytes, step);
      break;
    case 1:
      check_http1(http1::Direction::kResponses, bytes, step);
      break;
    case 2:
      check_resp(RespReader::Direction::kCommands, bytes, step);
      break;
    case 3:
      check_resp(RespReader::Direction::kReplies, bytes, step);
      break;
    case 4:
      check_body(bytes);
      break;
    default:
      check_http2(bytes, step);
  }
  return 0;
}
