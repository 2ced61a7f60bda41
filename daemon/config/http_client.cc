// The `client` of a property that is configured: which request of HTTP each command is, and what its answers mean (docs/property.md
// 'Without code'). What is written is checked here, and kept as it was written.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "daemon/config/ready_kinds.h"
#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;
using Json = nlohmann::json;

constexpr int64_t kDefaultTimeout = 10'000;  // milliseconds

struct ClientDraft {
  Draft* draft;
  const ReadyKind* kind;  // nullptr: a program is the model, and its values may have any members
  Json json = Json::object();
};

struct CommandDraft {
  ClientDraft* client;
  const ReadyCommand* command;  // nullptr: it is not known
  bool is_reset;
  const SourceNode* body = nullptr;
  const SourceNode* text = nullptr;
  const SourceNode* answer = nullptr;
};

void check_placeholder(Reader& reader, size_t offset, std::string_view name,
                       const CommandDraft& of) {
  if (name.starts_with("port:") || name == "lane") return;
  const std::string text = "'${" + std::string(name) + "}': ";
  if (name.empty()) return reader.error(offset, text + "expected a name");
  if (of.is_reset) return reader.error(offset, text + "a reset has no value");
  if (of.command == nullptr || name == "process" || of.command->has_member(name)) return;
  std::vector<std::string_view> known;
  for (const std::string_view each : of.command->members) {
    if (!each.empty()) known.push_back(each);
  }
  known.push_back("process");
  reader.error(offset, text + "'" + std::string(of.command->f) + "' has " + list_of(known));
}

// ${NAME} in a text. `is_key`: of an object, whose place is that of the key.
void check_placeholders(Reader& reader, const SourceNode& node, bool is_key,
                        const CommandDraft& of) {
  const std::string_view text = is_key ? node.key : node.text;
  for (size_t at = text.find("${"); at != std::string_view::npos; at = text.find("${", at)) {
    const size_t offset = is_key ? node.key_offset : reader.offset_in(node, at);
    const size_t end = text.find('}', at);
    if (end == std::string_view::npos) return reader.error(offset, "'${' without its closing '}'");
    check_placeholder(reader, offset, text.substr(at + 2, end - at - 2), of);
    at = end;
  }
  if (!is_key) note_port_uses(reader, node, of.client->draft);
}

void check_body(Reader& reader, const SourceNode& node, const CommandDraft& of) {
  if (node.kind == Kind::kString) check_placeholders(reader, node, false, of);
  for (const SourceNode& child : node.children) {
    if (node.kind == Kind::kObject) check_placeholders(reader, child, true, of);
    check_body(reader, child, of);
  }
}

void check_headers(Reader& reader, const SourceNode& node, const CommandDraft& of) {
  if (!reader.expect(node, Kind::kObject, "'headers'")) return;
  for (const SourceNode& child : node.children) {
    const auto value = reader.text(child, "the header field '" + child.key + "'");
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    if (!value) continue;
    if (child.key.empty() || child.key.find_first_of(": \t\r\n") != std::string::npos ||
        std::any_of(value->begin(), value->end(), is_control)) {
      reader.error(child.key_offset, "'headers': '" + child.key + "' is no header field");
      continue;
    }
    check_placeholders(reader, child, false, of);
  }
}

// "200" to "599", or a class as "4xx".
bool is_status(std::string_view text) {
  if (text.size() != 3 || text[0] < '2' || text[0] > '5') return false;
  return text.substr(1) == "xx" || (std::isdigit(static_cast<unsigned char>(text[1])) != 0 &&
                                    std::isdigit(static_cast<unsigned char>(text[2])) != 0);
}

void check_statuses(Reader& reader, const SourceNode& node) {
  if (!reader.expect(node, Kind::kObject, "'statuses'")) return;
  for (const SourceNode& child : node.children) {
    if (!is_status(child.key))
      reader.error(child.key_offset, "'statuses': '" + child.key +
                                         "' is no status of an answer; expected 200 to 599, or a "
                                         "class as '4xx'");
    const bool is_word = child.kind == Kind::kString &&
                         (child.text == "ok" || child.text == "fail" || child.text == "info");
    const bool is_answer = child.kind == Kind::kObject && child.children.size() == 1 &&
                           child.children.front().key == "ok";
    if (!is_word && !is_answer)
      reader.error(child.offset, "'statuses': expected 'ok', 'fail', 'info' or {\"ok\": ANSWER}");
  }
}

bool is_pointer(std::string_view text) {
  if (!text.empty() && text[0] != '/') return false;
  for (size_t at = text.find('~'); at != std::string_view::npos; at = text.find('~', at + 1)) {
    if (at + 1 == text.size() || (text[at + 1] != '0' && text[at + 1] != '1')) return false;
  }
  return true;
}

void check_answer(Reader& reader, const SourceNode& node) {
  const bool is_word = node.kind == Kind::kString &&
                       (node.text == "json" || node.text == "text" || node.text == "status" ||
                        (!node.text.empty() && is_pointer(node.text)));
  const bool is_constant = node.kind == Kind::kObject && node.children.size() == 1 &&
                           node.children.front().key == "value";
  if (!is_word && !is_constant && node.kind != Kind::kNull)
    reader.error(node.offset,
                 "'answer': expected a JSON pointer such as \"/value\", \"json\", \"text\", "
                 "\"status\", {\"value\": CONSTANT} or null");
}

constexpr Key<CommandDraft> kCommandKeys[] = {
    {"method", true,
     [](Reader& reader, const SourceNode& node, CommandDraft*) {
       const auto method = reader.text(node, "'method'");
       const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
       if (method && (method->empty() || !std::all_of(method->begin(), method->end(), is_upper)))
         reader.error(node.offset, "'method': expected a method of HTTP, as \"GET\"");
     }},
    {"path", true,
     [](Reader& reader, const SourceNode& node, CommandDraft* out) {
       const auto path = reader.text(node, "'path'");
       if (!path) return;
       const auto is_good = [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '#'; };
       if (!path->starts_with("/") || !std::all_of(path->begin(), path->end(), is_good))
         return reader.error(node.offset,
                             "'path': expected a path that begins with '/', in which blanks and "
                             "the like are written as %20");
       check_placeholders(reader, node, false, *out);
     }},
    {"headers", false,
     [](Reader& reader, const SourceNode& node, CommandDraft* out) {
       check_headers(reader, node, *out);
     }},
    {"body", false,
     [](Reader& reader, const SourceNode& node, CommandDraft* out) {
       out->body = &node;
       check_body(reader, node, *out);
     }},
    {"text", false,
     [](Reader& reader, const SourceNode& node, CommandDraft* out) {
       out->text = &node;
       if (reader.expect(node, Kind::kString, "'text'"))
         check_placeholders(reader, node, false, *out);
     }},
    {"statuses", false,
     [](Reader& reader, const SourceNode& node, CommandDraft*) { check_statuses(reader, node); }},
    {"answer", false,
     [](Reader& reader, const SourceNode& node, CommandDraft* out) {
       out->answer = &node;
       check_answer(reader, node);
     }},
};

void read_http_command(Reader& reader, const SourceNode& node, const std::string& name,
                       CommandDraft draft, Json* out) {
  if (!read_object<CommandDraft>(reader, node, "'" + name + "'", kCommandKeys, &draft)) return;
  if (draft.body != nullptr && draft.text != nullptr)
    reader.error(draft.text->key_offset, "'" + name + "' has a 'body' already");
  if (draft.is_reset && draft.answer != nullptr)
    reader.error(draft.answer->key_offset, "'answer': nobody asks what a reset is answered");
  if (draft.command != nullptr && draft.command->answers && draft.answer == nullptr)
    reader.error(node.offset,
                 "'" + name + "' needs 'answer': where its value stands in the answer");
  *out = json_of(node);
}

constexpr Key<ClientDraft> kClientKeys[] = {
    {"http", true,
     [](Reader& reader, const SourceNode& node, ClientDraft* out) {
       const auto url = reader.text(node, "'http'");
       if (!url) return;
       const std::string_view host =
           std::string_view(*url).substr(std::min<size_t>(7, url->size()));
       const auto is_good = [](unsigned char c) { return c > 0x20 && c < 0x7f; };
       if (!url->starts_with("http://") || host.empty() || host[0] == '/' ||
           url->find_first_of("?#@") != std::string::npos ||
           !std::all_of(url->begin(), url->end(), is_good))
         return reader.error(node.offset,
                             "'http': expected a URL such as \"http://127.0.0.1:${port:web}\"");
       note_port_uses(reader, node, out->draft);
       out->json["http"] = *url;
     }},
    {"timeout", false,
     [](Reader& reader, const SourceNode& node, ClientDraft* out) {
       const auto time = reader.duration(node, "'timeout'", "from 1 ms to a week");
       if (!time) return;
       if (time->count() == 0) reader.error(node.offset, "'timeout': expected more than 0");
       out->json["timeout_ms"] = static_cast<int64_t>(time->count());
     }},
    {"headers", false,
     [](Reader& reader, const SourceNode& node, ClientDraft* out) {
       check_headers(reader, node, {.client = out, .command = nullptr, .is_reset = true});
       out->json["headers"] = json_of(node);
     }},
    // One request, or several, one after the other.
    {"reset", true,
     [](Reader& reader, const SourceNode& node, ClientDraft* out) {
       Json& resets = out->json["reset"] = Json::array();
       const auto read = [&](const SourceNode& each) {
         resets.emplace_back();
         read_http_command(reader, each, "reset",
                           {.client = out, .command = nullptr, .is_reset = true}, &resets.back());
       };
       if (node.kind != Kind::kArray) return read(node);
       if (node.children.empty())
         reader.error(node.offset, "'reset': expected at least one request");
       for (const SourceNode& child : node.children) read(child);
     }},
    {"commands", true,
     [](Reader& reader, const SourceNode& node, ClientDraft* out) {
       if (!reader.expect(node, Kind::kObject, "'commands'")) return;
       Json& commands = out->json["commands"] = Json::object();
       if (node.children.empty()) reader.error(node.offset, "'commands': expected at least one");
       std::vector<std::string_view> known;
       if (out->kind != nullptr) {
         for (const ReadyCommand& each : out->kind->commands) known.push_back(each.f);
         check_keys(reader, node, "'commands'", known);
       }
       for (const SourceNode& child : node.children) {
         const ReadyCommand* const command =
             out->kind == nullptr ? nullptr : out->kind->command(child.key);
         read_http_command(reader, child, child.key,
                           {.client = out, .command = command, .is_reset = false},
                           &commands[child.key]);
       }
     }},
};

}  // namespace

void read_http_client(Reader& reader, const SourceNode& node, const ReadyModelConfig* model,
                      Draft* draft, nlohmann::json* out) {
  ClientDraft client{.draft = draft, .kind = model ? ready_kind(model->object) : nullptr};
  client.json["timeout_ms"] = kDefaultTimeout;
  client.json["headers"] = Json::object();
  if (read_object<ClientDraft>(reader, node, "'client'", kClientKeys, &client))
    *out = std::move(client.json);
}

}  // namespace filibuster::config
