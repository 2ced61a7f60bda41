#include "daemon/config/grpc_name.h"

#include "core/grpc/call.h"
#include "core/text/glob.h"

namespace filibuster {
namespace {

std::string_view without_slash(std::string_view name) {
  return name.starts_with('/') ? name.substr(1) : name;
}

// A name without a package is that of a service of any package.
bool is_service(std::string_view pattern, std::string_view service) {
  if (glob_match(pattern, service)) return true;
  const size_t dot = service.rfind('.');
  return pattern.find('.') == pattern.npos && dot != service.npos &&
         glob_match(pattern, service.substr(dot + 1));
}

}  // namespace

std::string grpc_name_problem(std::string_view name) {
  name = without_slash(name);
  if (name.empty()) return "it is empty";
  if (name.find_first_of(" \t\r\n") != name.npos) return "a blank is not allowed";
  const size_t slash = name.rfind('/');
  if (slash == 0) return "the service is missing";
  if (slash != name.npos && slash + 1 == name.size()) return "the method is missing";
  return "";
}

bool grpc_name_matches(std::string_view name, std::string_view path) {
  const auto call = grpc::split_path(path);
  if (!call) return false;
  name = without_slash(name);
  const size_t slash = name.rfind('/');
  if (slash != name.npos) {
    return is_service(name.substr(0, slash), call->service) &&
           glob_match(name.substr(slash + 1), call->method);
  }
  // The full name of a method in Protocol Buffers has a dot in the place of the slash.
  const std::string full = std::string(call->service) + "." + std::string(call->method);
  return is_service(name, call->service) || glob_match(name, full);
}

bool grpc_service_matches(std::string_view service, std::string_view path) {
  const auto call = grpc::split_path(path);
  return call && service.find('/') == service.npos && is_service(service, call->service);
}

bool grpc_method_matches(std::string_view method, std::string_view path) {
  const auto call = grpc::split_path(path);
  if (!call) return false;
  return method.find('/') == method.npos ? method == call->method : grpc_name_matches(method, path);
}

}  // namespace filibuster
