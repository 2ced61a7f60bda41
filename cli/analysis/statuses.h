// Statuses as sources write them: 404, HTTPStatus.NOT_FOUND, http.StatusNotFound,
// status::not_found, grpc.StatusCode.NOT_FOUND, codes.NotFound, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/analysis/source.h"

namespace filibuster::analysis {

// What a service can answer with: an HTTP status, or a status of gRPC.
struct Answer {
  bool grpc = false;
  uint16_t code = 0;
  auto operator<=>(const Answer&) const = default;
};
// "status:404", "grpc:NOT_FOUND": as the configuration has it.
std::string fault_text(const Answer& answer);
// 400 to 599, or a code of gRPC other than OK.
bool is_error(const Answer& answer);

// "NOT_FOUND", "NotFound", "not_found" -> 404; 0: none. Names of RFC 9110 and common ones besides.
uint16_t http_status_of(std::string_view name);
// A whole number from 100 to 599.
std::optional<uint16_t> http_status_number(const Token& token);

// A status as a number, or by a constant of the same source (`GONE = 410`).
std::optional<uint16_t> own_status(const Source& source, uint32_t at);
// The places of such statuses that an expression may come to: `error.status || 502`.
std::vector<uint32_t> own_statuses(const Source& source, Span expression);

// A status, written out or by name, that begins at a token and is `size` tokens long.
struct Written {
  Answer answer;
  uint32_t size = 0;
  bool named = false;  // by a constant, not as a number
};
std::optional<Written> status_at(const Source& source, uint32_t at);

// Does something compare with what stands in [begin, end)? That is somebody else's answer.
bool compared(const Source& source, uint32_t begin, uint32_t end);

// "status", "statusCode", "http_status", ...: what people call a status.
bool names_status(std::string_view word);

}  // namespace filibuster::analysis
