#include <algorithm>
#include <cctype>

#include "core/fault/attempts.h"
#include "core/text/base64.h"
#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;

// Bytes of an injected body. It lies in memory that is shared with every agent, together with the other
// faults of an execution.
constexpr size_t kMaxBody = 64 * 1024;

bool is_token(std::string_view text) {  // RFC 9110 5.6.2
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

void read_after(Reader& reader, const SourceNode& node, FaultSpec* out) {
  if (const auto after = reader.flag(node, "'after'")) out->after_effect = *after;
}

// "UNAVAILABLE", "14" or 14.
void read_code(Reader& reader, const SourceNode& node, FaultSpec* out) {
  out->kind = FaultKind::kGrpc;
  if (node.kind != Kind::kString && node.kind != Kind::kInteger) {
    reader.error(node.offset,
                 "'grpc': expected the name or number of a status code, as in "
                 "\"UNAVAILABLE\", found " +
                     std::string(kind_name(node.kind)));
    return;
  }
  const std::string text = node.kind == Kind::kString ? node.text : std::to_string(node.integer);
  if (const auto code = parse_error_code(text)) {
    out->code = code.value();
  } else {
    reader.error(node.offset, "'grpc': " + code.error().message);
  }
}

void read_at_message(Reader& reader, const SourceNode& node, FaultSpec* out) {
  if (const auto number = reader.integer(node, "'at_message'", 1, kMaxMessageNumber)) {
    out->at_message = static_cast<uint32_t>(*number);
  }
}

constexpr Key<FaultSpec> kStreamResetKeys[] = {
    {"stream_reset", true,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       out->kind = FaultKind::kStreamReset;
       if (!reader.expect(node, Kind::kString, "'stream_reset'")) return;
       if (const auto error = parse_stream_error(node.text)) {
         out->error = error.value();
       } else {
         reader.error(node.offset, "'stream_reset': " + error.error().message);
       }
     }},
    {"after", false, read_after},
    {"at_message", false, read_at_message},
};

template <FaultKind kind>
void read_time(Reader& reader, const SourceNode& node, FaultSpec* out) {
  out->kind = kind;
  constexpr const char* kRange = "from 1ms to an hour";
  const std::string what = "'" + node.key + "'";
  const auto time = reader.duration(node, what, kRange);
  if (!time) return;
  if (time->count() < 1 || time->count() > kMaxLatencyMs) {
    reader.error(node.offset, what + ": expected a duration " + kRange);
  } else {
    out->latency_ms = static_cast<uint32_t>(time->count());
  }
}
constexpr Key<FaultSpec> kLatencyKeys[] = {
    {"latency", true, read_time<FaultKind::kLatency>},
    {"at_message", false, read_at_message},
};
constexpr Key<FaultSpec> kContentLengthKeys[] = {
    {"content_length", true, [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       out->kind = FaultKind::kContentLength;
       const auto delta = reader.integer(node, "'content_length'", -kMaxDelta, kMaxDelta);
       if (delta && *delta == 0) reader.error(node.offset, "'content_length': 0 changes nothing");
       if (delta) out->delta = static_cast<int32_t>(*delta);
     }}};

// Faults that need nothing but their name: {"goaway": true}.
template <FaultKind kind>
void read_named(Reader& reader, const SourceNode& node, FaultSpec* out) {
  out->kind = kind;
  const auto on = reader.flag(node, "'" + node.key + "'");
  if (on && !*on) reader.error(node.offset, "'" + node.key + "': expected true");
}
// {"slow_body": "2s"}, {"slow_body": true}.
constexpr Key<FaultSpec> kSlowBodyKeys[] = {
    {"slow_body", true, [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       node.kind == Kind::kBool ? read_named<FaultKind::kSlowBody>(reader, node, out)
                                : read_time<FaultKind::kSlowBody>(reader, node, out);
     }}};
constexpr Key<FaultSpec> kGoawayKeys[] = {{"goaway", true, read_named<FaultKind::kGoaway>}};
constexpr Key<FaultSpec> kPartialMessageKeys[] = {
    {"partial_message", true, read_named<FaultKind::kPartialMessage>}};
constexpr Key<FaultSpec> kEmptyMessageKeys[] = {
    {"empty_message", true, read_named<FaultKind::kEmptyMessage>}};
constexpr Key<FaultSpec> kCorruptMessageKeys[] = {
    {"corrupt_message", true, read_named<FaultKind::kCorruptMessage>}};
constexpr Key<FaultSpec> kNoTrailersKeys[] = {
    {"no_trailers", true, read_named<FaultKind::kNoTrailers>}};

constexpr Key<FaultSpec> kGrpcKeys[] = {
    {"grpc", true, read_code},
    {"message", false,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       if (!reader.expect(node, Kind::kString, "'message'")) return;
       if (node.text.size() > kMaxGrpcMessage) {
         reader.error(node.offset,
                      "'message': at most " + std::to_string(kMaxGrpcMessage) + " bytes");
         return;
       }
       out->message = node.text;
     }},
    {"details", false,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       if (!reader.expect(node, Kind::kString, "'details'")) return;
       auto bytes = from_base64(node.text);
       if (!bytes) {
         reader.error(node.offset,
                      "'details': expected a serialized google.rpc.Status in base64 (RFC 4648)");
       } else if (bytes->size() > kMaxGrpcDetails) {
         reader.error(node.offset,
                      "'details': at most " + std::to_string(kMaxGrpcDetails) + " bytes");
       } else {
         out->details = std::move(*bytes);
       }
     }},
    {"after", false, read_after},
    {"at_message", false, read_at_message},
};

// "READONLY", or "nil".
void read_reply(Reader& reader, const SourceNode& node, FaultSpec* out) {
  out->kind = FaultKind::kRedis;
  if (!reader.expect(node, Kind::kString, "'redis'")) return;
  if (auto reply = parse_redis_reply(node.text)) {
    out->reply = std::move(reply).value();
  } else {
    reader.error(node.offset, "'redis': " + reply.error().message);
  }
}

constexpr Key<FaultSpec> kRedisKeys[] = {
    {"redis", true, read_reply},
    {"message", false,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       if (!reader.expect(node, Kind::kString, "'message'")) return;
       if (node.text.size() > kMaxRedisMessage) {
         reader.error(node.offset,
                      "'message': at most " + std::to_string(kMaxRedisMessage) + " bytes");
         return;
       }
       out->message = node.text;
     }},
};

constexpr Key<FaultSpec> kStatusKeys[] = {
    {"status", true,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       out->kind = FaultKind::kStatus;
       if (const auto status = reader.integer(node, "'status'", 100, 599)) {
         out->status = static_cast<uint16_t>(*status);
       }
     }},
    {"body", false,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       if (!reader.expect(node, Kind::kString, "'body'")) return;
       if (node.text.size() > kMaxBody) {
         reader.error(node.offset, "'body': at most " + std::to_string(kMaxBody) + " bytes");
         return;
       }
       out->body = node.text;
     }},
    {"headers", false,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       if (!reader.expect(node, Kind::kObject, "'headers'")) return;
       for (const SourceNode& child : node.children) {
         const std::string name = lower(child.key);
         if (!is_token(child.key)) {
           reader.error(child.key_offset, "'" + child.key + "' cannot be the name of a header");
         } else if (name == "content-length" || name == "transfer-encoding" ||
                    name == "connection") {
           reader.error(child.key_offset,
                        "header '" + child.key + "' is made by filibuster itself");
         }
         const auto value = reader.text(child, "header '" + child.key + "'");
         if (!value) continue;
         if (value->find_first_of("\r\n") != std::string::npos) {
           reader.error(child.offset, "header '" + child.key + "': a line break is not allowed");
         }
         out->headers.emplace_back(child.key, *value);
       }
     }},
    {"after", false, read_after},
};

constexpr Key<FaultSpec> kAttemptsKeys[] = {{"attempts", true, read_attempts}};

// The key that tells which fault an object describes, and all keys that the object may have.
struct ObjectForm {
  std::string_view key;
  std::span<const Key<FaultSpec>> keys;
};
constexpr ObjectForm kObjectForms[] = {
    {"status", kStatusKeys},
    {"grpc", kGrpcKeys},
    {"stream_reset", kStreamResetKeys},
    {"latency", kLatencyKeys},
    {"goaway", kGoawayKeys},
    {"partial_message", kPartialMessageKeys},
    {"empty_message", kEmptyMessageKeys},
    {"corrupt_message", kCorruptMessageKeys},
    {"no_trailers", kNoTrailersKeys},
    {"redis", kRedisKeys},
    {"slow_body", kSlowBodyKeys},
    {"content_length", kContentLengthKeys},
    {"attempts", kAttemptsKeys},
};

bool read_fault_object(Reader& reader, const SourceNode& node, FaultSpec* out) {
  const ObjectForm* form = nullptr;
  for (const ObjectForm& row : kObjectForms) {
    const bool there = std::any_of(node.children.begin(), node.children.end(),
                                   [&](const SourceNode& child) { return child.key == row.key; });
    if (there && form != nullptr) {
      reader.error(node.offset, "a fault has either '" + std::string(form->key) + "' or '" +
                                    std::string(row.key) + "', not both");
      return false;
    }
    if (there) form = &row;
  }
  if (form != nullptr) {
    if (!read_object<FaultSpec>(reader, node, "a fault", form->keys, out)) return false;
    if (out->after_effect && out->at_message > 0) {
      reader.error(node.offset, "a fault has either 'after' or 'at_message', not both");
      return false;
    }
    const bool is_nil = std::any_of(
        node.children.begin(), node.children.end(),
        [](const SourceNode& child) { return child.key == "redis" && child.text == "nil"; });
    if (is_nil && !out->message.empty()) {
      reader.error(node.offset,
                   "a fault of Redis has 'message' only with the code of an error: "
                   "\"nil\" is a null, which says nothing");
      return false;
    }
    return true;
  }
  std::vector<std::string_view> keys;
  for (const ObjectForm& row : kObjectForms) {
    for (const Key<FaultSpec>& key : row.keys) keys.push_back(key.name);
  }
  reader.error(
      node.offset,
      "a fault needs 'status' (HTTP), 'grpc', 'stream_reset', 'latency', 'goaway', "
      "'partial_message', 'empty_message', 'corrupt_message', 'no_trailers', 'redis' or 'attempts'");
  check_keys(reader, node, "a fault", keys);
  return false;
}

}  // namespace

bool read_fault(Reader& reader, const SourceNode& node, FaultSpec* out) {
  if (node.kind == Kind::kObject) return read_fault_object(reader, node, out);
  if (node.kind == Kind::kString || node.kind == Kind::kInteger) {
    const std::string text = node.kind == Kind::kString ? node.text : std::to_string(node.integer);
    Result<FaultSpec> parsed = parse_fault_text(text);
    if (!parsed) {
      reader.error(node.offset, parsed.error().message);
      return false;
    }
    *out = std::move(parsed).value();
    return true;
  }
  reader.error(
      node.offset,
      "a fault: expected text such as \"refused\", \"status:503\", \"grpc:UNAVAILABLE\" or "
      "\"redis:LOADING\", or {\"status\": 503, \"body\": \"...\"}, {\"grpc\": \"UNAVAILABLE\", "
      "\"message\": \"...\"} or {\"redis\": \"READONLY\", \"message\": \"...\"}, "
      "found " +
          std::string(kind_name(node.kind)));
  return false;
}

namespace {

void add_fault(Reader& reader, const SourceNode& node, std::vector<FaultSpec>* out) {
  FaultSpec fault;
  if (!read_fault(reader, node, &fault)) return;
  if (std::find(out->begin(), out->end(), fault) != out->end()) {
    reader.error(node.offset, "fault '" + to_text(fault) + "' is listed twice");
    return;
  }
  out->push_back(std::move(fault));
}

template <std::string FaultRule::*member>
void read_match(Reader& reader, const SourceNode& node, FaultRule* out) {
  const auto text = reader.text(node, "'" + node.key + "'");
  if (!text) return;
  if (text->empty()) {
    reader.error(node.offset, "'" + node.key + "' is empty; leave it out to match anything");
  }
  out->*member = *text;
}

constexpr Key<FaultRule> kOnKeys[] = {
    {"service", false, read_match<&FaultRule::service>},
    {"method", false, read_match<&FaultRule::method>},
    {"path", false, read_match<&FaultRule::path>},
    {"caller", false, read_match<&FaultRule::caller>},
    {"grpc", false,
     [](Reader& reader, const SourceNode& node, FaultRule* out) {
       read_grpc_name(reader, node, &out->grpc);
     }},
};

}  // namespace

void read_on(Reader& reader, const SourceNode& node, FaultRule* out) {
  read_object<FaultRule>(reader, node, "'on'", kOnKeys, out);
}

void read_inject(Reader& reader, const SourceNode& node, FaultRule* out) {
  if (node.kind != Kind::kArray) {  // one fault needs no brackets
    add_fault(reader, node, &out->inject);
    return;
  }
  for (const SourceNode& child : node.children) add_fault(reader, child, &out->inject);
}

// Why the rule is there, for people: `filibuster analyze` writes it. The search takes no notice.
void read_evidence(Reader& reader, const SourceNode& node, FaultRule* out) {
  out->has_evidence = true;
  if (node.kind == Kind::kString) return;
  if (node.kind != Kind::kArray) {
    reader.error(node.offset, "'evidence': expected text, or an array of texts, found " +
                                  std::string(kind_name(node.kind)));
    return;
  }
  for (const SourceNode& child : node.children) (void)reader.text(child, "'evidence'");
}

namespace {

constexpr Key<FaultRule> kRuleKeys[] = {
    {"on", false, read_on},
    {"inject", true, read_inject},
    {"evidence", false, read_evidence},
};

}  // namespace

void read_faults(Reader& reader, const SourceNode& node, Draft* draft) {
  if (!reader.expect(node, Kind::kArray, "'faults'")) return;
  for (const SourceNode& child : node.children) {
    FaultRule rule;
    rule.line = reader.line_of(child);
    if (read_object<FaultRule>(reader, child, "a rule of 'faults'", kRuleKeys, &rule)) {
      draft->config.faults.push_back(std::move(rule));
    }
  }
}

}  // namespace filibuster::config

namespace filibuster {

Result<FaultSpec> parse_fault_text(std::string_view text) {
  return parse_fault(complete_status(text));
}

}  // namespace filibuster
