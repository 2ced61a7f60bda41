#include "daemon/stubs/choose.h"

#include <algorithm>
#include <array>

#include "core/text/glob.h"
#include "daemon/model/grpc_name.h"

namespace filibuster::stubs {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostText = 80;  // bytes of a value in a message

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMostText) text = text.substr(0, kMostText) + "...";
  return text;
}

bool is_glob(std::string_view text) {
  return text.find('*') != std::string_view::npos;
}

// '?' stands for itself in the path of a request, where it begins the query.
bool path_matches(const std::string& wanted, std::string_view path) {
  if (wanted.find('?') == std::string::npos) path = path.substr(0, path.find('?'));
  if (!is_glob(wanted)) return wanted == path;
  // glob_match takes '?' for any byte, and so for itself, too.
  return glob_match(wanted, path);
}

bool place_matches(const Stub& stub, const Call& call) {
  if (stub.path.empty()) return true;
  if (stub.kind == Kind::kGrpc) return grpc_name_matches(stub.path, call.path);
  if (stub.kind == Kind::kRedis)
    return is_glob(stub.path) ? glob_match(stub.path, call.path) : stub.path == call.path;
  return path_matches(stub.path, call.path);
}

// What the pointer names; null: there is no such value.
const Json* value_at(const Json& arguments, const std::string& pointer) {
  if (!arguments.is_structured()) return nullptr;
  const Json::json_pointer place(pointer);  // the configuration has checked it
  return arguments.contains(place) ? &arguments.at(place) : nullptr;
}

// 64-bit numbers are texts in the JSON of protobuf, so a number equals its text there.
bool equal(const Stub& stub, const Json& wanted, const Json& found) {
  if (wanted == found) return true;
  if (stub.kind == Kind::kHttp) return false;
  if (wanted.is_object() && found.is_object()) {
    if (wanted.size() != found.size()) return false;
    return std::all_of(wanted.items().begin(), wanted.items().end(), [&](const auto& item) {
      const auto other = found.find(item.key());
      return other != found.end() && equal(stub, item.value(), *other);
    });
  }
  if (wanted.is_array() && found.is_array()) {
    return std::equal(wanted.begin(), wanted.end(), found.begin(), found.end(),
                      [&](const Json& a, const Json& b) { return equal(stub, a, b); });
  }
  if (wanted.is_number() && found.is_string()) return wanted.dump() == found.get<std::string>();
  if (wanted.is_string() && found.is_number()) return found.dump() == wanted.get<std::string>();
  return false;
}

// Member by member where both are objects, so that a person need not compare two long texts.
void add_differences(const Stub& stub, const Json& found, std::vector<std::string>* out) {
  if (!stub.whole.is_object() || !found.is_object()) {
    out->push_back("arguments: " + shown(found) + ", not " + shown(stub.whole));
    return;
  }
  for (const auto& [name, value] : stub.whole.items()) {
    const auto other = found.find(name);
    if (other == found.end()) {
      out->push_back("/" + name + ": missing, not " + shown(value));
    } else if (!equal(stub, value, *other)) {
      out->push_back("/" + name + ": " + shown(*other) + ", not " + shown(value));
    }
  }
  for (const auto& [name, value] : found.items()) {
    if (!stub.whole.contains(name))
      out->push_back("/" + name + ": " + shown(value) + ", not missing");
  }
}

std::vector<std::string> differences(const Stub& stub, const Call& call) {
  std::vector<std::string> out;
  if (stub.kind != call.kind) {
    constexpr std::string_view kWords[] = {"HTTP", "gRPC", "Redis"};
    out.push_back("protocol: " + std::string(kWords[static_cast<size_t>(call.kind)]) + ", not " +
                  std::string(kWords[static_cast<size_t>(stub.kind)]));
    return out;
  }
  if (!stub.method.empty() && stub.method != call.method)
    out.push_back("method: " + call.method + ", not " + stub.method);
  if (!place_matches(stub, call)) out.push_back("path: " + call.path + ", not " + stub.path);
  if (!stub.has_whole && stub.fields.empty()) return out;
  if (!call.problem.empty()) {
    out.push_back("arguments: " + call.problem);
    return out;
  }
  if (stub.has_whole && !equal(stub, stub.whole, call.arguments))
    add_differences(stub, call.arguments, &out);
  for (const auto& [pointer, wanted] : stub.fields) {
    const Json* found = value_at(call.arguments, pointer);
    if (found != nullptr && equal(stub, wanted, *found)) continue;
    out.push_back(pointer + ": " + (found == nullptr ? "missing" : shown(*found)) + ", not " +
                  shown(wanted));
  }
  return out;
}

// Method, path and arguments, each the more the more specific. The fields of two stubs are compared as sets.
struct Specificity {
  int method = 0, path = 0;
  bool whole = false;
  std::vector<std::string> fields;
};

int path_rank(const Stub& stub) {
  if (stub.path.empty()) return 0;
  // The literal bytes of a glob: "/users/*" is more specific than "*".
  if (is_glob(stub.path))
    return 1 + static_cast<int>(std::count_if(stub.path.begin(), stub.path.end(),
                                              [](char c) { return c != '*'; }));
  constexpr int kExact = 1 << 30;
  // With a query it says more than without one.
  return kExact + (stub.kind == Kind::kHttp && stub.path.find('?') != std::string::npos ? 1 : 0);
}

Specificity specificity(const Stub& stub) {
  Specificity out{stub.method.empty() ? 0 : 1, path_rank(stub), stub.has_whole, {}};
  for (const auto& [pointer, value] : stub.fields) out.fields.push_back(pointer);
  std::sort(out.fields.begin(), out.fields.end());
  return out;
}

// -1, 0 or 1; nullopt: each has a field that the other does not have.
std::optional<int> compare_arguments(const Specificity& a, const Specificity& b) {
  if (a.whole != b.whole) return a.whole ? 1 : -1;
  const bool a_has =
      std::includes(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end());
  const bool b_has =
      std::includes(b.fields.begin(), b.fields.end(), a.fields.begin(), a.fields.end());
  if (a_has && b_has) return 0;
  if (a_has) return 1;
  if (b_has) return -1;
  return std::nullopt;
}

bool more_specific(const Specificity& a, const Specificity& b) {
  const auto arguments = compare_arguments(a, b);
  if (!arguments || *arguments < 0 || a.method < b.method || a.path < b.path) return false;
  return *arguments > 0 || a.method > b.method || a.path > b.path;
}

}  // namespace

std::string to_text(const Call& call) {
  if (call.kind == Kind::kGrpc) return call.path.empty() ? call.path : call.path.substr(1);
  return call.path.empty() ? call.method : call.method + " " + call.path;
}

Choice choose(std::span<const Stub> stubs, const Call& call) {
  Choice out;
  std::vector<std::pair<size_t, Specificity>> matching;
  for (size_t i = 0; i < stubs.size(); ++i) {
    std::vector<std::string> differs = differences(stubs[i], call);
    if (differs.empty()) {
      matching.emplace_back(i, specificity(stubs[i]));
    } else if (!out.nearest || differs.size() < out.differences.size()) {
      out.nearest = i;
      out.differences = std::move(differs);
    }
  }
  if (matching.empty()) return out;
  out.nearest.reset();
  out.differences.clear();
  std::vector<size_t> best;
  for (const auto& each : matching) {
    const bool beaten = std::any_of(matching.begin(), matching.end(), [&](const auto& other) {
      return more_specific(other.second, each.second);
    });
    if (!beaten) best.push_back(each.first);
  }
  if (best.size() == 1) {
    out.chosen = best.front();
  } else {
    out.equal = std::move(best);
  }
  return out;
}

std::string why_none(std::span<const Stub> stubs, const Choice& choice, const Call& call) {
  const std::string what = to_text(call);
  if (!choice.equal.empty()) {
    std::string names;
    for (const size_t i : choice.equal) names += (names.empty() ? "" : " and ") + stubs[i].name;
    return "more than one stub answers " + what +
           ", and none of them is the more specific one: " + names;
  }
  if (!choice.nearest) return "no stub of '" + call.service + "' answers " + what + ": it has none";
  std::string differs;
  for (const std::string& each : choice.differences)
    differs += (differs.empty() ? "" : "; ") + each;
  return "no stub of '" + call.service + "' answers " + what + "; the nearest is " +
         stubs[*choice.nearest].name + " (" + differs + ")";
}

std::optional<std::pair<size_t, size_t>> same_conditions(std::span<const Stub> stubs) {
  const auto same = [](const Stub& a, const Stub& b) {
    return a.kind == b.kind && a.method == b.method && a.path == b.path &&
           a.has_whole == b.has_whole && a.whole == b.whole && a.fields == b.fields;
  };
  for (size_t i = 0; i < stubs.size(); ++i) {
    for (size_t k = i + 1; k < stubs.size(); ++k) {
      if (same(stubs[i], stubs[k])) return std::pair{i, k};
    }
  }
  return std::nullopt;
}

}  // namespace filibuster::stubs
