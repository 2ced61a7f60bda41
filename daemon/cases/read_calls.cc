#include <algorithm>

#include "core/grpc/message_reader.h"
#include "core/http2/frame.h"
#include "daemon/cases/case_parts.h"
#include "daemon/cases/grpc_body.h"

namespace filibuster::cases {
namespace {

using config::Key;
using config::read_object;
using config::Reader;
using NodeKind = SourceNode::Kind;

constexpr int64_t kMostPieceSize = int64_t{1} << 40;
constexpr int64_t kMostGap = 7 * 24 * 3600 * 1000;

// The parts that tables of members fill.
struct RequestDraft {
  PartReader* parts;
  Request value = {};
  PartReader::Body body = {};
};
struct AnswerDraft {
  PartReader* parts;
  Answer value = {};
  PartReader::Body body = {};
};
struct CallDraft {
  PartReader* parts;
  size_t place;
  Call value = {};
  PartReader::Body body = {};
};

template <typename Draft>
constexpr Key<Draft> kJsonKey = {"json", false, [](Reader&, const SourceNode& node, Draft* out) {
                                   out->parts->json_body(node, &out->body);
                                 }};
template <typename Draft>
constexpr Key<Draft> kStyleKey = {"style", false, [](Reader&, const SourceNode& node, Draft* out) {
                                    out->parts->style(node, &out->body);
                                  }};
template <typename Draft>
constexpr Key<Draft> kTextKey = {
    "text", false, [](Reader&, const SourceNode& node, Draft* out) {
      if (out->parts->reader().expect(node, NodeKind::kString, "'text'"))
        out->body.text = node.text;
    }};
template <typename Draft>
constexpr Key<Draft> kMessagesKey = {
    "messages", false,
    [](Reader&, const SourceNode& node, Draft* out) { out->parts->messages(node, &out->body); }};
template <typename Draft>
constexpr Key<Draft> kBodyKey = {"body", false, [](Reader&, const SourceNode& node, Draft* out) {
                                   out->parts->body_file(node, &out->body);
                                 }};

void read_protocol(Reader& reader, const SourceNode& node, Request* out) {
  constexpr std::string_view kWords[] = {"http1", "http2"};
  if (const auto word = reader.word(node, "'protocol'", kWords)) out->http2 = *word == 1;
}

constexpr Key<RequestDraft> kRequestKeys[] = {
    {"port", false,
     [](Reader& reader, const SourceNode& node, RequestDraft* out) {
       out->value.port = read_plain_name(reader, node, "'port'");
     }},
    {"protocol", false,
     [](Reader& reader, const SourceNode& node, RequestDraft* out) {
       read_protocol(reader, node, &out->value);
     }},
    {"method", true,
     [](Reader&, const SourceNode& node, RequestDraft* out) {
       out->value.method = out->parts->method(node);
     }},
    {"target", true,
     [](Reader&, const SourceNode& node, RequestDraft* out) {
       out->value.target = out->parts->target(node);
     }},
    {"headers", false,
     [](Reader&, const SourceNode& node, RequestDraft* out) {
       out->parts->headers(node, &out->value.headers);
     }},
    kJsonKey<RequestDraft>,
    kStyleKey<RequestDraft>,
    kTextKey<RequestDraft>,
    kMessagesKey<RequestDraft>,
    kBodyKey<RequestDraft>,
};

void read_silence(Reader& reader, const SourceNode& node, Answer* out) {
  const auto on = reader.flag(node, "'silence'");
  if (on && !*on) reader.error(node.offset, "'silence': leave it out where there was an answer");
  out->silence = on.value_or(false);
}

void read_ends(Reader& reader, const SourceNode& node, Answer* out) {
  constexpr std::string_view kWords[] = {"reset", "closed"};
  if (const auto word = reader.word(node, "'ends'", kWords))
    out->ends = *word == 0 ? Ends::kReset : Ends::kClosed;
}

void read_pieces(Reader& reader, const SourceNode& node, Answer* out) {
  if (!reader.expect(node, NodeKind::kArray, "'pieces'")) return;
  for (const SourceNode& each : node.children) {
    const size_t members = each.kind == NodeKind::kArray ? each.children.size() : 0;
    if (members != 2 && members != 3) {
      reader.error(each.offset,
                   "a piece: expected [bytes, milliseconds before it], and for gRPC [messages, "
                   "milliseconds before them, messages of the request before them]");
      continue;
    }
    const auto size = reader.integer(each.children[0], "the size of a piece", 0, kMostPieceSize);
    const auto gap = reader.integer(each.children[1], "milliseconds before a piece", 0, kMostGap);
    const auto after = members == 3 ? reader.integer(each.children[2], "messages before a piece", 0,
                                                     kMostPieceSize)
                                    : std::nullopt;
    if (!size || !gap) continue;
    out->pieces.push_back({static_cast<uint64_t>(*size), static_cast<uint64_t>(*gap), {}});
    if (after) out->pieces.back().after = static_cast<uint64_t>(*after);
  }
}

void read_stream_error(Reader& reader, const SourceNode& node, Answer* out) {
  constexpr int64_t kMostCode = 0xffffffff;
  if (node.kind == NodeKind::kInteger) {
    if (const auto code = reader.integer(node, "'stream_error'", 0, kMostCode))
      out->stream_error = static_cast<uint32_t>(*code);
    return;
  }
  std::vector<std::string_view> names;
  for (uint32_t code = 0; !http2::to_name(static_cast<http2::ErrorCode>(code)).empty(); ++code)
    names.push_back(http2::to_name(static_cast<http2::ErrorCode>(code)));
  if (const auto word = reader.word(node, "'stream_error'", names))
    out->stream_error = static_cast<uint32_t>(*word);
}

constexpr Key<AnswerDraft> kAnswerKeys[] = {
    {"status", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       if (const auto status = reader.integer(node, "'status'", 100, 999))
         out->value.status = static_cast<uint16_t>(*status);
     }},
    {"headers", false,
     [](Reader&, const SourceNode& node, AnswerDraft* out) {
       out->parts->headers(node, &out->value.headers);
     }},
    kJsonKey<AnswerDraft>,
    kStyleKey<AnswerDraft>,
    kTextKey<AnswerDraft>,
    kMessagesKey<AnswerDraft>,
    kBodyKey<AnswerDraft>,
    {"trailers", false,
     [](Reader&, const SourceNode& node, AnswerDraft* out) {
       out->parts->headers(node, &out->value.trailers);
     }},
    {"pieces", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       read_pieces(reader, node, &out->value);
     }},
    {"silence", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       read_silence(reader, node, &out->value);
     }},
    {"ends", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       read_ends(reader, node, &out->value);
     }},
    {"stream_error", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       read_stream_error(reader, node, &out->value);
     }},
};

void read_place(Reader& reader, const SourceNode& node, std::string_view what, size_t below,
                std::optional<size_t>* out) {
  if (below == 0) {
    reader.error(node.offset, std::string(what) + ": no call stands before this one");
  } else if (const auto place = reader.integer(node, what, 0, static_cast<int64_t>(below) - 1)) {
    *out = static_cast<size_t>(*place);
  }
}

void read_after(Reader& reader, const SourceNode& node, CallDraft* out) {
  if (!reader.expect(node, NodeKind::kArray, "'after'")) return;
  out->value.after.clear();
  for (const SourceNode& each : node.children) {
    std::optional<size_t> place;
    read_place(reader, each, "a call in 'after'", out->place, &place);
    if (!place) continue;
    if (!out->value.after.empty() && out->value.after.back() >= *place)
      reader.error(each.offset, "'after': calls stand in their order, each once");
    out->value.after.push_back(*place);
  }
}

constexpr Key<CallDraft> kKindKey = {"kind", true, [](Reader&, const SourceNode&, CallDraft*) {}};
constexpr Key<CallDraft> kToKey = {"to", true,
                                   [](Reader& reader, const SourceNode& node, CallDraft* out) {
                                     out->value.input.to = read_plain_name(reader, node, "'to'");
                                   }};
constexpr Key<CallDraft> kSiteKey = {"site", false,
                                     [](Reader& reader, const SourceNode& node, CallDraft* out) {
                                       out->value.site = read_plain_name(reader, node, "'site'");
                                     }};
constexpr Key<CallDraft> kCauseKey = {"cause", false,
                                      [](Reader& reader, const SourceNode& node, CallDraft* out) {
                                        constexpr std::string_view kWords[] = {"none"};
                                        if (reader.word(node, "'cause'", kWords))
                                          out->value.cause_known = false;
                                      }};
constexpr Key<CallDraft> kAfterKey = {"after", false, read_after};
constexpr Key<CallDraft> kAttemptKey = {
    "attempt_of", false, [](Reader& reader, const SourceNode& node, CallDraft* out) {
      read_place(reader, node, "'attempt_of'", out->place, &out->value.attempt_of);
    }};

constexpr Key<CallDraft> kHttpCallKeys[] = {
    kKindKey,
    kToKey,
    kSiteKey,
    kCauseKey,
    kAfterKey,
    kAttemptKey,
    {"protocol", false,
     [](Reader& reader, const SourceNode& node, CallDraft* out) {
       read_protocol(reader, node, &out->value.input.http);
     }},
    {"method", true,
     [](Reader&, const SourceNode& node, CallDraft* out) {
       out->value.input.http.method = out->parts->method(node);
     }},
    {"target", true,
     [](Reader&, const SourceNode& node, CallDraft* out) {
       out->value.input.http.target = out->parts->target(node);
     }},
    {"headers", false,
     [](Reader&, const SourceNode& node, CallDraft* out) {
       out->parts->headers(node, &out->value.input.http.headers);
     }},
    kJsonKey<CallDraft>,
    kStyleKey<CallDraft>,
    kTextKey<CallDraft>,
    kMessagesKey<CallDraft>,
    kBodyKey<CallDraft>,
    {"answer", true,
     [](Reader&, const SourceNode& node, CallDraft* out) {
       out->value.answer = out->parts->answer(node);
     }},
};
constexpr Key<CallDraft> kRedisCallKeys[] = {
    kKindKey,
    kToKey,
    kSiteKey,
    kCauseKey,
    kAfterKey,
    kAttemptKey,
    {"call", true,
     [](Reader&, const SourceNode& node, CallDraft* out) {
       out->value.input.command = out->parts->command(node);
     }},
    {"reply", false,
     [](Reader&, const SourceNode& node, CallDraft* out) {
       out->value.reply = out->parts->reply(node);
     }},
    {"silence", false,
     [](Reader& reader, const SourceNode& node, CallDraft* out) {
       read_silence(reader, node, &out->value.answer);
     }},
    {"ends", false,
     [](Reader& reader, const SourceNode& node, CallDraft* out) {
       read_ends(reader, node, &out->value.answer);
     }},
};

// The bytes of pieces whose sizes are numbers of messages.
bool put_sizes(Answer* out) {
  const auto messages = grpc_messages(out->body);
  if (out->pieces.empty() || !messages) return out->pieces.empty();
  auto next = messages->begin();
  for (Piece& piece : out->pieces) {
    if (piece.size > static_cast<uint64_t>(messages->end() - next)) return false;
    for (uint64_t left = std::exchange(piece.size, 0); left != 0; --left, ++next)
      piece.size += grpc::kPrefixSize + next->size();
  }
  return next == messages->end();
}

struct OpeningDraft {
  PartReader* parts;
  Opening value = {};
};
constexpr Key<OpeningDraft> kOpeningKeys[] = {
    {"call", true,
     [](Reader&, const SourceNode& node, OpeningDraft* out) {
       out->value.command = out->parts->command(node);
     }},
    {"reply", true,
     [](Reader&, const SourceNode& node, OpeningDraft* out) {
       out->value.reply = out->parts->reply(node);
     }},
};

}  // namespace

Request PartReader::request(const SourceNode& node) {
  RequestDraft draft{this};
  read_object<RequestDraft>(*reader_, node, "'request'", kRequestKeys, &draft);
  draft.value.body = whole_body(node, std::move(draft.body));
  return std::move(draft.value);
}

Answer PartReader::answer(const SourceNode& node) {
  AnswerDraft draft{this};
  const size_t before = reader_->errors();
  read_object<AnswerDraft>(*reader_, node, "'answer'", kAnswerKeys, &draft);
  Answer& out = draft.value;
  const bool in_messages = draft.body.grpc.has_value();
  out.body = whole_body(node, std::move(draft.body));
  if (reader_->errors() != before) return std::move(out);
  if (in_messages && !put_sizes(&out))
    reader_->error(node.offset, "'pieces' do not have as many messages as 'messages'");
  if (out.stream_error && out.ends != Ends::kReset)
    reader_->error(node.offset,
                   "'stream_error' says how a stream was reset: 'ends' is not \"reset\"");
  uint64_t size = 0;
  for (const Piece& piece : out.pieces) size += piece.size;
  if (!out.pieces.empty() && size != out.body.size())
    reader_->error(node.offset, "'pieces' have " + std::to_string(size) + " bytes, the body has " +
                                    std::to_string(out.body.size()));
  if (out.status == 0 && !out.silence && out.ends == Ends::kNone)
    reader_->error(node.offset, "'answer' needs 'status', or 'silence' or 'ends' where none came");
  return std::move(out);
}

Call PartReader::call(const SourceNode& node, size_t place) {
  CallDraft draft{this, place};
  Call& out = draft.value;
  out.line = reader_->line_of(node);
  if (place != 0) out.after = {place - 1};
  if (!reader_->expect(node, NodeKind::kObject, "a call")) return std::move(out);
  const auto kind = std::find_if(node.children.begin(), node.children.end(),
                                 [](const SourceNode& child) { return child.key == "kind"; });
  constexpr std::string_view kWords[] = {"http", "redis"};
  if (kind == node.children.end()) {
    reader_->error(node.offset, "a call needs 'kind'");
    return std::move(out);
  }
  const auto word = reader_->word(*kind, "'kind'", kWords);
  if (!word) return std::move(out);
  if (*word == 0) {
    read_object<CallDraft>(*reader_, node, "a call of HTTP", kHttpCallKeys, &draft);
    out.input.http.body = whole_body(node, std::move(draft.body));
    return std::move(out);
  }
  out.input.kind = Kind::kRedis;
  read_object<CallDraft>(*reader_, node, "a call of Redis", kRedisCallKeys, &draft);
  if (!out.reply && !out.answer.silence && out.answer.ends == Ends::kNone)
    reader_->error(node.offset, "a call needs 'reply', or 'silence' or 'ends' where none came");
  return std::move(out);
}

std::vector<Call> PartReader::calls(const SourceNode& node) {
  std::vector<Call> out;
  if (!reader_->expect(node, NodeKind::kArray, "'" + node.key + "'")) return out;
  for (const SourceNode& each : node.children) out.push_back(call(each, out.size()));
  return out;
}

std::vector<Opening> PartReader::openings(const SourceNode& node) {
  std::vector<Opening> out;
  if (!reader_->expect(node, NodeKind::kArray, "the openings of a service")) return out;
  for (const SourceNode& each : node.children) {
    OpeningDraft draft{this};
    read_object<OpeningDraft>(*reader_, each, "an opening", kOpeningKeys, &draft);
    out.push_back(std::move(draft.value));
  }
  return out;
}

}  // namespace filibuster::cases
