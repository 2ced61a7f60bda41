// `stubs` of a service: a dependency without a process (daemon/stubs/).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/config/sections.h"
#include "daemon/stubs/choose.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;
using Json = nlohmann::json;
using stubs::Answer;
using stubs::Stub;

struct AnswerDraft {
  Answer answer;
  const SourceNode* json = nullptr;  // of the keys of one protocol: where it stands, or null
  const SourceNode* text = nullptr;
  const SourceNode* status = nullptr;
  const SourceNode* headers = nullptr;
  const SourceNode* code = nullptr;
  const SourceNode* status_message = nullptr;
  const SourceNode* message = nullptr;
  const SourceNode* reply = nullptr;
};

void read_headers(Reader& reader, const SourceNode& node, AnswerDraft* out) {
  out->headers = &node;
  if (!reader.expect(node, Kind::kObject, "'headers'")) return;
  for (const SourceNode& child : node.children) {
    const auto value = reader.text(child, "the header field '" + child.key + "'");
    const auto ends_line = [](char c) { return c == '\r' || c == '\n'; };
    if (!value) continue;
    if (child.key.empty() || child.key.find_first_of(": \t\r\n") != std::string::npos ||
        std::any_of(value->begin(), value->end(), ends_line)) {
      reader.error(child.key_offset, "'headers': '" + child.key + "' is no header field");
      continue;
    }
    out->answer.headers.emplace_back(child.key, *value);
  }
}

constexpr Key<AnswerDraft> kAnswerKeys[] = {
    {"status", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       out->status = &node;
       if (const auto status = reader.integer(node, "'status'", 200, 599))
         out->answer.status = static_cast<uint16_t>(*status);
     }},
    {"headers", false, read_headers},
    {"json", false,
     [](Reader&, const SourceNode& node, AnswerDraft* out) {
       out->json = &node;
       out->answer.body = json_of(node).dump();
     }},
    {"text", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       out->text = &node;
       if (const auto text = reader.text(node, "'text'")) out->answer.body = *text;
     }},
    {"code", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       out->code = &node;
       const auto text = reader.text(node, "'code'");
       if (!text) return;
       const auto code = grpc::parse_code(*text);
       if (!code)
         reader.error(node.offset, "'code': '" + *text + "' is no code of gRPC, as NOT_FOUND is");
       if (code) out->answer.code = *code;
     }},
    {"status_message", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       out->status_message = &node;
       if (const auto text = reader.text(node, "'status_message'"))
         out->answer.status_message = *text;
     }},
    {"message", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       out->message = &node;
       if (reader.expect(node, Kind::kObject, "'message'")) out->answer.message = json_of(node);
     }},
    {"reply", false,
     [](Reader&, const SourceNode& node, AnswerDraft* out) {
       out->reply = &node;
       out->answer.message = json_of(node);
     }},
    {"delay", false,
     [](Reader& reader, const SourceNode& node, AnswerDraft* out) {
       if (const auto time = reader.duration(node, "'delay'")) out->answer.delay = *time;
     }},
};

struct StubDraft {
  Stub stub;
  const SourceNode* grpc = nullptr;
  const SourceNode* method = nullptr;
  const SourceNode* path = nullptr;
  const SourceNode* answers = nullptr;
};

void read_fields(Reader& reader, const SourceNode& node, StubDraft* out) {
  if (!reader.expect(node, Kind::kObject, "'fields'")) return;
  for (const SourceNode& child : node.children) {
    // RFC 6901: reference tokens behind slashes, in which ~ is written ~0 and / is written ~1.
    const std::string& pointer = child.key;
    bool good = pointer.starts_with('/');
    for (size_t at = pointer.find('~'); at != std::string::npos; at = pointer.find('~', at + 1))
      good = good && at + 1 < pointer.size() && (pointer[at + 1] == '0' || pointer[at + 1] == '1');
    if (!good) {
      reader.error(
          child.key_offset,
          "'fields': expected a JSON pointer such as \"/user/id\", found '" + pointer + "'");
      continue;
    }
    out->stub.fields.emplace_back(pointer, json_of(child));
  }
  std::sort(out->stub.fields.begin(), out->stub.fields.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

constexpr Key<StubDraft> kStubKeys[] = {
    {"grpc", false,
     [](Reader& reader, const SourceNode& node, StubDraft* out) {
       out->grpc = &node;
       out->stub.kind = stubs::Kind::kGrpc;
       read_grpc_name(reader, node, &out->stub.path);
     }},
    {"method", false,
     [](Reader& reader, const SourceNode& node, StubDraft* out) {
       out->method = &node;
       if (const auto method = reader.text(node, "'method'")) out->stub.method = *method;
     }},
    {"path", false,
     [](Reader& reader, const SourceNode& node, StubDraft* out) {
       out->path = &node;
       if (const auto path = reader.text(node, "'path'")) out->stub.path = *path;
     }},
    {"request", false,
     [](Reader&, const SourceNode& node, StubDraft* out) {
       out->stub.has_whole = true;
       out->stub.whole = json_of(node);
     }},
    {"fields", false, read_fields},
    {"answer", true, [](Reader&, const SourceNode& node, StubDraft* out) { out->answers = &node; }},
};

// The keys of an answer that the stub's protocol does not have.
void check_answer(Reader& reader, const AnswerDraft& draft, stubs::Kind kind) {
  struct Row {
    const SourceNode* node;
    stubs::Kind of;
  };
  const Row rows[] = {
      {draft.status, stubs::Kind::kHttp},  {draft.headers, stubs::Kind::kHttp},
      {draft.json, stubs::Kind::kHttp},    {draft.text, stubs::Kind::kHttp},
      {draft.code, stubs::Kind::kGrpc},    {draft.status_message, stubs::Kind::kGrpc},
      {draft.message, stubs::Kind::kGrpc}, {draft.reply, stubs::Kind::kRedis}};
  constexpr std::string_view kWords[] = {
      "an answer of HTTP has 'status', 'headers', and 'json' or 'text'",
      "an answer of gRPC has 'message', or 'code' and 'status_message'",
      "an answer of Redis has 'reply'"};
  for (const Row& row : rows) {
    if (row.node == nullptr || row.of == kind) continue;
    reader.error(row.node->key_offset,
                 "'" + row.node->key + "': " + std::string(kWords[static_cast<size_t>(kind)]));
  }
  if (draft.json != nullptr && draft.text != nullptr)
    reader.error(draft.text->key_offset, "an answer has 'json' or 'text', not both");
  if (draft.message != nullptr && draft.answer.code != grpc::Code::kOk)
    reader.error(draft.message->key_offset, "'message': an answer with an error's 'code' has none");
}

std::optional<Answer> read_answer(Reader& reader, const SourceNode& node, stubs::Kind kind) {
  AnswerDraft draft;
  if (!read_object<AnswerDraft>(reader, node, "an answer", kAnswerKeys, &draft))
    return std::nullopt;
  check_answer(reader, draft, kind);
  auto& fields = draft.answer.headers;
  const bool typed = std::any_of(fields.begin(), fields.end(), [](const auto& field) {
    return field.first == "Content-Type" || field.first == "content-type";
  });
  if (!typed && draft.json != nullptr)
    fields.insert(fields.begin(), {"Content-Type", "application/json"});
  if (!typed && draft.text != nullptr)
    fields.insert(fields.begin(), {"Content-Type", "text/plain; charset=utf-8"});
  return std::move(draft.answer);
}

void add_answer(Reader& reader, const SourceNode& node, StubDraft* out) {
  if (auto answer = read_answer(reader, node, out->stub.kind))
    out->stub.answers.push_back(std::move(*answer));
}

void check_stub(Reader& reader, const SourceNode& node, const StubDraft& draft) {
  const Stub& stub = draft.stub;
  if (draft.grpc != nullptr) {
    for (const SourceNode* other : {draft.method, draft.path}) {
      if (other != nullptr)
        reader.error(other->key_offset,
                     "'" + other->key + "': a stub of a gRPC method is named by 'grpc' alone");
    }
  }
  if (stub.kind == stubs::Kind::kHttp && !stub.path.empty() && !stub.path.starts_with('/') &&
      !stub.path.starts_with('*'))
    reader.error(draft.path->offset,
                 "'path': expected a path such as \"/users/7\" or \"/users/*\"");
  if (stub.kind == stubs::Kind::kGrpc && stub.has_whole && !stub.whole.is_object())
    reader.error(node.offset, "'request': expected the message as an object");
  if (stub.kind == stubs::Kind::kRedis && stub.has_whole && !stub.whole.is_array())
    reader.error(node.offset,
                 "'request': expected an array of the arguments behind the command's name");
}

}  // namespace

void read_stubs(Reader& reader, const SourceNode& node, const std::string& service, bool redis,
                std::vector<Stub>* out) {
  if (node.kind != Kind::kArray) {
    return reader.error(
        node.offset, redis ? "'stubs': expected an array of stubs"
                           : "'stubs': expected an array of stubs, or an object with a 'contract'");
  }
  for (const SourceNode& child : node.children) {
    StubDraft draft;
    draft.stub.kind = redis ? stubs::Kind::kRedis : stubs::Kind::kHttp;
    draft.stub.name = "stub " + std::to_string(out->size() + 1) + " of '" + service + "' (line " +
                      std::to_string(reader.line_of(child)) + ")";
    draft.stub.line = reader.place_of(child).line;
    draft.stub.column = reader.place_of(child).column;
    if (!read_object<StubDraft>(reader, child, "a stub", kStubKeys, &draft)) continue;
    if (redis && draft.grpc != nullptr)
      reader.error(draft.grpc->key_offset, "'grpc': service '" + service + "' speaks Redis");
    // As calls have it: methods of HTTP, and commands of Redis.
    std::string& name = draft.stub.method;
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    if (draft.answers != nullptr && draft.answers->kind == Kind::kArray) {
      for (const SourceNode& answer : draft.answers->children) add_answer(reader, answer, &draft);
      if (draft.answers->children.empty())
        reader.error(draft.answers->offset, "'answer': a sequence of answers has at least one");
    } else if (draft.answers != nullptr) {
      add_answer(reader, *draft.answers, &draft);
    }
    check_stub(reader, child, draft);
    out->push_back(std::move(draft.stub));
    if (const auto same = stubs::same_conditions(*out)) {
      reader.error(
          child.offset,
          (*out)[same->first].name + " and " + (*out)[same->second].name +
              " answer the same calls: give one of them other conditions, or one stub a sequence of answers");
      out->pop_back();
    }
  }
}

std::optional<Answer> read_http_answer(Reader& reader, const SourceNode& node) {
  return read_answer(reader, node, stubs::Kind::kHttp);
}

}  // namespace filibuster::config

namespace filibuster {

Result<stubs::Stub> parse_stub(const nlohmann::json& json, const std::string& service, bool redis) {
  const std::string text =
      nlohmann::json::array({json}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const SourceTree tree = parse_source(text);
  if (tree.error) return Error{tree.error->message};
  config::Reader reader(text, "");
  std::vector<stubs::Stub> out;
  config::read_stubs(reader, tree.root, service, redis, &out);
  const std::vector<ConfigError> errors = std::move(reader).take();
  if (!errors.empty()) return Error{errors.front().message};
  out.front().line = out.front().column = 0;
  return std::move(out.front());
}

}  // namespace filibuster
