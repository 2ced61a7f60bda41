// `nondeterminism`: what varies from run to run and takes no part in the identity of an RPC. This file
// reads and writes the rules and compiles them into the table that the agents read (core/index/masks.h).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/config/sections.h"

namespace filibuster {
namespace {

// The names of a JSON pointer, unescaped (RFC 6901): "/a~1b/*" is {"a/b", "*"}.
std::vector<std::string> pointer_names(std::string_view pointer) {
  std::vector<std::string> names;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);  // '/'
    const size_t end = std::min(pointer.find('/'), pointer.size());
    std::string name;
    for (size_t i = 0; i < end; ++i) {
      const bool escape = pointer[i] == '~' && i + 1 < end;
      name += !escape ? pointer[i] : pointer[++i] == '1' ? '/' : '~';
    }
    names.push_back(std::move(name));
    pointer.remove_prefix(end);
  }
  return names;
}

}  // namespace

namespace config {
namespace {

using Kind = SourceNode::Kind;

template <std::string NondeterminismRule::*member>
void read_place(Reader& reader, const SourceNode& node, NondeterminismRule* out) {
  const auto text = reader.text(node, "'" + node.key + "'");
  if (!text) return;
  if (text->empty()) {
    reader.error(node.offset, "'" + node.key + "' is empty; leave it out to match anything");
  }
  out->*member = *text;
}

constexpr Key<NondeterminismRule> kPlaceKeys[] = {
    {"service", false, read_place<&NondeterminismRule::service>},
    {"method", false, read_place<&NondeterminismRule::method>},
    {"path", false,
     [](Reader& reader, const SourceNode& node, NondeterminismRule* out) {
       read_place<&NondeterminismRule::path>(reader, node, out);
       if (out->path.size() > kMaxMaskPattern) {
         reader.error(node.offset, "'path': at most " + std::to_string(kMaxMaskPattern) + " bytes");
       } else if (out->path.find('?') == 0 || out->path.find("://") != std::string::npos) {
         reader.error(node.offset, "'path': expected a path such as \"/orders/*\"");
       }
     }},
    {"caller", false, read_place<&NondeterminismRule::caller>},
    {"grpc", false,
     [](Reader& reader, const SourceNode& node, NondeterminismRule* out) {
       read_grpc_name(reader, node, &out->grpc);
       if (out->grpc.size() > kMaxMaskPattern) {
         reader.error(node.offset, "'grpc': at most " + std::to_string(kMaxMaskPattern) + " bytes");
       }
     }},
};

// Calls `add` for each text of a list, or once if the value is a text itself.
template <typename Add>
void each_text(Reader& reader, const SourceNode& node, Add add) {
  const std::string what = "'" + node.key + "'";
  if (node.kind == Kind::kString) return add(node);
  if (!reader.expect(node, Kind::kArray, what)) return;
  for (const SourceNode& child : node.children) {
    if (reader.expect(child, Kind::kString, "an element of " + what)) add(child);
  }
}

void add_once(Reader& reader, const SourceNode& node, std::vector<std::string>* list) {
  if (std::find(list->begin(), list->end(), node.text) != list->end()) {
    reader.error(node.offset, "'" + node.text + "' is listed twice");
    return;
  }
  list->push_back(node.text);
}

template <std::vector<std::string> NondeterminismRule::*member>
void read_names(Reader& reader, const SourceNode& node, NondeterminismRule* out) {
  each_text(reader, node, [&](const SourceNode& text) {
    if (text.text.empty()) {
      reader.error(text.offset, "'" + node.key + "': a name cannot be empty");
    } else if (text.text == "*") {
      reader.error(text.offset,
                   "'" + node.key + "': \"*\" would mask every value; name those " + "that vary");
    } else {
      add_once(reader, text, &(out->*member));
    }
  });
}

// True if every name of a pointer is a field number, as in "/3/1".
bool are_field_numbers(const std::vector<std::string>& names) {
  return !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return !name.empty() && name.size() <= 9 && name[0] != '0' &&
           name.find_first_not_of("0123456789") == std::string::npos;
  });
}

// With `numbers`, the names of a pointer must be field numbers of a message.
template <std::vector<std::string> NondeterminismRule::*member, bool numbers = false>
void read_pointers(Reader& reader, const SourceNode& node, NondeterminismRule* out) {
  const std::string what = "'" + node.key + "': ";
  each_text(reader, node, [&](const SourceNode& text) {
    const std::string& pointer = text.text;
    const auto names =
        pointer.starts_with('/') ? pointer_names(pointer) : std::vector<std::string>();
    if (pointer.empty() || pointer == "/*") {
      reader.error(text.offset, what + "\"" + pointer +
                                    "\" would mask the whole body; name the fields that vary");
    } else if (numbers && !are_field_numbers(names)) {
      reader.error(text.offset,
                   what + "\"" + pointer + "\" is no path of field numbers such as \"/3/1\"");
    } else if (names.empty()) {
      reader.error(text.offset,
                   what + "expected a JSON pointer such as \"/id\" or \"/items/*/id\"");
    } else if (names.size() > kMaxMaskDepth) {
      reader.error(text.offset, what + "at most " + std::to_string(kMaxMaskDepth) + " names deep");
    } else {
      add_once(reader, text, &(out->*member));
    }
  });
}

void read_segments(Reader& reader, const SourceNode& node, NondeterminismRule* out) {
  const auto add = [&](const SourceNode& child) {
    const auto number = reader.integer(child, "a segment of 'path'", 1, kMaxPathSegments);
    if (!number) return;
    const auto segment = static_cast<uint32_t>(*number);
    auto& list = out->path_segments;
    if (std::find(list.begin(), list.end(), segment) != list.end()) {
      reader.error(child.offset, "segment " + std::to_string(segment) + " is listed twice");
      return;
    }
    list.push_back(segment);
  };
  if (node.kind == Kind::kInteger) return add(node);
  if (!reader.expect(node, Kind::kArray, "'path'")) return;
  for (const SourceNode& child : node.children) add(child);
}

constexpr Key<NondeterminismRule> kMaskKeys[] = {
    {"path", false, read_segments},
    {"query", false, read_names<&NondeterminismRule::query>},
    {"json", false, read_pointers<&NondeterminismRule::json>},
    {"message", false, read_pointers<&NondeterminismRule::message, true>},
    {"form", false, read_names<&NondeterminismRule::form>},
    {"response", false, read_pointers<&NondeterminismRule::response>},
    {"stack", false,
     [](Reader& reader, const SourceNode& node, NondeterminismRule* out) {
       if (const auto on = reader.flag(node, "'stack'")) out->stack = *on;
     }},
};

constexpr Key<NondeterminismRule> kNondeterminismKeys[] = {
    {"on", true,
     [](Reader& reader, const SourceNode& node, NondeterminismRule* out) {
       read_object<NondeterminismRule>(reader, node, "'on'", kPlaceKeys, out);
       if (out->path.empty() || out->grpc.empty()) return;
       const auto path = std::find_if(node.children.begin(), node.children.end(),
                                      [](const SourceNode& child) { return child.key == "path"; });
       reader.error(path->key_offset, "'grpc' says what the path is already; leave out 'path'");
     }},
    {"mask", true,
     [](Reader& reader, const SourceNode& node, NondeterminismRule* out) {
       read_object<NondeterminismRule>(reader, node, "'mask'", kMaskKeys, out);
     }},
};

bool masks_nothing(const NondeterminismRule& rule) {
  return !rule.stack && rule.path_segments.empty() && rule.query.empty() && rule.json.empty() &&
         rule.message.empty() && rule.form.empty() && rule.response.empty();
}

// What is wrong with `mask.path`; "" if nothing is. Each masked segment must have a '*' or '?' in
// `on.path`.
std::string wrong_segments(const NondeterminismRule& rule, bool whole_paths) {
  if (rule.path_segments.empty()) return "";
  if (rule.path.empty()) return "'mask.path' needs 'on.path': which segment is which depends on it";
  std::vector<std::string_view> segments;
  each_segment(rule.path, [&](uint32_t, std::string_view text) { segments.push_back(text); });
  for (const uint32_t number : rule.path_segments) {
    if (number > segments.size()) {
      return "'mask.path': there is no segment " + std::to_string(number) + " in \"" + rule.path +
             "\"; the first one is 1";
    }
    if (segments[number - 1].find_first_of("*?") == std::string_view::npos) {
      return "'mask.path': segment " + std::to_string(number) + " of \"" + rule.path + "\" is '" +
             std::string(segments[number - 1]) + "' and nothing else; write '*' where it varies";
    }
  }
  if (!whole_paths && rule.path_segments.size() == segments.size()) {
    return "'mask.path' would mask the whole path \"" + rule.path +
           "\": nothing would tell one request from another";
  }
  return "";
}

}  // namespace

namespace {

void read_rules(Reader& reader, const SourceNode& node, bool whole_paths, Draft* draft) {
  const std::string what = node.key.empty() ? "nondeterminism" : node.key;
  if (!reader.expect(node, Kind::kArray, "'" + what + "'")) return;
  for (const SourceNode& child : node.children) {
    NondeterminismRule rule;
    rule.line = reader.line_of(child);
    const size_t before = reader.errors();
    read_object<NondeterminismRule>(reader, child, "a rule of '" + what + "'", kNondeterminismKeys,
                                    &rule);
    if (reader.errors() != before) continue;
    if (masks_nothing(rule)) {
      reader.error(child.offset,
                   "'mask' is empty: name what varies (path, query, json, form, message, response "
                   "or stack)");
      continue;
    }
    if (const std::string wrong = wrong_segments(rule, whole_paths); !wrong.empty()) {
      reader.error(child.offset, wrong);
      continue;
    }
    auto& rules = draft->config.nondeterminism;
    rules.push_back(std::move(rule));
    if (const auto table = compile_masks(rules); !table) {
      reader.error(child.offset, table.error().message);
      if (rules.size() > kMaxMaskRules) return;
      rules.pop_back();
    }
  }
}

}  // namespace

void read_nondeterminism(Reader& reader, const SourceNode& node, Draft* draft) {
  read_rules(reader, node, false, draft);
}

void read_masks(Reader& reader, const SourceNode& node, std::vector<NondeterminismRule>* out) {
  Draft draft;
  read_rules(reader, node, true, &draft);
  *out = std::move(draft.config.nondeterminism);
}

}  // namespace config

Result<std::unique_ptr<MaskTable>> compile_masks(const std::vector<NondeterminismRule>& rules) {
  auto table = std::make_unique<MaskTable>();
  const auto hash = [](const std::string& name) {
    return name.empty() ? kAnyName : name_hash(name);
  };
  for (const NondeterminismRule& rule : rules) {
    if (table->rule_count == kMaxMaskRules) {
      return Error{"'nondeterminism': more than " + std::to_string(kMaxMaskRules) + " rules"};
    }
    MaskRule& row = table->rules[table->rule_count];
    row.caller = hash(rule.caller);
    row.service = hash(rule.service);
    row.method = hash(rule.method);
    const std::string& pattern = rule.grpc.empty() ? rule.path : rule.grpc;
    row.pattern_size = static_cast<uint16_t>(std::min(pattern.size(), kMaxMaskPattern));
    std::copy_n(pattern.begin(), row.pattern_size, row.pattern);
    for (const uint32_t number : rule.path_segments) row.path_segments |= 1ull << (number - 1);
    row.flags =
        static_cast<uint16_t>((rule.stack ? kMaskStack : 0) | (rule.grpc.empty() ? 0 : kMaskGrpc));
    row.first_field = static_cast<uint16_t>(table->field_count);
    bool fits = true;
    const auto add = [&](MaskPlace place, const std::vector<std::string>& names) {
      if (table->field_count == kMaxMaskFields || row.field_count == kMaxRequestMasks) {
        fits = false;
        return;
      }
      MaskField& field = table->fields[table->field_count++];
      ++row.field_count;
      field.place = place;
      field.depth = static_cast<uint8_t>(names.size());
      for (size_t i = 0; i < names.size(); ++i) {
        const bool any = names[i] == "*" && place != MaskPlace::kQuery && place != MaskPlace::kForm;
        field.names[i] = any ? kAnyName : name_hash(names[i]);
      }
    };
    for (const std::string& name : rule.query) add(MaskPlace::kQuery, {name});
    for (const std::string& pointer : rule.json) add(MaskPlace::kJson, pointer_names(pointer));
    for (const std::string& pointer : rule.message)
      add(MaskPlace::kMessage, pointer_names(pointer));
    for (const std::string& name : rule.form) add(MaskPlace::kForm, {name});
    for (const std::string& pointer : rule.response) {
      add(MaskPlace::kResponse, pointer_names(pointer));
    }
    if (!fits) {
      return Error{"'nondeterminism': a rule masks at most " + std::to_string(kMaxRequestMasks) +
                   " fields, all rules at most " + std::to_string(kMaxMaskFields)};
    }
    ++table->rule_count;
  }
  return table;
}

std::string to_config_text(const std::vector<NondeterminismRule>& rules) {
  using Json = nlohmann::ordered_json;
  std::string out = "[";
  for (const NondeterminismRule& rule : rules) {
    Json on = Json::object(), mask = Json::object();
    const auto put = [](Json* object, const char* key, const auto& value) {
      if (!value.empty()) (*object)[key] = value;
    };
    put(&on, "caller", rule.caller);
    put(&on, "service", rule.service);
    put(&on, "method", rule.method);
    put(&on, "path", rule.path);
    put(&on, "grpc", rule.grpc);
    put(&mask, "path", rule.path_segments);
    put(&mask, "query", rule.query);
    put(&mask, "json", rule.json);
    put(&mask, "message", rule.message);
    put(&mask, "form", rule.form);
    put(&mask, "response", rule.response);
    if (rule.stack) mask["stack"] = true;
    const Json row{{"on", std::move(on)}, {"mask", std::move(mask)}};
    out += (out.size() > 1 ? ",\n  " : "\n  ") +
           row.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return out + (rules.empty() ? "]" : "\n]");
}

Result<std::vector<NondeterminismRule>> parse_nondeterminism(const std::string& text,
                                                             bool whole_paths) {
  config::Draft draft;
  config::Reader reader(text, "nondeterminism");
  const SourceTree tree = parse_source(text);
  if (tree.error) return Error{"nondeterminism: " + tree.error->message};
  config::read_rules(reader, tree.root, whole_paths, &draft);
  const auto errors = std::move(reader).take();
  if (!errors.empty()) return Error{"nondeterminism: " + errors.front().message};
  return std::move(draft.config.nondeterminism);
}

}  // namespace filibuster
