// gRPC methods as people write them in rules and predicates.
//
//   shop.CartService/GetCart    shop.CartService (every method)    shop.*/Get*    *
//   /shop.CartService/GetCart   CartService/GetCart (of any package)
//   shop.CartService.GetCart
#pragma once

#include <string>
#include <string_view>

namespace filibuster {

// "" or what is wrong with the name: "a blank is not allowed".
std::string grpc_name_problem(std::string_view name);
// `path`: "/shop.CartService/GetCart". '*' and '?' match within the service and the method.
bool grpc_name_matches(std::string_view name, std::string_view path);

// `service` as a name of a gRPC service: "shop.CartService", "CartService".
bool grpc_service_matches(std::string_view service, std::string_view path);
// `method` as a name of a gRPC method: "GetCart", or with its service.
bool grpc_method_matches(std::string_view method, std::string_view path);

}  // namespace filibuster
