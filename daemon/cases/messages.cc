#include "daemon/cases/messages.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/grpc/message_reader.h"
#include "core/http1/parser_memory.h"
#include "core/rpc/header_field.h"
#include "core/text/ascii.h"
#include "daemon/cases/grpc_body.h"

namespace filibuster::cases {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

constexpr std::array<std::string_view, 6> kOfTheConnection{
    "connection", "proxy-connection", "keep-alive", "te", "transfer-encoding", "upgrade"};
constexpr std::array<std::string_view, 5> kOfTheRequest{"host", "content-length", "expect",
                                                        "grpc-timeout", kHeaderName};
constexpr std::array<std::string_view, 3> kOfTheAnswer{"content-length", "date", kHeaderName};

bool is_one_of(std::string_view name, std::span<const std::string_view> lower) {
  return std::any_of(lower.begin(), lower.end(),
                     [&](std::string_view each) { return equal_ignoring_case(name, each); });
}

// The fields that Connection names belong to the connection, too.
bool named_by_connection(const Headers& headers, std::string_view name) {
  std::string wanted(name);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), to_lower);
  for (const auto& [field, value] : headers) {
    if (!equal_ignoring_case(field, "connection")) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(','), rest.size());
      std::string_view word = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      while (word.starts_with(' ')) word.remove_prefix(1);
      if (equal_ignoring_case(http1::trim_end(word), wanted)) return true;
    }
  }
  return false;
}

Headers without(const Headers& headers, std::span<const std::string_view> others) {
  Headers out;
  for (const auto& each : headers) {
    if (!is_one_of(each.first, kOfTheConnection) && !is_one_of(each.first, others) &&
        !named_by_connection(headers, each.first))
      out.push_back(each);
  }
  return out;
}

// Where each message ends, and when its first and its last byte were there. Empty: it is no gRPC, or
// not whole.
struct MessageTimes {
  size_t end = 0;
  uint64_t begun_ns = 0, ended_ns = 0;
};
std::vector<MessageTimes> message_times(const wire::HttpMessage& of) {
  const auto messages = grpc_messages(of.body);
  if (!messages || of.pieces.empty() || !is_grpc(of.headers)) return {};
  std::vector<MessageTimes> out;
  size_t piece = 0, at = 0, end = of.pieces.empty() ? 0 : of.pieces[0].size;
  const auto time_at = [&](size_t byte) {
    while (byte >= end && piece + 1 < of.pieces.size()) end += of.pieces[++piece].size;
    return of.pieces[piece].time_ns;
  };
  for (const std::string_view each : *messages) {
    const uint64_t begun = time_at(at);
    at += grpc::kPrefixSize + each.size();
    out.push_back({at, begun, time_at(at - 1)});
  }
  return out;
}

// Of gRPC: pieces are whole messages, and each says what of the request it came behind.
std::vector<Piece> message_pieces(const wire::HttpMessage& message,
                                  const wire::HttpMessage& request) {
  const std::vector<MessageTimes> asked = message_times(request), said = message_times(message);
  std::vector<Piece> out;
  uint64_t last_ns = message.head_ns;
  size_t before = 0;
  for (const MessageTimes& each : said) {
    const auto first_later = std::find_if(asked.begin(), asked.end(), [&](const MessageTimes& one) {
      return one.ended_ns > each.begun_ns;
    });
    const auto came = static_cast<size_t>(first_later - asked.begin());
    const bool was_open = came < asked.size() || request.ended_ns > each.begun_ns;
    const std::optional<uint64_t> after = was_open ? std::optional<uint64_t>(came) : std::nullopt;
    const uint64_t since = came == 0 ? last_ns : std::max(last_ns, asked[came - 1].ended_ns);
    uint64_t gap = (each.begun_ns - std::min(since, each.begun_ns)) / kMillisecond;
    if (gap < kLeastGapMs) gap = 0;
    if (out.empty() || gap != 0 || out.back().after != after) out.push_back({0, gap, after});
    out.back().size += each.end - std::exchange(before, each.end);
    last_ns = each.ended_ns;
  }
  const bool in_turns =
      std::any_of(out.begin(), out.end(), [](const Piece& piece) { return piece.after; });
  const bool with_gaps =
      std::any_of(out.begin(), out.end(), [](const Piece& piece) { return piece.gap_ms != 0; });
  return in_turns || (with_gaps && out.size() > 1) ? out : std::vector<Piece>();
}

std::vector<Piece> pieces_of(const wire::HttpMessage& message, const wire::HttpMessage* request) {
  if (request != nullptr && is_grpc(message.headers) && grpc_messages(message.body))
    return message_pieces(message, *request);
  std::vector<Piece> out;
  uint64_t last_ns = message.head_ns;
  for (const wire::HttpPiece& piece : message.pieces) {
    const uint64_t gap = (piece.time_ns - std::min(last_ns, piece.time_ns)) / kMillisecond;
    if (out.empty() || gap >= kLeastGapMs) out.push_back({0, gap >= kLeastGapMs ? gap : 0, {}});
    out.back().size += piece.size;
    last_ns = piece.time_ns;
  }
  const bool with_gaps =
      std::any_of(out.begin(), out.end(), [](const Piece& piece) { return piece.gap_ms != 0; });
  // A body that came late as a whole is an answer that came late, and no stream.
  return with_gaps && out.size() > 1 ? out : std::vector<Piece>();
}

}  // namespace

Headers kept_of_request(const Headers& headers) {
  return without(headers, kOfTheRequest);
}

Headers kept_of_answer(const Headers& headers) {
  return without(headers, kOfTheAnswer);
}

Request request_of(const wire::HttpMessage& message) {
  Request out;
  out.method = message.method;
  out.target = message.target;
  out.headers = kept_of_request(message.headers);
  out.body = message.body;
  out.http2 = message.major == 2;
  return out;
}

Answer answer_of(const wire::HttpMessage& message, const wire::HttpMessage* request) {
  Answer out;
  out.status = message.status;
  out.headers = kept_of_answer(message.headers);
  out.trailers = message.trailers;
  out.body = message.body;
  out.pieces = pieces_of(message, request);
  return out;
}

wire::HttpMessage message_of(const Request& request, const std::string& host) {
  wire::HttpMessage out;
  out.method = request.method;
  out.target = request.target;
  out.headers.emplace_back("Host", host);
  out.headers.insert(out.headers.end(), request.headers.begin(), request.headers.end());
  out.body = request.body;
  return out;
}

wire::HttpMessage message_of(const Answer& answer) {
  wire::HttpMessage out;
  out.status = answer.status;
  out.headers = answer.headers;
  out.trailers = answer.trailers;
  out.body = answer.body;
  out.chunked = !answer.trailers.empty() || !answer.pieces.empty();
  return out;
}

}  // namespace filibuster::cases
