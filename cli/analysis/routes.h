// Which requests a piece of source serves: the routes of web frameworks, and the methods of gRPC
// services.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/analysis/source.h"

namespace filibuster::analysis {

// The requests that a rule of the configuration can tell apart. Empty members match anything.
struct Endpoint {
  std::string method;  // of HTTP
  std::string path;    // with '*' for what varies
  std::string grpc;    // "shop.CartService/GetCart"
  bool any() const { return method.empty() && path.empty() && grpc.empty(); }
  auto operator<=>(const Endpoint&) const = default;
};

// "/users/<int:id>" (Flask), ":id" (Express), "{id}" (Spring, Go, OpenAPI), "(\\d+)" (cpp-httplib)
// -> "/users/*". A path that matches everything is "".
std::string path_pattern(std::string_view path);

struct Route {
  std::vector<Endpoint> endpoints;
  uint32_t begin = 0, end = 0;  // the tokens of the code that answers; equal: it is elsewhere
  std::string_view handler;     // then the name of the function that answers
};
std::vector<Route> find_routes(const Source& source);

// One method of a service as a .proto file declares it.
struct GrpcMethod {
  std::string package_service;  // "shop.CartService"
  std::string method;           // "GetCart"
};
// "CartService" for shop.CartService.
std::string_view short_name(std::string_view service);

// Short names of the gRPC services that the source implements: class X(CartServiceServicer), class
// X : shop::CartService::Service, extends CartServiceImplBase, RegisterCartServiceServer(...), ...
std::set<std::string> implemented_services(const Source& source);
// The functions that serve `methods`, as routes. If `methods` is empty, the methods of Python's
// servicer classes are found.
std::vector<Route> find_grpc_handlers(const Source& source, const std::set<std::string>& services,
                                      const std::vector<GrpcMethod>& methods);

}  // namespace filibuster::analysis
