// Which faults an RPC gets: the first rule that matches it decides, else the default set.
#include <algorithm>

#include "core/resp/commands.h"
#include "core/text/glob.h"
#include "daemon/config/config.h"
#include "daemon/model/grpc_name.h"

namespace filibuster {
namespace {

bool equal_or_absent(const std::string& expected, const std::string& actual) {
  return expected.empty() || expected == actual;
}

std::string describe(const std::vector<FaultSpec>& faults) {
  if (faults.empty()) return "none";
  std::string text;
  for (const FaultSpec& fault : faults) text += (text.empty() ? "" : ", ") + describe_fault(fault);
  return text;
}

bool speaks_redis(const Config& config) {
  return std::any_of(config.services.begin(), config.services.end(),
                     [](const ServiceConfig& one) { return one.protocol == Protocol::kRedis; });
}

bool attaches(const Config& config) {
  return std::any_of(config.services.begin(), config.services.end(),
                     [](const ServiceConfig& one) { return one.is_attached(); });
}

// "refused, timeout, redis:LOADING, and where the command writes redis:READONLY, ..."
std::string describe_redis_defaults() {
  const std::vector<FaultSpec> of_all = default_redis_faults("GET", ""),
                               of_some = default_redis_faults("SET", "");
  const auto more = of_some.begin() + static_cast<std::ptrdiff_t>(of_all.size());
  return describe(of_all) + ", and where the command writes " + describe({more, of_some.end()});
}

}  // namespace

bool rule_matches(const Config& config, const FaultRule& rule, const std::string& caller,
                  const std::string& service, const std::string& method, const std::string& path,
                  Protocol protocol) {
  const bool grpc = protocol == Protocol::kGrpc;
  // The key of a Redis command may contain a '?', which begins no query there.
  const std::string_view whole =
      protocol == Protocol::kRedis ? std::string_view(path) : split_target(path).path;
  const bool test_call = (caller.empty() || caller == "test") && !config.fault_test_calls;
  if (test_call && rule.caller != "test") return false;
  return (equal_or_absent(rule.service, service) ||
          (grpc && grpc_service_matches(rule.service, path))) &&
         (equal_or_absent(rule.method, method) ||
          (grpc && grpc_method_matches(rule.method, path))) &&
         equal_or_absent(rule.caller, caller.empty() ? "test" : caller) &&
         (rule.path.empty() || glob_match(rule.path, whole)) &&
         (rule.grpc.empty() || (grpc && grpc_name_matches(rule.grpc, path)));
}

namespace {

// TLS that nobody decrypts: what can happen to a connection without its keys.
bool fits_sealed(const FaultSpec& fault, bool opens_connection) {
  switch (fault.kind) {
    case FaultKind::kRefused:
      return true;
    case FaultKind::kReset:
    case FaultKind::kTimeout:
      return !fault.after_effect;  // nobody sees where a request ends
    case FaultKind::kLatency:
      return fault.at_message == 0;
    case FaultKind::kTls:
      return opens_connection && (fault.tls == TlsFault::kHandshakeTimeout ||
                                  fault.tls == TlsFault::kClosedWithoutNotify);
    default:
      return false;
  }
}

}  // namespace

bool fault_applies(const FaultSpec& fault, bool http2, Protocol protocol, bool opens_encrypted) {
  if (fault.kind == FaultKind::kAttempts) {
    return std::all_of(fault.attempts.rules.begin(), fault.attempts.rules.end(),
                       [&](const AttemptRule& rule) {
                         // Of a command to Redis nobody knows in time whether its reply is an error.
                         if (rule.outcome.after_effect && protocol == Protocol::kRedis)
                           return false;
                         return rule.outcome.kind == FaultKind::kNone ||
                                fault_applies(rule.outcome, http2, protocol, opens_encrypted);
                       });
  }
  if (protocol == Protocol::kSealed) return fits_sealed(fault, opens_encrypted);
  switch (needs(fault)) {
    case FaultNeeds::kAnyRpc:
      return true;
    case FaultNeeds::kHttp:
      return protocol != Protocol::kRedis;
    case FaultNeeds::kHttpOrRedis:
      return true;
    case FaultNeeds::kHttp1:
      return !http2 && protocol == Protocol::kHttp;
    case FaultNeeds::kHttp2:
      return http2 && protocol != Protocol::kRedis;
    case FaultNeeds::kAnswer:
      return http2 ? protocol == Protocol::kGrpc : protocol == Protocol::kHttp;
    case FaultNeeds::kGrpc:
      return http2 && protocol == Protocol::kGrpc;
    case FaultNeeds::kRedis:
      return protocol == Protocol::kRedis;
    case FaultNeeds::kTls:
      return opens_encrypted;
  }
  return false;
}

std::string_view why_not_applicable(const FaultSpec& fault, Protocol protocol) {
  if (protocol == Protocol::kSealed) {
    return fault.kind == FaultKind::kTls
               ? "it opens no connection, or the fault is in its certificate, and nobody decrypts it"
               : "not tested: encrypted, and nobody decrypts it";
  }
  if (fault.kind == FaultKind::kAttempts) {
    for (const AttemptRule& rule : fault.attempts.rules) {
      if (const std::string_view why = why_not_applicable(rule.outcome, protocol); !why.empty())
        return why;
    }
    return "it is a command to Redis, of which an attempt's fault cannot follow the effect";
  }
  switch (needs(fault)) {
    case FaultNeeds::kAnyRpc:
      break;
    case FaultNeeds::kHttpOrRedis:  // as any RPC that is not sealed
      break;
    case FaultNeeds::kHttp:
      return "it is no HTTP request";
    case FaultNeeds::kHttp1:
      return "it does not go over HTTP/1.1";
    case FaultNeeds::kHttp2:
      return "it does not go over HTTP/2";
    case FaultNeeds::kAnswer:
      return "it is neither a request over HTTP/1.1 nor a gRPC call";
    case FaultNeeds::kGrpc:
      return "it is no gRPC call";
    case FaultNeeds::kRedis:
      return "it is no command to Redis";
    case FaultNeeds::kTls:
      return "it does not open a connection with TLS";
  }
  return "";
}

bool names_library_command(const Config& config) {
  return std::any_of(config.faults.begin(), config.faults.end(), [](const FaultRule& rule) {
    const resp::CommandProperties* command = resp::find_command(rule.method);
    return command != nullptr && command->has(resp::kByLibrary);
  });
}

namespace {

bool is_ignored(const Config& config, const std::string& service) {
  return std::any_of(config.services.begin(), config.services.end(),
                     [&](const ServiceConfig& one) { return one.name == service && one.ignored; });
}

const FaultRule* rule_for(const Config& config, const std::string& caller,
                          const std::string& service, const std::string& method,
                          const std::string& path, Protocol protocol) {
  const auto rule =
      std::find_if(config.faults.begin(), config.faults.end(), [&](const FaultRule& one) {
        return rule_matches(config, one, caller, service, method, path, protocol);
      });
  return rule == config.faults.end() ? nullptr : &*rule;
}

// The test's own calls are not part of the application and are faulted only if asked for. A test that
// is not preloaded has no agent, and its calls have no caller.
bool has_default_set(const Config& config, const std::string& caller) {
  const bool test_call = (caller.empty() || caller == "test") && !config.fault_test_calls;
  return config.default_faults && !test_call;
}

}  // namespace

bool default_set_decides(const Config& config, const std::string& caller,
                         const std::string& service, const std::string& method,
                         const std::string& path, Protocol protocol) {
  return has_default_set(config, caller) && !is_ignored(config, service) &&
         rule_for(config, caller, service, method, path, protocol) == nullptr;
}

std::vector<FaultSpec> faults_for(const Config& config, const std::string& caller,
                                  const std::string& service, const std::string& method,
                                  const std::string& path, Protocol protocol) {
  if (is_ignored(config, service)) return {};
  if (const FaultRule* rule = rule_for(config, caller, service, method, path, protocol))
    return rule->inject;
  if (!has_default_set(config, caller)) return {};
  switch (protocol) {
    case Protocol::kHttp:
      return default_http_faults();
    case Protocol::kGrpc:
      return default_grpc_faults();
    case Protocol::kRedis:
      return default_redis_faults(method, path);
    case Protocol::kSealed:
      return default_sealed_faults();
  }
  return {};
}

std::string describe_fault(const FaultSpec& fault) {
  constexpr size_t kShown = 60;  // bytes of a message or body
  std::string said = fault.message.empty() ? fault.body : fault.message;
  if (said.size() > kShown) {
    size_t end = kShown;
    while (end > 0 && (static_cast<unsigned char>(said[end]) & 0xC0) == 0x80) --end;  // UTF-8
    said = said.substr(0, end) + "...";
  }
  std::replace_if(
      said.begin(), said.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  std::string text = to_text(fault);
  if (!said.empty()) text += " \"" + said + "\"";
  std::string more = fault.details.empty() ? "" : "details";
  for (const auto& [name, value] : fault.headers) more += (more.empty() ? "" : ", ") + name;
  return more.empty() ? text : text + " (with " + more + ")";
}

std::string describe_condition(const FaultRule& rule) {
  std::string line;
  if (!rule.caller.empty()) line += " of " + rule.caller;
  if (!rule.service.empty()) line += " to " + rule.service;
  if (!rule.method.empty()) line += " " + rule.method;
  if (!rule.path.empty()) line += " " + rule.path;
  if (!rule.grpc.empty()) return "gRPC calls" + line + " " + rule.grpc;
  return line.empty() ? "all RPCs" : "RPCs" + line;
}

std::vector<std::string> describe_faults(const Config& config) {
  std::vector<std::string> lines;
  bool all_decided = false;  // a rule without conditions was seen: later rules are never used
  for (const FaultRule& rule : config.faults) {
    std::string line = describe_condition(rule);
    const bool everything = line == "all RPCs";
    if (everything && !lines.empty()) line = "all other RPCs";
    if (all_decided) line += " (never used: an earlier rule decides all)";
    lines.push_back(line + ": " + describe(rule.inject));
    all_decided = all_decided || everything;
  }
  if (!all_decided) {
    const std::string which = config.faults.empty() ? "all" : "all other";
    if (config.default_faults) {
      lines.push_back(which + " HTTP requests: " + describe(default_http_faults()) +
                      " (default set)");
      lines.push_back(which + " gRPC calls: " + describe(default_grpc_faults()) + " (default set)");
      if (attaches(config))
        lines.push_back(which + " encrypted connections of attached services: " +
                        describe(default_sealed_faults()) + " (default set)");
      if (speaks_redis(config))
        lines.push_back(which + " commands to Redis: " + describe_redis_defaults() +
                        " (default set)");
    } else {
      lines.push_back(which + " RPCs: none");
    }
  }
  lines.push_back(std::string("the test's own calls: ") +
                  (config.fault_test_calls ? "the same faults as other RPCs"
                                           : "none, unless a rule names caller 'test'"));
  return lines;
}

}  // namespace filibuster
