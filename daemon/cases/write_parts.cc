#include <optional>

#include "core/grpc/message_reader.h"
#include "core/hash.h"
#include "core/http2/frame.h"
#include "core/text/base64.h"
#include "daemon/cases/case_parts.h"
#include "daemon/cases/file_text.h"
#include "daemon/cases/grpc_body.h"
#include "daemon/cases/route.h"
#include "daemon/wire/body_form.h"

namespace filibuster::cases {
namespace {

using wire::JsonNode;

JsonNode header_nodes(const Headers& headers) {
  JsonNode out = JsonNode::array();
  for (const auto& [name, value] : headers) {
    JsonNode pair = JsonNode::array();
    pair.add(text_node(name)).add(text_node(value));
    out.add(std::move(pair));
  }
  return out;
}

void put_headers(const char* name, const Headers& headers, JsonNode* out) {
  if (!headers.empty()) out->add(name, header_nodes(headers));
}

void put_end(const Answer& answer, JsonNode* out) {
  if (answer.silence) out->add("silence", JsonNode::scalar("true"));
  if (answer.ends != Ends::kNone)
    out->add("ends", text_node(answer.ends == Ends::kReset ? "reset" : "closed"));
  if (!answer.stream_error) return;
  const std::string_view name = http2::to_name(static_cast<http2::ErrorCode>(*answer.stream_error));
  out->add("stream_error", name.empty() ? number_node(*answer.stream_error) : text_node(name));
}

// What stands as "messages" in a file. nullopt: the body has another form.
std::optional<std::vector<std::string_view>> shown_messages(const std::string& body,
                                                            const Headers& headers) {
  if (body.empty() || body.size() > kMostInline || !is_grpc(headers)) return std::nullopt;
  return grpc_messages(body);
}

// How many messages each piece has; empty: not each of them is whole messages.
std::vector<uint64_t> messages_of_pieces(const std::vector<Piece>& pieces,
                                         const std::vector<std::string_view>& messages) {
  std::vector<uint64_t> out;
  auto next = messages.begin();
  for (const Piece& piece : pieces) {
    uint64_t left = piece.size, count = 0;
    for (; left != 0 && next != messages.end() && left >= grpc::kPrefixSize + next->size();
         ++next) {
      left -= grpc::kPrefixSize + next->size();
      ++count;
    }
    if (left != 0) return {};
    out.push_back(count);
  }
  return out;
}

JsonNode piece_nodes(const Answer& answer) {
  std::vector<uint64_t> counts;
  if (const auto messages = shown_messages(answer.body, answer.headers))
    counts = messages_of_pieces(answer.pieces, *messages);
  JsonNode out = JsonNode::array();
  for (size_t i = 0; i < answer.pieces.size(); ++i) {
    const Piece& piece = answer.pieces[i];
    JsonNode each = JsonNode::array();
    each.add(number_node(counts.empty() ? piece.size : counts[i])).add(number_node(piece.gap_ms));
    if (piece.after) each.add(number_node(*piece.after));
    out.add(std::move(each));
  }
  return out;
}

// Values of RESP are not deep (daemon/wire/resp_value.h), and print as valid JSON.
JsonNode json_nodes(const nlohmann::json& value) {
  constexpr size_t kAnyDepth = 1000;
  return wire::parse_json_node(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                               kAnyDepth)
      .value_or(JsonNode::scalar("null"));
}

}  // namespace

void PartWriter::put_body(const std::string& body, const Headers& headers, JsonNode* out) {
  if (const auto messages = shown_messages(body, headers)) {
    JsonNode nodes = JsonNode::array();
    for (const std::string_view each : *messages) nodes.add(text_node(to_base64(each)));
    out->add("messages", std::move(nodes));
    return;
  }
  wire::BodyForm form;
  if (body.size() > kMostInline) {
    form.kind = wire::BodyKind::kBytes;
  } else {
    form = wire::body_form(body);
  }
  switch (form.kind) {
    case wire::BodyKind::kEmpty:
      return;
    case wire::BodyKind::kJson:
      out->add("json", std::move(form.json));
      if (form.style != wire::JsonStyle())
        out->add("style", text_node(wire::json_style_name(form.style)));
      return;
    case wire::BodyKind::kText:
      out->add("text", JsonNode::scalar(std::move(form.token)));
      return;
    case wire::BodyKind::kBytes: {
      files.emplace_back(body_file_name(name, files.size() + 1), body);
      JsonNode file = JsonNode::object();
      file.add("file", text_node(files.back().first))
          .add("size", number_node(body.size()))
          .add("digest", text_node(to_hex(hash_text(body))));
      out->add("body", std::move(file));
      return;
    }
  }
}

void PartWriter::put_request(const Request& request, JsonNode* out) {
  if (request.http2) out->add("protocol", text_node("http2"));
  out->add("method", text_node(request.method)).add("target", text_node(request.target));
  put_headers("headers", request.headers, out);
  put_body(request.body, request.headers, out);
}

JsonNode PartWriter::request(const Request& request) {
  JsonNode out = JsonNode::object();
  if (!request.port.empty()) out.add("port", text_node(request.port));
  put_request(request, &out);
  return out;
}

JsonNode PartWriter::answer(const Answer& answer) {
  JsonNode out = JsonNode::object();
  if (answer.status != 0) out.add("status", number_node(answer.status));
  put_headers("headers", answer.headers, &out);
  put_body(answer.body, answer.headers, &out);
  put_headers("trailers", answer.trailers, &out);
  if (!answer.pieces.empty()) out.add("pieces", piece_nodes(answer));
  put_end(answer, &out);
  return out;
}

JsonNode PartWriter::call(const Call& call, size_t place) {
  const bool redis = call.input.kind == Kind::kRedis;
  JsonNode out = JsonNode::object();
  out.add("kind", text_node(redis ? "redis" : "http")).add("to", text_node(call.input.to));
  if (!call.site.empty()) out.add("site", text_node(call.site));
  if (!call.cause_known) out.add("cause", text_node("none"));
  const std::vector<size_t> usual = place == 0 ? std::vector<size_t>() : std::vector{place - 1};
  if (call.after != usual) {
    JsonNode after = JsonNode::array();
    for (const size_t each : call.after) after.add(number_node(each));
    out.add("after", std::move(after));
  }
  if (call.attempt_of) out.add("attempt_of", number_node(*call.attempt_of));
  if (!redis) {
    put_request(call.input.http, &out);
    out.add("answer", answer(call.answer));
    return out;
  }
  out.add("call", json_nodes(call.input.command));
  if (call.reply) out.add("reply", json_nodes(*call.reply));
  put_end(call.answer, &out);
  return out;
}

JsonNode PartWriter::opening(const Opening& opening) {
  JsonNode out = JsonNode::object();
  out.add("call", json_nodes(opening.command)).add("reply", json_nodes(opening.reply));
  return out;
}

JsonNode PartWriter::draws(const std::vector<Draw>& draws) {
  JsonNode out = JsonNode::array();
  for (const Draw& draw : draws) {
    JsonNode row = JsonNode::object();
    row.add("from", text_node(draw.source));
    if (draw.own != 0) {
      row.add("own", number_node(draw.own));
    } else {
      row.add("bytes", text_node(to_base64(draw.bytes)));
    }
    if (!draw.site.empty()) row.add("site", text_node(draw.site));
    out.add(std::move(row));
  }
  return out;
}

}  // namespace filibuster::cases
