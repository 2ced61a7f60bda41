#include <algorithm>

#include "core/hash.h"
#include "core/protocol/draws.h"
#include "core/text/base64.h"
#include "daemon/cases/case_parts.h"
#include "daemon/cases/grpc_body.h"
#include "daemon/cases/route.h"
#include "daemon/config/sections.h"
#include "daemon/wire/body_form.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::cases {
namespace {

using config::Key;
using config::Reader;
using NodeKind = SourceNode::Kind;

constexpr int64_t kMostFileSize = int64_t{1} << 40;

// RFC 9110 §5.6.2: names of headers and methods.
bool is_http_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
}

struct FileDraft {
  std::string name, digest;
  std::optional<uint64_t> size;
};
constexpr Key<FileDraft> kFileKeys[] = {
    {"file", true,
     [](Reader& reader, const SourceNode& node, FileDraft* out) {
       const auto name = reader.text(node, "'file'");
       if (!name) return;
       if (is_plain_file_name(*name)) {
         out->name = *name;
       } else {
         reader.error(node.offset, "'file': expected the name of a file in the folder of this one");
       }
     }},
    {"size", true,
     [](Reader& reader, const SourceNode& node, FileDraft* out) {
       if (const auto size = reader.integer(node, "'size'", 0, kMostFileSize))
         out->size = static_cast<uint64_t>(*size);
     }},
    {"digest", true,
     [](Reader& reader, const SourceNode& node, FileDraft* out) {
       out->digest = reader.text(node, "'digest'").value_or("");
     }},
};

constexpr Key<Draw> kDrawKeys[] = {
    {"from", true,
     [](Reader& reader, const SourceNode& node, Draw* out) {
       out->source = reader.text(node, "'from'").value_or("");
       if (find_draw_source(out->source) == DrawSource::kNone)
         reader.error(node.offset, "'from': '" + out->source + "' is no source of random numbers");
     }},
    {"own", false,
     [](Reader& reader, const SourceNode& node, Draw* out) {
       out->own = static_cast<uint64_t>(
           reader.integer(node, "'own'", 1, int64_t{kMaxDrawBytes}).value_or(1));
     }},
    {"bytes", false,
     [](Reader& reader, const SourceNode& node, Draw* out) {
       const auto text = reader.text(node, "'bytes'");
       if (!text) return;
       const auto bytes = from_base64(*text);
       if (!bytes || bytes->empty() || bytes->size() > kMaxDrawBytes)
         reader.error(node.offset, "'bytes': expected up to 4096 bytes in base64");
       out->bytes = bytes.value_or("");
     }},
    {"site", false,
     [](Reader& reader, const SourceNode& node, Draw* out) {
       out->site = read_plain_name(reader, node, "'site'");
     }},
};

bool is_command(const nlohmann::json& value, bool nested) {
  if (!value.is_array() || value.empty()) return false;
  return std::all_of(value.begin(), value.end(), [&](const nlohmann::json& word) {
    return wire::bytes_of_text(word) || (nested && &word != &value[0] && is_command(word, false));
  });
}

}  // namespace

std::string read_plain_name(Reader& reader, const SourceNode& node, std::string_view what) {
  std::string out;
  config::read_name(reader, node, what, &out);
  return out;
}

std::optional<std::string> PartReader::bytes(const SourceNode& node, std::string_view what) {
  if (node.kind == NodeKind::kString) return node.text;
  if (node.kind == NodeKind::kObject) {
    if (auto bytes = wire::bytes_of_text(config::json_of(node))) return bytes;
  }
  reader_->error(node.offset,
                 std::string(what) + ": expected a text, or {\"bytes\": base64} where it is none");
  return std::nullopt;
}

std::string PartReader::method(const SourceNode& node) {
  std::string out = reader_->text(node, "'method'").value_or("GET");
  if (!is_http_token(out))
    reader_->error(node.offset, "'method': expected a method such as \"GET\"");
  return out;
}

std::string PartReader::target(const SourceNode& node) {
  std::string out = bytes(node, "'target'").value_or("/");
  // It becomes part of a line of the request.
  if (out.empty() || has_control(out) || out.find_first_of(" \t") != std::string::npos)
    reader_->error(node.offset, "'target': expected a target such as \"/orders?page=2\"");
  return out;
}

void PartReader::headers(const SourceNode& node, Headers* out) {
  if (!reader_->expect(node, NodeKind::kArray, "'" + node.key + "'")) return;
  for (const SourceNode& pair : node.children) {
    if (pair.kind != NodeKind::kArray || pair.children.size() != 2) {
      reader_->error(pair.offset, "a header: expected [name, value]");
      continue;
    }
    const auto name = bytes(pair.children[0], "the name of a header");
    const auto value = bytes(pair.children[1], "the value of a header");
    if (!name || !value) continue;
    // Each becomes a line of a message, and no other line.
    if (!is_http_token(*name) || has_control(*value)) {
      reader_->error(pair.offset, "a header that no message can have");
      continue;
    }
    out->emplace_back(*name, *value);
  }
}

void PartReader::body_file(const SourceNode& node, Body* out) {
  FileDraft draft;
  const size_t before = reader_->errors();
  config::read_object<FileDraft>(*reader_, node, "'body'", kFileKeys, &draft);
  if (reader_->errors() != before) return;
  auto bytes = (*beside_)(draft.name);
  if (!bytes) {
    reader_->error(node.offset, "the file '" + draft.name + "' is not there");
  } else if (bytes->size() != draft.size) {
    reader_->error(node.offset, "the file '" + draft.name + "' has " +
                                    std::to_string(bytes->size()) + " bytes, not " +
                                    std::to_string(*draft.size));
  } else if (to_hex(hash_text(*bytes)) != draft.digest) {
    reader_->error(node.offset,
                   "the file '" + draft.name + "' has other bytes than those that were recorded");
  } else {
    out->file = std::move(bytes);
  }
}

void PartReader::json_body(const SourceNode& node, Body* out) {
  out->json = wire::json_value_at(text_, node.offset);
  out->json_offset = node.offset;
  if (node.kind != NodeKind::kObject && node.kind != NodeKind::kArray)
    reader_->error(node.offset, "'json': expected an object or an array; anything else is 'text'");
}

void PartReader::style(const SourceNode& node, Body* out) {
  out->style_offset = node.offset;
  const auto text = reader_->text(node, "'style'");
  if (!text) return;
  out->style = wire::find_json_style(*text);
  if (out->style) return;
  const std::vector<std::string> names = wire::json_style_names();
  const std::vector<std::string_view> words(names.begin(), names.end());
  reader_->error(node.offset, "'style': expected " + config::list_of(words));
}

void PartReader::messages(const SourceNode& node, Body* out) {
  if (!reader_->expect(node, NodeKind::kArray, "'messages'")) return;
  out->grpc.emplace();
  for (const SourceNode& each : node.children) {
    const auto message = each.kind == NodeKind::kString ? from_base64(each.text) : std::nullopt;
    if (message) {
      put_grpc_message(*message, &*out->grpc);
    } else {
      reader_->error(each.offset, "'messages': expected the bytes of a message in base64");
    }
  }
}

std::string PartReader::whole_body(const SourceNode& node, Body body) {
  const int forms =
      (body.json ? 1 : 0) + (body.text ? 1 : 0) + (body.file ? 1 : 0) + (body.grpc ? 1 : 0);
  if (forms > 1)
    reader_->error(node.offset,
                   "a body has one form: 'json', 'text', 'messages' or 'body', not several");
  if (body.style && !body.json)
    reader_->error(body.style_offset, "'style' says how 'json' was written, and there is none");
  if (body.text) return std::move(*body.text);
  if (body.file) return std::move(*body.file);
  if (body.grpc) return std::move(*body.grpc);
  if (!body.json) return "";
  const auto value = wire::parse_json_node(*body.json, wire::kMostJsonDepth);
  if (!value) {
    reader_->error(body.json_offset, "'json' is nested too deeply");
    return "";
  }
  return wire::print_json(*value, body.style.value_or(wire::JsonStyle()));
}

std::vector<Draw> PartReader::draws(const SourceNode& node) {
  std::vector<Draw> out;
  if (!reader_->expect(node, NodeKind::kArray, "'draws'")) return out;
  for (const SourceNode& each : node.children) {
    Draw& draw = out.emplace_back();
    const size_t before = reader_->errors();
    config::read_object<Draw>(*reader_, each, "a random number", kDrawKeys, &draw);
    if (reader_->errors() == before && (draw.own != 0) != draw.bytes.empty())
      reader_->error(each.offset, "a random number: expected either 'bytes' or 'own'");
  }
  return out;
}

nlohmann::json PartReader::command(const SourceNode& node) {
  nlohmann::json out = config::json_of(node);
  if (!is_command(out, true))
    reader_->error(node.offset,
                   "'call': expected the words of a command, such as [\"GET\", \"price:7\"]");
  return out;
}

nlohmann::json PartReader::reply(const SourceNode& node) {
  nlohmann::json out = config::json_of(node);
  if (const std::string wrong = wire::wrong_resp_value(out); !wrong.empty())
    reader_->error(node.offset, "'reply': " + wrong);
  return out;
}

}  // namespace filibuster::cases
