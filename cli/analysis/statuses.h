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
// The answer as a fault of the configuration: "status:404", "grpc:NOT_FOUND".
std::string fault_text(const Answer& answer);
// 400 to 599, or a code of gRPC other than OK.
bool is_error(const Answer& answer);

// "NOT_FOUND", "NotFound", "not_found" -> 404; 0 if the name is none of a status.
uint16_t http_status_of(std::string_view name);
// A whole number from 100 to 599.
std::optional<uint16_t> http_status_number(const Token& token);

// The status at a token: a number, or a constant of the same source (`GONE = 410`).
std::optional<uint16_t> own_status(const Source& source, uint32_t at);
// The tokens of such statuses among the values of an expression: `error.status || 502`.
std::vector<uint32_t> own_statuses(const Source& source, Span expression);

// A status, as a number or by name, that begins at a token and is `size` tokens long.
struct Written {
  Answer answer;
  uint32_t size = 0;
  bool named = false;  // by a constant, not as a number
};
std::optional<Written> status_at(const Source& source, uint32_t at);

// True if the status in [begin, end) is compared with something: then it is another service's answer.
bool compared(const Source& source, uint32_t begin, uint32_t end);

// True for "status", "statusCode", "http_status", ...: the names that people give to a status.
bool names_status(std::string_view word);

}  // namespace filibuster::analysis
