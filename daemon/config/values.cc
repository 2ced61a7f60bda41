#include <algorithm>
#include <cctype>
#include <filesystem>

#include "daemon/config/sections.h"
#include "daemon/model/grpc_name.h"

namespace filibuster::config {

using Kind = SourceNode::Kind;

nlohmann::json json_of(const SourceNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return nullptr;
    case Kind::kBool:
      return node.flag;
    case Kind::kInteger:
      return node.integer;
    case Kind::kNumber:
      return node.number;
    case Kind::kString:
      return node.text;
    case Kind::kArray: {
      nlohmann::json out = nlohmann::json::array();
      for (const SourceNode& child : node.children) out.push_back(json_of(child));
      return out;
    }
    case Kind::kObject: {
      nlohmann::json out = nlohmann::json::object();
      for (const SourceNode& child : node.children) out[child.key] = json_of(child);
      return out;
    }
  }
  return nullptr;
}

void note_port_uses(Reader& reader, const SourceNode& node, Draft* draft) {
  constexpr std::string_view kOpening = "${port:";
  size_t at = node.text.find(kOpening);
  while (at != std::string::npos) {
    const size_t end = node.text.find('}', at);
    if (end == std::string::npos) {
      reader.error(reader.offset_in(node, at), "'${port:' without its closing '}'");
      return;
    }
    const size_t begin = at + kOpening.size();
    draft->port_uses.push_back({reader.offset_in(node, at), node.text.substr(begin, end - begin)});
    at = node.text.find(kOpening, end);
  }
}

void read_command(Reader& reader, const SourceNode& node, std::string_view what, Draft* draft,
                  Command* out) {
  const std::string name(what);
  if (node.kind == Kind::kString) {
    const auto text = reader.text(node, what);
    if (!text) return;
    if (text->find_first_not_of(" \t\n") == std::string::npos) {
      reader.error(node.offset, name + " is empty");
      return;
    }
    note_port_uses(reader, node, draft);
    out->argv = {"/bin/sh", "-c", *text};
    return;
  }
  if (node.kind != Kind::kArray) {
    reader.error(node.offset,
                 name + ": expected text that the shell runs, or an array of arguments, found " +
                     std::string(kind_name(node.kind)));
    return;
  }
  for (const SourceNode& child : node.children) {
    const auto argument = reader.text(child, "an argument of " + name);
    if (!argument) continue;
    note_port_uses(reader, child, draft);
    out->argv.push_back(*argument);
  }
  if (node.children.empty() || (!out->argv.empty() && out->argv[0].empty())) {
    reader.error(node.offset, name + " is empty");
    out->argv.clear();
  }
}

void read_environment(Reader& reader, const SourceNode& node, Draft* draft,
                      std::map<std::string, std::string>* out) {
  if (!reader.expect(node, Kind::kObject, "'env'")) return;
  for (const SourceNode& child : node.children) {
    if (child.key.empty() ||
        child.key.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      reader.error(child.key_offset, "'" + child.key + "' cannot be the name of a variable");
      continue;
    }
    const auto value = reader.text(child, "variable '" + child.key + "'");
    if (!value) continue;
    note_port_uses(reader, child, draft);
    if (!out->emplace(child.key, *value).second) {
      reader.error(child.key_offset, "variable '" + child.key + "' is given twice");
    }
  }
}

void read_directory(Reader& reader, const SourceNode& node, const Draft& draft, std::string* out) {
  const auto text = reader.text(node, "'directory'");
  if (!text) return;
  const std::filesystem::path path = std::filesystem::path(draft.config.directory) / *text;
  *out = path.lexically_normal().string();
}

bool read_name(Reader& reader, const SourceNode& node, std::string_view what, std::string* out) {
  // 103 bytes fit into the registration of an agent and into the table of targets.
  constexpr size_t kMaxName = 103;
  const auto text = reader.text(node, what);
  if (!text) return false;
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  if (text->empty() || text->size() > kMaxName ||
      !std::all_of(text->begin(), text->end(), allowed)) {
    reader.error(node.offset, std::string(what) + ": expected 1 to " + std::to_string(kMaxName) +
                                  " letters, digits, '.', '_' or '-'");
    return false;
  }
  *out = *text;
  return true;
}

void read_grpc_name(Reader& reader, const SourceNode& node, std::string* out) {
  const auto text = reader.text(node, "'grpc'");
  if (!text) return;
  const std::string problem = grpc_name_problem(*text);
  if (!problem.empty()) {
    reader.error(node.offset, "'grpc': " + problem +
                                  "; expected package.Service/Method or package.Service, as in "
                                  "\"shop.CartService/GetCart\" ('*' and '?' match)");
    return;
  }
  *out = *text;
}

}  // namespace filibuster::config
