// Names of gRPC methods as people write them (daemon/model/grpc_name.h has the forms). The agents
// compare with them as well: nothing here allocates.
#pragma once

#include <string_view>

namespace filibuster::grpc {

// `service`: "shop.CartService". '*' and '?' match; a pattern without a package is that of a
// service of any package.
bool is_service(std::string_view pattern, std::string_view service);
// `path`: "/shop.CartService/GetCart". '*' and '?' match within the service and the method.
bool name_matches(std::string_view name, std::string_view path);

}  // namespace filibuster::grpc
