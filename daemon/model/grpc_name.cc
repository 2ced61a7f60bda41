#include "daemon/model/grpc_name.h"

#include "core/grpc/call.h"
#include "core/grpc/name.h"

namespace filibuster {
namespace {

std::string_view without_slash(std::string_view name) {
  return name.starts_with('/') ? name.substr(1) : name;
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
  return grpc::name_matches(name, path);
}

bool grpc_service_matches(std::string_view service, std::string_view path) {
  const auto call = grpc::split_path(path);
  return call && service.find('/') == service.npos && grpc::is_service(service, call->service);
}

bool grpc_method_matches(std::string_view method, std::string_view path) {
  const auto call = grpc::split_path(path);
  if (!call) return false;
  return method.find('/') == method.npos ? method == call->method : grpc_name_matches(method, path);
}

}  // namespace filibuster
