#include "core/grpc/name.h"

#include "core/grpc/call.h"
#include "core/text/glob.h"

namespace filibuster::grpc {

bool is_service(std::string_view pattern, std::string_view service) {
  if (glob_match(pattern, service)) return true;
  const size_t dot = service.rfind('.');
  return pattern.find('.') == pattern.npos && dot != service.npos &&
         glob_match(pattern, service.substr(dot + 1));
}

bool name_matches(std::string_view name, std::string_view path) {
  const auto call = split_path(path);
  if (!call) return false;
  if (name.starts_with('/')) name.remove_prefix(1);
  const size_t slash = name.rfind('/');
  if (slash != name.npos) {
    return is_service(name.substr(0, slash), call->service) &&
           glob_match(name.substr(slash + 1), call->method);
  }
  if (is_service(name, call->service)) return true;
  // The full name of a method in Protocol Buffers has a dot in the place of the slash.
  const std::string_view full = path.substr(1);
  const size_t between = call->service.size();
  return glob_match(name, full.size(), [&](size_t i) { return i == between ? '.' : full[i]; });
}

}  // namespace filibuster::grpc
