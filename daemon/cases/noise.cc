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

// Tells the lists of which the differing elements are the same ones at other places from the others.
void sort_lists(const std::vector<FieldDifference>& fields, std::set<std::string>* permuted,
                std::set<std::string>* varied) {
  std::map<std::string, std::pair<std::multiset<std::string>, std::multiset<std::string>>> by_shape;
  for (const FieldDifference& each : fields) {
    auto& [recorded, now] = by_shape[shape_of(each.pointer)];
    recorded.insert(each.recorded);
    now.insert(each.now);
  }
  for (const auto& [shape, values] : by_shape) {
    const bool is_permuted = values.first.size() > 1 && values.first == values.second;
    (is_permuted ? permuted : varied)->insert(shape);
  }
}

// How the type of a token is told. Two values of one type have the same, whatever they are.
char type_of_token(std::string_view token) {
  if (token == "{}") return 'o';
  if (token == "[]") return 'l';
  const char first = token.front();
  return first == '"' || first == 'n' || first == 't' ? first : first == 'f' ? 't' : '0';
}

void put_names(const std::vector<std::string>& names, std::vector<std::string>* all) {
  for (const std::string& name : names) {
    if (std::find(all->begin(), all->end(), name) == all->end()) all->push_back(name);
  }
  std::sort(all->begin(), all->end());
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
  CaseSet next = *set;
  for (const NondeterminismRule& rule : varying.masks) put(rule, &next.masks);
  for (const NondeterminismRule& rule : varying.any_type) put(rule, &next.any_type);
  for (const NondeterminismRule& rule : varying.unordered) put(rule, &next.unordered);
  if (auto rules = rules_of(next); !rules) return rules.error();
  put_names(varying.headers, &next.varying_headers);
  put_names(varying.optional_headers, &next.optional_headers);
  *set = std::move(next);
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
  // Whether it is the same call that varies, or chance decides which one is made, is not known.
  if (first.is_moved) return;
  ++replays_[place];
  sort_lists(first.fields, &lists_[place].permuted, &lists_[place].varied);
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

namespace {

std::string answer_of(const Case& of) {
  return "the answer to " + route_of(of.request.method, of.request.target);
}

}  // namespace

// Of header fields of an answer one that varies may be missing, too. One that always has the same value, and is missing at times, is no
// noise.
void Noise::take_headers(const Place& place, std::map<std::string, Seen>* fields,
                         Varying* out) const {
  for (auto& [pointer, seen] : *fields) {
    if (place.call || !pointer.starts_with(kHeaders) || !varies(place, seen)) continue;
    const std::string name = name_in(pointer, kHeaders);
    std::set<std::string> values(seen.values.begin(), seen.values.end());
    values.insert(seen.recorded);
    const bool comes_and_goes = values.erase("") > 0;
    const auto& known = set_.varying_headers;
    const bool has_values =
        values.size() > 1 || std::find(known.begin(), known.end(), name) != known.end();
    if (!has_values) continue;
    const std::string what = answer_of(*seen.of) + ": " + pointer;
    if (!std::exchange(seen.told, true)) {
      out->headers.push_back(name);
      out->words.push_back(what);
    }
    if (comes_and_goes && !std::exchange(seen.told_optional, true)) {
      out->optional_headers.push_back(name);
      out->words.push_back(what + ", which may be missing");
    }
  }
}

void Noise::propose(const Place& place, const std::map<std::string, Seen>& fields,
                    const std::set<std::string>& pointers, Rule as, Varying* out) const {
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
    if (call == nullptr) {
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
    put(rule, as == Rule::kMask      ? &out->masks
              : as == Rule::kAnyType ? &out->any_type
                                     : &out->unordered);
    const std::string where = call == nullptr ? answer_of(of)
                              : is_command
                                  ? rule.method + " " + rule.path + " of " + call->to
                                  : route_of(request.method, request.target) + " of " + call->to;
    out->words.push_back(where + ": " + what +
                         (as == Rule::kMask      ? ""
                          : as == Rule::kAnyType ? ", of any type"
                                                 : ", in any order"));
  }
}

// The list that is without an order by now: the innermost one that was not before, as the pattern of its elements. "": there is none, or
// other elements came as well.
std::string Noise::list_without_order(const Place& place, const Case& of,
                                      const std::string& shape) const {
  const auto rules = rules_of(set_);
  const auto lists = lists_.find(place);
  if (!rules || lists == lists_.end() || !shape.starts_with(kJson) ||
      !lists->second.permuted.contains(shape) || lists->second.varied.contains(shape))
    return "";
  const CallInput entry{Kind::kHttp, of.service, of.request, {}};
  const CallInput& input = place.call ? of.calls[*place.call].input : entry;
  const RequestMasks known = rules->unordered.of(place.call ? of.service : "", input);
  const std::vector<std::string> steps = segments_of(shape.substr(kJson.size() - 1));
  for (size_t depth = steps.size(); depth-- > 0;) {
    if (steps[depth] != "*") continue;
    std::vector<uint64_t> list;
    std::string out = "/json";
    for (size_t i = 0; i < depth; ++i) {
      list.push_back(name_hash(steps[i]));
      out += "/" + steps[i];
    }
    const MaskPlace where = place.call ? MaskPlace::kJson : MaskPlace::kResponse;
    if (!has_elements_masked(known, where, list)) return out + "/*";
  }
  return "";
}

// The elements of a list are one, "/json/items/*/id", where all of them vary, by now, or where they have no order: then the list is a bag
// from now on, and they are masked where others came as well.
std::set<std::string> Noise::with_lists(const Place& place, const Case& of,
                                        const std::set<std::string>& pointers,
                                        std::set<std::string>* unordered) const {
  const auto rules = rules_of(set_);
  if (!rules) return pointers;
  const Fields all = place.call ? input_fields(of.calls[*place.call].input, rules.value())
                                : answer_fields(of.answer, of.request, rules.value());
  std::map<std::string, std::set<std::string>> by_shape;
  for (const std::string& pointer : pointers) by_shape[shape_of(pointer)].insert(pointer);
  const std::map<std::string, Seen>& seen = seen_.at(place);
  const auto lists = lists_.find(place);
  const auto is_varying = [&](const std::string& pointer) {
    const auto field = seen.find(pointer);
    return field != seen.end() && varies(place, field->second);
  };
  std::set<std::string> out;
  for (const auto& [shape, of_shape] : by_shape) {
    if (const std::string list = list_without_order(place, of, shape); !list.empty()) {
      unordered->insert(list);
      continue;
    }
    size_t size = 0, varying = 0;
    for (const Field& field : all) {
      const bool is_of_shape = shape_of(field.pointer) == shape;
      size += is_of_shape ? 1 : 0;
      varying += is_of_shape && is_varying(field.pointer) ? 1 : 0;
    }
    const bool has_no_order = lists != lists_.end() && lists->second.permuted.contains(shape);
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
  std::vector<Place> renumbered;
  for (auto& [place, fields] : seen_) {
    take_headers(place, &fields, &out);
    const Case& of = *fields.begin()->second.of;
    std::set<std::string> varying, unordered, any_type;
    std::set<std::string> of_types;  // those that had several, as pointers and as shapes
    for (auto& [pointer, seen] : fields) {
      const bool has_gone = seen.recorded.empty() ||
                            std::any_of(seen.values.begin(), seen.values.end(),
                                        [](const std::string& each) { return each.empty(); });
      if (has_gone || (!place.call && pointer.starts_with(kHeaders))) continue;
      // It is masked already, and had a type of its own until now.
      if (is_masked_value(seen.recorded) || is_masked_value(seen.values.back())) {
        any_type.insert(pointer);
        continue;
      }
      if (seen.told || !varies(place, seen)) continue;
      varying.insert(pointer);
      if (std::any_of(seen.values.begin(), seen.values.end(), [&of = seen](const auto& each) {
            return type_of_token(each) != type_of_token(of.recorded);
          }))
        of_types.insert({pointer, shape_of(pointer)});
    }
    const std::set<std::string> masked = with_lists(place, of, varying, &unordered);
    for (const std::string& pointer : masked) {
      if (pointer.starts_with(kJson) && of_types.contains(pointer)) any_type.insert(pointer);
    }
    for (const std::string& pointer : varying) fields[pointer].told = true;
    propose(place, fields, masked, Rule::kMask, &out);
    propose(place, fields, any_type, Rule::kAnyType, &out);
    propose(place, fields, unordered, Rule::kUnordered, &out);
    if (!unordered.empty()) renumbered.push_back(place);
  }
  // The elements have other numbers from now on.
  for (const Place& place : renumbered) {
    seen_.erase(place);
    replays_.erase(place);
    lists_.erase(place);
  }
  const auto is_known = [&](const std::string& each) { return !told_.insert(each).second; };
  out.words.erase(std::remove_if(out.words.begin(), out.words.end(), is_known), out.words.end());
  return out;
}

}  // namespace filibuster::cases
