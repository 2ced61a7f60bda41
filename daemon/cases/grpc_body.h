// Bodies of gRPC: messages, each behind its prefix (gRPC over HTTP/2, "Length-Prefixed-Message").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cases/model.h"

namespace filibuster::cases {

// By its Content-Type.
bool is_grpc(const Headers& headers);
// The messages of a body, without their prefixes. nullopt: one of them is compressed, or cut short,
// or it is none.
std::optional<std::vector<std::string_view>> grpc_messages(std::string_view body);
void put_grpc_message(std::string_view message, std::string* body);

}  // namespace filibuster::cases
