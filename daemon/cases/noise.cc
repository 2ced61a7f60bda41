#include "daemon/cases/noise.h"

#include <algorithm>
#include <array>

#include "core/index/execution_index.h"
#include "core/index/masks.h"
#include "core/text/ascii.h"
#include "daemon/cases/identity.h"
#include "daemon/cases/masks.h"
#include "daemon/cases/route.h"
#include "daemon/wire/json_node.h"

namespace filibuster::cases {
namespace {

constexpr std::string_view kJson = "/json/";
constexpr std::string_view kCommand = "/call/";
constexpr std::string_view kHeaders = "/headers/";

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> out;
  each_segment(path, [&](uint32_t, std::string_view segment) { out.emplace_back(segment); });
  return out;
}

// The path of a rule: what names an object may be another one next time.
std::string pattern_of(std::string_view method, const std::string& path) {
  const std::string route = route_of(method, path);
  const std::vector<std::string> parts = segments_of(route.substr(method.size() + 1));
  std::string out;
  for (const std::string& part : parts) out += "/" + (part == "_" ? std::string("*") : part);
  return out;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "/json/items/0/id" as "/json/items/*/id": the same for all elements of a list.
std::string shape_of(std::string_view pointer) {
  std::string out;
  for (const std::string& step : segments_of(pointer)) out += "/" + (is_number(step) ? "*" : step);
  return out;
}

// What a rule has of a pointer of a field (fields.h). "": it is not of this kind.
std::string behind(std::string_view pointer, std::string_view place) {
  return pointer.starts_with(place) ? std::string(pointer.substr(place.size())) : "";
}

// Of "/query/page" and of "/query/page/1" the name, without escapes.
std::string name_in(std::string_view pointer, std::string_view place) {
  const std::string rest = behind(pointer, place);
  std::string out;
  for (size_t i = 0; i < rest.size() && rest[i] != '/'; ++i) {
    const bool escape = rest[i] == '~' && i + 1 < rest.size();
    out += !escape ? rest[i] : rest[++i] == '1' ? '/' : '~';
  }
  return out;
}

// The segments in which the values differ. Empty: they do not have the same number of them.
std::vector<uint32_t> varying_segments(const std::vector<std::string>& tokens) {
  std::vector<uint32_t> out;
  const std::vector<std::string> first = segments_of(wire::json_token_text(tokens.front()));
  for (const std::string& token : tokens) {
    const std::vector<std::string> other = segments_of(wire::json_token_text(token));
    if (other.size() != first.size() || first.size() > kMaxPathSegments) return {};
    for (size_t i = 0; i < first.size(); ++i) {
      const auto number = static_cast<uint32_t>(i + 1);
      if (other[i] != first[i] && std::find(out.begin(), out.end(), number) == out.end())
        out.push_back(number);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string with_any(const std::string& path, const std::vector<uint32_t>& segments) {
  std::string out;
  uint32_t number = 0;
  for (const std::string& part : segments_of(path)) {
    ++number;
    const bool varies = std::find(segments.begin(), segments.end(), number) != segments.end();
    out += "/" + (varies ? std::string("*") : part);
  }
  return out;
}

// "/items/0/id" is one of "/items/*/id", and no pointer is one of itself.
bool is_one_of(const std::string& pointer, const std::string& all) {
  const std::vector<std::string> one = segments_of(pointer), any = segments_of(all);
  if (pointer == all || one.size() != any.size()) return false;
  for (size_t i = 0; i < one.size(); ++i) {
    if (any[i] != "*" && any[i] != one[i]) return false;
  }
  return true;
}

// The lists of which the differing elements are the same ones at other places.
std::set<std::string> permuted_in(const std::vector<FieldDifference>& fields) {
  std::map<std::string, std::pair<std::multiset<std::string>, std::multiset<std::string>>> by_shape;
  for (const FieldDifference& each : fields) {
    auto& [recorded, now] = by_shape[shape_of(each.pointer)];
    recorded.insert(each.recorded);
    now.insert(each.now);
  }
  std::set<std::string> out;
  for (const auto& [shape, values] : by_shape) {
    if (values.first.size() > 1 && values.first == values.second) out.insert(shape);
  }
  return out;
}

// Rules that say the same of the same requests are one.
void put(const NondeterminismRule& rule, std::vector<NondeterminismRule>* out) {
  const auto same = std::find_if(out->begin(), out->end(), [&](const NondeterminismRule& each) {
    return each.caller == rule.caller && each.service == rule.service &&
           each.method == rule.method && each.path == rule.path;
  });
  if (same == out->end()) {
    out->push_back(rule);
    return;
  }
  const auto merge = [](auto* to, const auto& from) {
    for (const auto& each : from) {
      if (std::find(to->begin(), to->end(), each) == to->end()) to->push_back(each);
    }
  };
  merge(&same->path_segments, rule.path_segments);
  merge(&same->query, rule.query);
  merge(&same->form, rule.form);
  merge(&same->json, rule.json);
  merge(&same->response, rule.response);
  for (std::vector<std::string>* pointers : {&same->json, &same->response}) {
    const std::vector<std::string> all = *pointers;
    std::erase_if(*pointers, [&](const std::string& each) {
      return std::any_of(all.begin(), all.end(),
                         [&](const std::string& other) { return is_one_of(each, other); });
    });
  }
}

}  // namespace

Result<void> add(const Varying& varying, CaseSet* set) {
  std::vector<NondeterminismRule> masks = set->masks;
  for (const NondeterminismRule& rule : varying.masks) put(rule, &masks);
  if (auto compiled = Masks::compile(masks); !compiled) return compiled.error();
  set->masks = std::move(masks);
  for (const std::string& name : varying.headers) {
    std::vector<std::string>& all = set->varying_headers;
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  }
  std::sort(set->varying_headers.begin(), set->varying_headers.end());
  return {};
}

// In a replay that ended there and did not tell of the field, and in one that passed, it was as it was recorded.
bool Noise::varies(const Place& place, const Seen& seen) const {
  return passed_.contains(place.file) || seen.values.size() < replays_.at(place) ||
         std::any_of(seen.values.begin(), seen.values.end(),
                     [&](const std::string& each) { return each != seen.values.front(); });
}

void Noise::saw(const Case& of, const Verdict& verdict) {
  if (verdict.judged == Judged::kPassed) passed_.insert(of.file);
  if (verdict.judged != Judged::kDiffers || verdict.differences.empty()) return;
  const Difference& first = verdict.differences.front();
  Place place{of.file, std::nullopt};
  if (first.kind == DifferenceKind::kInput) place.call = first.call;
  const bool is_of_fields =
      first.kind == DifferenceKind::kAnswer || (first.kind == DifferenceKind::kInput && first.call);
  if (!is_of_fields) return;
  ++replays_[place];
  permuted_[place].merge(permuted_in(first.fields));
  for (const FieldDifference& each : first.fields) {
    Seen& seen = seen_[place][each.pointer];
    seen.of = &of;
    seen.recorded = each.recorded;
    seen.values.push_back(each.now);
  }
}

bool Noise::is_open(const Case& of) const {
  return std::any_of(seen_.begin(), seen_.end(), [&](const auto& row) {
    const Place& place = row.first;
    return place.file == of.file &&
           std::any_of(row.second.begin(), row.second.end(), [&](const auto& each) {
             return each.second.values.size() == 1 && !varies(place, each.second);
           });
  });
}

void Noise::propose(const Place& place, const std::map<std::string, Seen>& fields,
                    const std::set<std::string>& pointers, Varying* out) const {
  const Case& of = *fields.begin()->second.of;
  const CallInput* call = place.call ? &of.calls[*place.call].input : nullptr;
  const bool is_command = call != nullptr && call->kind == Kind::kRedis;
  const Request& request = call != nullptr ? call->http : of.request;
  const std::string path(request_path(request.method, request.target));
  for (const std::string& pointer : pointers) {
    NondeterminismRule rule;
    rule.caller = call != nullptr ? of.service : "";
    rule.service = call != nullptr ? call->to : of.service;
    rule.method = is_command ? command_name(call->command) : request.method;
    rule.path = is_command ? command_key_pattern(call->command) : pattern_of(request.method, path);
    std::string what = pointer;
    const bool is_header = call == nullptr && pointer.starts_with(kHeaders);
    if (is_header) {
      out->headers.push_back(name_in(pointer, kHeaders));
    } else if (call == nullptr) {
      if (!pointer.starts_with(kJson)) continue;
      rule.response = {"/" + behind(pointer, kJson)};
    } else if (is_command) {
      // The name of a command is what it is.
      if (!pointer.starts_with(kCommand) || pointer == "/call/0") continue;
      rule.json = {"/" + behind(pointer, kCommand)};
    } else if (pointer == "/target") {
      const Seen& seen = fields.at(pointer);
      std::vector<std::string> tokens = seen.values;
      tokens.push_back(seen.recorded);
      rule.path_segments = varying_segments(tokens);
      if (rule.path_segments.empty()) continue;
      rule.path = with_any(rule.path, rule.path_segments);
      what = "segment";
      for (const uint32_t each : rule.path_segments) what += " " + std::to_string(each);
      what += " of the path";
    } else if (pointer.starts_with("/query/")) {
      rule.query = {name_in(pointer, "/query/")};
    } else if (pointer.starts_with("/form/")) {
      rule.form = {name_in(pointer, "/form/")};
    } else if (pointer.starts_with(kJson)) {
      rule.json = {"/" + behind(pointer, kJson)};
    } else {
      continue;
    }
    if (!is_header) put(rule, &out->masks);
    const std::string where =
        call == nullptr ? "the answer to " + route_of(of.request.method, of.request.target)
        : is_command    ? rule.method + " " + rule.path + " of " + call->to
                        : route_of(request.method, request.target) + " of " + call->to;
    out->words.push_back(where + ": " + what);
  }
}

// The elements of a list are one, "/json/items/*/id", where all of them vary, by now, and where the list has no order.
std::set<std::string> Noise::with_lists(const Place& place, const Case& of,
                                        const std::set<std::string>& pointers) const {
  const auto rules = rules_of(set_);
  if (!rules) return pointers;
  const Fields all = place.call ? input_fields(of.calls[*place.call].input, rules.value())
                                : answer_fields(of.answer, of.request, rules.value());
  std::map<std::string, std::set<std::string>> by_shape;
  for (const std::string& pointer : pointers) by_shape[shape_of(pointer)].insert(pointer);
  const std::map<std::string, Seen>& seen = seen_.at(place);
  const auto permuted = permuted_.find(place);
  const auto is_varying = [&](const std::string& pointer) {
    const auto field = seen.find(pointer);
    return field != seen.end() && varies(place, field->second);
  };
  std::set<std::string> out;
  for (const auto& [shape, of_shape] : by_shape) {
    size_t size = 0, varying = 0;
    for (const Field& field : all) {
      const bool is_of_shape = shape_of(field.pointer) == shape;
      size += is_of_shape ? 1 : 0;
      varying += is_of_shape && is_varying(field.pointer) ? 1 : 0;
    }
    const bool has_no_order = permuted != permuted_.end() && permuted->second.contains(shape);
    if (shape.starts_with(kJson) && size > 1 && (varying == size || has_no_order)) {
      out.insert(shape);
    } else {
      out.insert(of_shape.begin(), of_shape.end());
    }
  }
  return out;
}

Varying Noise::take() {
  Varying out;
  for (auto& [place, fields] : seen_) {
    std::set<std::string> varying;
    for (auto& [pointer, seen] : fields) {
      if (!seen.told && !seen.recorded.empty() && varies(place, seen) &&
          std::none_of(seen.values.begin(), seen.values.end(),
                       [](const std::string& each) { return each.empty(); }))
        varying.insert(pointer);
    }
    if (varying.empty()) continue;
    for (const std::string& pointer : varying) fields[pointer].told = true;
    propose(place, fields, with_lists(place, *fields.begin()->second.of, varying), &out);
  }
  const auto is_known = [&](const std::string& each) { return !told_.insert(each).second; };
  out.words.erase(std::remove_if(out.words.begin(), out.words.end(), is_known), out.words.end());
  return out;
}

}  // namespace filibuster::cases
