#include "daemon/principled/key.h"

#include <algorithm>
#include <array>

#include "core/fault/fault.h"
#include "daemon/model/grpc_name.h"
#include "daemon/stubs/choose.h"

namespace filibuster::principled {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 7> kMembers = {"service", "method", "path", "grpc",
                                                      "request", "fields", "fault"};
constexpr char kExpected[] =
    "expected a method such as \"shop.UserService/GetUser\" or \"GET /users/7\", or an object with 'service', 'method', 'path', "
    "'grpc', 'request', 'fields' and 'fault'";

// A key says of a call what a stub says; which protocol it is follows from the call, but for gRPC.
stubs::Stub as_stub(const Key& key, const stubs::Call& call) {
  stubs::Stub out = key.call;
  if (out.kind != stubs::Kind::kGrpc && call.kind != stubs::Kind::kGrpc) out.kind = call.kind;
  return out;
}

Result<void> read_text(const Json& json, const char* name, std::string* out) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) return {};
  if (!found->is_string()) return Error{std::string("'") + name + "': expected a text"};
  *out = found->get<std::string>();
  return {};
}

Result<void> set_grpc(const std::string& name, Key* out) {
  if (const std::string problem = grpc_name_problem(name); !problem.empty())
    return Error{"'" + name + "' is no name of a gRPC method: " + problem};
  out->call.kind = stubs::Kind::kGrpc;
  out->call.path = name;
  return {};
}

// Methods of HTTP and commands of Redis, as they are compared.
std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

Result<Key> read_words(const std::string& text) {
  Key out;
  const size_t blank = text.find(' ');
  if (blank == std::string::npos) {
    if (text.find('/') == std::string::npos) return Error{"'" + text + "': " + kExpected};
    if (auto set = set_grpc(text, &out); !set) return set.error();
    return out;
  }
  out.call.method = in_capitals(text.substr(0, blank));
  out.call.path = text.substr(blank + 1);
  return out;
}

Result<void> read_fields(const Json& json, Key* out) {
  if (!json.is_object()) return Error{"'fields': expected JSON pointers and their values"};
  for (const auto& [pointer, value] : json.items()) {
    // Programs may name a field without its slash.
    out->call.fields.emplace_back(pointer.starts_with('/') ? pointer : "/" + pointer, value);
    try {
      static_cast<void>(Json::json_pointer(out->call.fields.back().first));
    } catch (const Json::exception&) {
      return Error{"'fields': '" + pointer + "' is no JSON pointer"};
    }
  }
  std::sort(out->call.fields.begin(), out->call.fields.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return {};
}

}  // namespace

bool Key::operator==(const Key& other) const {
  return service == other.service && fault == other.fault && call.kind == other.call.kind &&
         call.method == other.call.method && call.path == other.call.path &&
         call.has_whole == other.call.has_whole && call.whole == other.call.whole &&
         call.fields == other.call.fields;
}

Result<Key> read_key(const Json& json) {
  if (json.is_string()) return read_words(json.get<std::string>());
  if (!json.is_object()) return Error{kExpected};
  for (const auto& [name, value] : json.items()) {
    if (std::find(kMembers.begin(), kMembers.end(), name) == kMembers.end())
      return Error{"'" + name + "': " + kExpected};
  }
  Key out;
  std::string grpc, fault;
  for (const auto& [name, text] :
       std::initializer_list<std::pair<const char*, std::string*>>{{"service", &out.service},
                                                                   {"method", &out.call.method},
                                                                   {"path", &out.call.path},
                                                                   {"grpc", &grpc},
                                                                   {"fault", &fault}}) {
    if (auto read = read_text(json, name, text); !read) return read.error();
  }
  if (!grpc.empty() && out.has_method())
    return Error{"a method of gRPC is named by 'grpc' alone, without 'method' and 'path'"};
  out.call.method = in_capitals(std::move(out.call.method));
  if (!grpc.empty()) {
    if (auto set = set_grpc(grpc, &out); !set) return set.error();
  }
  if (!fault.empty()) {
    const bool is_status = fault.find_first_not_of("0123456789") == std::string::npos;
    const auto parsed = parse_fault(is_status ? "status:" + fault : fault);
    if (!parsed) return Error{"'fault': " + parsed.error().message};
    out.fault = filibuster::to_text(parsed.value());
  }
  if (const auto request = json.find("request"); request != json.end() && !request->is_null()) {
    out.call.has_whole = true;
    out.call.whole = *request;
  }
  if (const auto fields = json.find("fields"); fields != json.end() && !fields->is_null()) {
    if (auto read = read_fields(*fields, &out); !read) return read.error();
  }
  if (!out.has_method() && out.service.empty())
    return Error{std::string("a key names a method, or a service at least: ") + kExpected};
  return out;
}

std::string method_text(const stubs::Call& call) {
  stubs::Call plain = call;
  if (call.kind == stubs::Kind::kHttp) plain.path = call.path.substr(0, call.path.find('?'));
  return stubs::to_text(plain);
}

std::string to_text(const Key& key) {
  std::string out = key.call.kind == stubs::Kind::kGrpc ? key.call.path : key.call.method;
  if (key.call.kind != stubs::Kind::kGrpc && !key.call.path.empty())
    out += (out.empty() ? "" : " ") + key.call.path;
  if (out.empty()) out = "any call";
  if (!key.service.empty()) out += " of '" + key.service + "'";
  if (key.call.has_whole) out += " " + key.call.whole.dump();
  if (!key.call.fields.empty()) {
    Json fields = Json::object();
    for (const auto& [pointer, value] : key.call.fields) fields[pointer] = value;
    out += " with " + fields.dump();
  }
  if (!key.fault.empty()) out += " (" + key.fault + ")";
  return out;
}

bool names_call(const Key& key, const stubs::Call& call) {
  if (!key.service.empty() && key.service != call.service) return false;
  const stubs::Stub stub = as_stub(key, call);
  return stubs::choose({&stub, 1}, call).chosen.has_value();
}

bool matches(const Key& key, const SeenCall& seen) {
  return (key.fault.empty() || key.fault == seen.fault) && names_call(key, seen.call);
}

int precision(const Key& key) {
  return (key.has_arguments() ? 2 : 0) + (key.fault.empty() ? 0 : 1);
}

std::vector<size_t> most_precise(const std::vector<const Key*>& keys, const SeenCall& seen) {
  int best = -1;
  std::vector<size_t> at_best;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!matches(*keys[i], seen)) continue;
    const int rank = precision(*keys[i]);
    if (rank > best) at_best.clear();
    best = std::max(best, rank);
    if (rank == best) at_best.push_back(i);
  }
  if (at_best.size() < 2) return at_best;
  // Of equally precise ones the more specific path and arguments count, as with stubs.
  std::vector<stubs::Stub> conditions;
  for (const size_t i : at_best) conditions.push_back(as_stub(*keys[i], seen.call));
  const stubs::Choice choice = stubs::choose(conditions, seen.call);
  if (choice.chosen) return {at_best[*choice.chosen]};
  std::vector<size_t> out;
  for (const size_t i : choice.equal) out.push_back(at_best[i]);
  return out;
}

}  // namespace filibuster::principled
