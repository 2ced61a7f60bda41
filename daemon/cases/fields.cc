#include "daemon/cases/fields.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/index/execution_index.h"
#include "core/text/ascii.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "daemon/cases/grpc_body.h"
#include "daemon/report/words.h"
#include "daemon/wire/body_form.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::cases {
namespace {

constexpr std::string_view kMaskedField = "*";
constexpr size_t kMostShown = 80;  // bytes of a value in a message

std::string value_token(std::string_view text) {
  return wire::text_or_bytes(text).dump();
}

// "/a~1b": RFC 6901 §3.
void put_step(std::string* pointer, std::string_view name) {
  *pointer += '/';
  for (const char c : name) {
    if (c == '~') {
      *pointer += "~0";
    } else if (c == '/') {
      *pointer += "~1";
    } else {
      *pointer += c;
    }
  }
}

// What is masked of one request or answer.
struct FieldMasks {
  RequestMasks masked, any_type, unordered;
};

FieldMasks masks_of(const Rules& rules, const std::string& caller, const CallInput& input) {
  return {rules.masks.of(caller, input), rules.any_type.of(caller, input),
          rules.unordered.of(caller, input)};
}

constexpr std::string_view kTypes[] = {"a text",   "a number", "true or false",
                                       "no value", "a list",   "an object"};

std::string_view type_of(const wire::JsonNode& node) {
  if (node.kind != wire::JsonNode::Kind::kScalar)
    return node.kind == wire::JsonNode::Kind::kObject ? "an object" : "a list";
  const char first = node.token.empty() ? 'n' : node.token.front();
  if (first == '"') return "a text";
  return first == 'n' ? "no value" : first == 't' || first == 'f' ? "true or false" : "a number";
}

// Makes the fields of one request or answer.
class FieldWriter {
 public:
  FieldWriter(const FieldMasks* masks, MaskPlace json, MaskPlace form)
      : masks_(masks), json_(json), form_(form) {}

  void put(std::string pointer, std::string value) {
    out_.push_back({std::move(pointer), std::move(value)});
  }

  void json(const wire::JsonNode& node) {
    names_.clear();
    std::string pointer = "/json";
    node_fields(node, &pointer);
  }

  // "a=1&b=2" of a query or a form. A name that comes again has a number.
  void pairs(std::string_view text, const std::string& place, MaskPlace mask) {
    std::map<std::string, size_t> met;
    while (!text.empty()) {
      const size_t end = std::min(text.find('&'), text.size());
      const std::string_view pair = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (pair.empty()) continue;
      const size_t equals = pair.find('=');
      const std::string name = percent_decoded(pair.substr(0, equals), true);
      std::string pointer = place;
      put_step(&pointer, name);
      if (const size_t number = met[name]++; number != 0)
        put_step(&pointer, std::to_string(number));
      const uint64_t hash = name_hash(name);
      const bool hidden = is_masked(masks_->masked, mask, std::span(&hash, 1));
      put(std::move(pointer), hidden ? std::string(kMaskedField)
                              : equals == std::string_view::npos
                                  ? "\"\""
                                  : value_token(percent_decoded(pair.substr(equals + 1), true)));
    }
  }

  void body(const std::string& bytes, const Headers& headers) {
    if (bytes.empty()) return;
    if (is_grpc(headers)) {
      if (const auto all = grpc_messages(bytes)) return messages(*all);
    }
    if (const auto node = wire::json_body(bytes)) return json(*node);
    if (is_form(headers)) return pairs(bytes, "/form", form_);
    if (auto token = wire::json_token(bytes)) return put("/text", std::move(*token));
    put("/body", bytes_shown(bytes));
  }

  void messages(const std::vector<std::string_view>& all) {
    for (size_t i = 0; i < all.size(); ++i) {
      const bool is_short = all[i].size() <= kMostShown;
      put("/messages/" + std::to_string(i),
          is_short ? value_token(to_base64(all[i])) : bytes_shown(all[i]));
    }
  }

  void headers(const Headers& headers, const std::string& place,
               const std::vector<std::string>* only, const Rules* rules = nullptr) {
    const auto names = [](const std::vector<std::string>* list, const std::string& name) {
      return std::find(list->begin(), list->end(), name) != list->end();
    };
    std::map<std::string, size_t> met;
    for (const auto& [name, value] : headers) {
      std::string lower = name;
      std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
      if (only != nullptr && !names(only, lower)) continue;
      if (rules != nullptr && names(&rules->optional_headers, lower)) continue;
      const bool hidden = rules != nullptr && names(&rules->varying_headers, lower);
      std::string pointer = place;
      put_step(&pointer, lower);
      if (const size_t number = met[lower]++; number != 0)
        put_step(&pointer, std::to_string(number));
      put(std::move(pointer), hidden ? std::string(kMaskedField) : value_token(value));
    }
  }

  // A word of a command, or a command of a transaction.
  void words(const nlohmann::json& value, const std::string& pointer) {
    if (!names_.empty() && is_masked_word()) return put(pointer, std::string(kMaskedField));
    if (!value.is_array()) return put(pointer, value.dump());
    for (size_t i = 0; i < value.size(); ++i) {
      const std::string number = std::to_string(i);
      names_.push_back(name_hash(number));
      words(value[i], pointer + "/" + number);
      names_.pop_back();
    }
  }

  Fields take() { return std::move(out_); }

 private:
  static std::string bytes_shown(std::string_view bytes) {
    return std::to_string(bytes.size()) + " bytes, " + to_hex(hash_text(bytes));
  }

  // "/call/1" is what reports say, and "/1" what it is called where all of `json` is the command.
  bool is_masked_word() const {
    std::vector<uint64_t> whole = {name_hash("call")};
    whole.insert(whole.end(), names_.begin(), names_.end());
    return is_masked(masks_->masked, MaskPlace::kJson, names_) ||
           is_masked(masks_->masked, MaskPlace::kJson, whole);
  }

  void node_fields(const wire::JsonNode& node, std::string* pointer) {
    if (!names_.empty() && is_masked(masks_->masked, json_, names_)) {
      const bool any = is_masked(masks_->any_type, json_, names_);
      return put(*pointer, std::string(any ? kMaskedField : type_of(node)));
    }
    const bool object = node.kind == wire::JsonNode::Kind::kObject;
    if (node.kind == wire::JsonNode::Kind::kScalar) return put(*pointer, canonical(node.token));
    if (node.children.empty()) return put(*pointer, object ? "{}" : "[]");
    if (!object && has_elements_masked(masks_->unordered, json_, names_))
      return bag_fields(node, *pointer);
    const size_t size = pointer->size();
    for (size_t i = 0; i < node.children.size(); ++i) {
      const wire::JsonNode& child = node.children[i];
      const std::string name = object ? wire::json_token_text(child.key) : std::to_string(i);
      put_step(pointer, name);
      names_.push_back(name_hash(name));
      node_fields(child, pointer);
      names_.pop_back();
      pointer->resize(size);
    }
  }

  // The elements of a list, in the order of what is in them.
  void bag_fields(const wire::JsonNode& node, const std::string& pointer) {
    std::vector<std::pair<std::string, Fields>> elements;  // by all that is in them
    for (size_t i = 0; i < node.children.size(); ++i) {
      Fields before = std::exchange(out_, {});
      std::string inside;
      names_.push_back(name_hash(std::to_string(i)));
      node_fields(node.children[i], &inside);
      names_.pop_back();
      std::string text;
      for (const Field& each : out_) text += each.pointer + " " + each.value + "\n";
      elements.emplace_back(std::move(text), std::exchange(out_, std::move(before)));
    }
    std::sort(elements.begin(), elements.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < elements.size(); ++i) {
      for (Field& each : elements[i].second)
        put(pointer + "/" + std::to_string(i) + each.pointer, std::move(each.value));
    }
  }

  static std::string canonical(const std::string& token) {
    if (token.find('\\') == std::string::npos) return token;
    return value_token(wire::json_token_text(token));
  }

  static bool is_form(const Headers& headers) {
    return std::any_of(headers.begin(), headers.end(), [](const auto& each) {
      return equal_ignoring_case(each.first, "content-type") &&
             starts_with_ignoring_case(each.second, "application/x-www-form-urlencoded");
    });
  }

  const FieldMasks* masks_;
  MaskPlace json_, form_;
  std::vector<uint64_t> names_;
  Fields out_;
};

std::string masked_path(std::string_view path, uint64_t segments) {
  if (segments == 0 || !path.starts_with('/')) return std::string(path);
  std::string out;
  each_segment(path, [&](uint32_t number, std::string_view segment) {
    out += '/';
    out += segment_masked(segments, number) ? "*" : segment;
  });
  return out;
}

// What stands behind the '?' of any form of a target.
std::string_view query_of(std::string_view target) {
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? "" : target.substr(mark + 1);
}

Fields http_fields(const Request& request, const FieldMasks& masks,
                   const std::vector<std::string>& match_headers) {
  FieldWriter out(&masks, MaskPlace::kJson, MaskPlace::kForm);
  out.put("/method", value_token(request.method));
  const std::string_view path = request_path(request.method, request.target);
  // CONNECT has no path, and its target is all that it has.
  out.put("/target",
          value_token(request.method == "CONNECT" ? request.target
                                                  : masked_path(path, masks.masked.path_segments)));
  out.pairs(query_of(request.target), "/query", MaskPlace::kQuery);
  out.headers(request.headers, "/headers", &match_headers);
  out.body(request.body, request.headers);
  return out.take();
}

CallInput entry_input(const Request& request, const Rules& rules) {
  CallInput out;
  out.to = rules.service;
  out.http.method = request.method;
  out.http.target = request.target;
  return out;
}

}  // namespace

Result<Rules> rules_of(const CaseSet& set) {
  Rules out{set.service, set.match_headers, {}, set.varying_headers, set.optional_headers};
  for (const auto& [masks, from] : {std::pair(&out.masks, &set.masks),
                                    {&out.any_type, &set.any_type},
                                    {&out.unordered, &set.unordered}}) {
    auto compiled = Masks::compile(*from);
    if (!compiled) return compiled.error();
    *masks = std::move(compiled).value();
  }
  return out;
}

Fields input_fields(const CallInput& input, const Rules& rules) {
  const FieldMasks masks = masks_of(rules, rules.service, input);
  if (input.kind == Kind::kHttp) return http_fields(input.http, masks, rules.match_headers);
  FieldWriter out(&masks, MaskPlace::kJson, MaskPlace::kForm);
  nlohmann::json command = input.command;
  if (command.is_array() && !command.empty()) command[0] = command_name(command);
  out.words(command, "/call");
  return out.take();
}

Fields entry_fields(const Request& request, const Rules& rules) {
  const FieldMasks masks = masks_of(rules, "", entry_input(request, rules));
  return http_fields(request, masks, rules.match_headers);
}

Fields answer_fields(const Answer& answer, const Request& request, const Rules& rules) {
  const FieldMasks masks = masks_of(rules, "", entry_input(request, rules));
  FieldWriter out(&masks, MaskPlace::kResponse, MaskPlace::kResponse);
  if (answer.status != 0) out.put("/status", std::to_string(answer.status));
  if (answer.silence) out.put("/silence", "true");
  if (answer.ends != Ends::kNone)
    out.put("/ends", answer.ends == Ends::kReset ? "\"reset\"" : "\"closed\"");
  if (answer.stream_error) out.put("/stream_error", std::to_string(*answer.stream_error));
  out.headers(answer.headers, "/headers", nullptr, &rules);
  out.body(answer.body, answer.headers);
  out.headers(answer.trailers, "/trailers", nullptr);
  return out.take();
}

bool is_masked_value(std::string_view value) {
  return value == kMaskedField ||
         std::find(std::begin(kTypes), std::end(kTypes), value) != std::end(kTypes);
}

Hash128 hash_of(Fields fields) {
  std::stable_sort(fields.begin(), fields.end(),
                   [](const Field& a, const Field& b) { return a.pointer < b.pointer; });
  Hash128 out;
  for (const Field& field : fields)
    out = combine(combine(out, hash_text(field.pointer)), hash_text(field.value));
  return out;
}

std::vector<FieldDifference> differences(const Fields& recorded, const Fields& now) {
  // A member that an object has twice is two fields of one place.
  std::multimap<std::string_view, const Field*> left;
  for (const Field& field : now) left.emplace(field.pointer, &field);
  std::vector<FieldDifference> out;
  for (const Field& field : recorded) {
    const auto found = left.find(field.pointer);
    if (found == left.end()) {
      out.push_back({field.pointer, field.value, ""});
      continue;
    }
    if (found->second->value != field.value)
      out.push_back({field.pointer, field.value, found->second->value});
    left.erase(found);
  }
  for (const Field& field : now) {
    const auto [first, last] = left.equal_range(field.pointer);
    const auto same =
        std::find_if(first, last, [&](const auto& each) { return each.second == &field; });
    if (same != last) out.push_back({field.pointer, "", field.value});
  }
  return out;
}

std::string to_text(const std::vector<FieldDifference>& differences, size_t most) {
  std::string out;
  for (size_t i = 0; i < differences.size() && i < most; ++i) {
    const FieldDifference& each = differences[i];
    if (i != 0) out += "; ";
    out += each.pointer;
    if (each.now.empty()) {
      out += " is missing, it was " + cut(each.recorded, kMostShown);
    } else if (each.recorded.empty()) {
      out += " is new: " + cut(each.now, kMostShown);
    } else {
      out += ": " + cut(each.now, kMostShown) + ", not " + cut(each.recorded, kMostShown);
    }
  }
  if (differences.size() > most)
    out += "; and " + std::to_string(differences.size() - most) + " more";
  return out;
}

}  // namespace filibuster::cases
