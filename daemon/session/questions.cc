#include "daemon/session/questions.h"

#include <fnmatch.h>

#include <algorithm>

#include "daemon/model/call_name.h"
#include "daemon/model/grpc_name.h"

namespace filibuster {
namespace {

constexpr size_t kMaxQuestions = 1000;
constexpr size_t kMaxRpcs = 10'000;  // distinct RPCs; with more, no question is named

bool matches(std::string_view wanted, std::string_view value) {
  return wanted.empty() || wanted == value;
}

std::string in_words(const FaultQuery& query) {
  std::string out;
  const auto add = [&out](std::string_view what, const std::string& value) {
    if (value.empty()) return;
    out += (out.empty() ? "" : ", ") + std::string(what) + " '" + value + "'";
  };
  add("service", query.service);
  add("method", query.method);
  add("path", query.path);
  add("gRPC", query.grpc);
  return out;
}

}  // namespace

bool asks_of(const FaultQuery& query, std::string_view service, std::string_view method,
             std::string_view path, Protocol protocol) {
  const bool grpc = protocol == Protocol::kGrpc;
  if (!matches(query.service, service) && !(grpc && grpc_service_matches(query.service, path)))
    return false;
  if (!matches(query.method, method) && !(grpc && grpc_method_matches(query.method, path)))
    return false;
  if (!query.grpc.empty() && !(grpc && grpc_name_matches(query.grpc, path))) return false;
  return query.path.empty() || fnmatch(query.path.c_str(), std::string(path).c_str(), 0) == 0;
}

Questions::Questions(const Config& config) {
  for (const ServiceConfig& service : config.services) configured_.insert(service.name);
}

void Questions::asked(const FaultQuery& query) {
  // A question about a configured service alone is not kept: a helper may ask about every service of
  // the application, also about those that this test never calls.
  const bool by_service_alone = query.method.empty() && query.path.empty() && query.grpc.empty();
  if (by_service_alone && (query.service.empty() || configured_.contains(query.service))) return;
  if (questions_.size() >= kMaxQuestions) return;
  questions_.emplace(query.service, query.method, query.path, query.grpc);
}

void Questions::saw(const ExecutionRecord& record) {
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpcs_.size() >= kMaxRpcs) {
      whole_ = false;
      return;
    }
    rpcs_.emplace(rpc.service, rpc.method, path_of(rpc), rpc.protocol());
  }
}

std::vector<std::string> Questions::unmatched(bool all) const {
  std::vector<std::string> out;
  if (!whole_ || rpcs_.empty()) return out;
  for (const auto& [service, method, path, grpc] : questions_) {
    FaultQuery query;
    query.service = service;
    query.method = method;
    query.path = path;
    query.grpc = grpc;
    const bool known = std::any_of(rpcs_.begin(), rpcs_.end(), [&](const Rpc& rpc) {
      return asks_of(query, std::get<0>(rpc), std::get<1>(rpc), std::get<2>(rpc), std::get<3>(rpc));
    });
    if (known) continue;
    out.push_back("the test asked whether a fault was injected (" + in_words(query) +
                  "), but no RPC that was seen " +
                  (all ? "" : "until the exploration ended at its bound ") +
                  "is meant by that: the answer was always no; is it "
                  "spelled as in `filibuster trace`?");
  }
  return out;
}

}  // namespace filibuster
