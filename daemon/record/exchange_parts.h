// What the readers of connections (connection_tape.h) share: sizes of what is kept, and what of a message is not whole.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/wire/http_message.h"

namespace filibuster::record {

inline constexpr size_t kExchangeOverhead = 256;  // of an exchange, beside its bytes

inline size_t size_of(const wire::HttpMessage& message) {
  size_t out = kExchangeOverhead + message.body.size() + message.target.size();
  for (const auto& [name, value] : message.headers) out += name.size() + value.size();
  return out;
}

inline std::string problem_of(const wire::HttpMessage& message) {
  if (message.too_large) return "a message is larger than 4 MiB";
  if (message.unseen != 0)
    return "a part of a body went by unseen (sendfile or splice, docs/preload.md)";
  if (message.upgraded) return "its connection was upgraded to another protocol";
  return "";
}

inline void set_once(std::string* to, const std::string& text) {
  if (to->empty()) *to = text;
}

}  // namespace filibuster::record
