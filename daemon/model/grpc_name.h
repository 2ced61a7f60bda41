// gRPC methods as people write them in rules and predicates.
//
//   shop.CartService/GetCart    shop.CartService (every method)    shop.*/Get*    *
//   /shop.CartService/GetCart   CartService/GetCart (of any package)
//   shop.CartService.GetCart
#pragma once

#include <string>
#include <string_view>

namespace filibuster {

// What is wrong with the name, as "a blank is not allowed"; "" if nothing is.
std::string grpc_name_problem(std::string_view name);
// `path`: "/shop.CartService/GetCart". '*' and '?' match within the service and the method.
bool grpc_name_matches(std::string_view name, std::string_view path);

// True if `service` names the gRPC service of `path`: "shop.CartService", "CartService".
bool grpc_service_matches(std::string_view service, std::string_view path);
// True if `method` names the gRPC method of `path`: "GetCart", or with its service.
bool grpc_method_matches(std::string_view method, std::string_view path);

}  // namespace filibuster
