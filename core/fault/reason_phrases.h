// The words of HTTP for its status codes (RFC 9110 §15, RFC 6585, RFC 7725).
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster {

// "Service Unavailable"; "": the status is none of these documents.
std::string_view reason_phrase(uint16_t status);

}  // namespace filibuster
