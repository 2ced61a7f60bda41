#include "daemon/verbs/principled/methods.h"

#include <algorithm>

#include "core/text/glob.h"

namespace filibuster {
namespace {

// "GET /orders/*"
std::string name_of(const PrincipledOperation& operation) {
  return operation.method + " " + operation.path;
}

bool describes(const std::string& operation, std::string_view method) {
  method = method.substr(0, method.find('?'));
  return std::count(operation.begin(), operation.end(), '/') ==
             std::count(method.begin(), method.end(), '/') &&
         glob_match(operation, method);
}

size_t text_in(const std::string& operation) {
  return operation.size() -
         static_cast<size_t>(std::count(operation.begin(), operation.end(), '*'));
}

bool has(const std::vector<CoveredMethod>& methods, const std::string& service,
         const std::string& method) {
  return std::any_of(methods.begin(), methods.end(), [&](const CoveredMethod& each) {
    return each.service == service && each.method == method;
  });
}

}  // namespace

void MethodCoverage::add(const std::string& service, const std::string& method,
                         const std::string& outcome) {
  std::string name;
  for (const PrincipledOperation& operation : operations_) {
    const std::string other = name_of(operation);
    if (operation.service == service && describes(other, method) &&
        (name.empty() || text_in(other) > text_in(name)))
      name = other;
  }
  if (name.empty()) name = method;
  if (!has(called_, service, name)) called_.push_back({service, name, 0, {}});
  const auto found = std::find_if(called_.begin(), called_.end(), [&](const CoveredMethod& each) {
    return each.service == service && each.method == name;
  });
  ++found->executions;
  std::vector<std::string>& outcomes = found->outcomes;
  if (std::find(outcomes.begin(), outcomes.end(), outcome) == outcomes.end())
    outcomes.push_back(outcome);
}

std::vector<CoveredMethod> MethodCoverage::all(const DescriptorSet& descriptors) const {
  std::vector<CoveredMethod> out = called_;
  const auto add_if_new = [&](const std::string& service, std::string method) {
    if (!has(out, service, method)) out.push_back({service, std::move(method), 0, {}});
  };
  for (const CoveredMethod& each : called_) {
    for (const PrincipledOperation& operation : operations_) {
      if (operation.service == each.service) add_if_new(each.service, name_of(operation));
    }
    const size_t slash = each.method.find('/');
    if (slash == std::string::npos || each.method.find(' ') != std::string::npos) continue;
    for (std::string& method : descriptors.methods_of(each.method.substr(0, slash)))
      add_if_new(each.service, std::move(method));
  }
  return out;
}

}  // namespace filibuster
