// Parses and checks the body of POST /v1/sessions (docs/api.md).
#pragma once

#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/session/session.h"

namespace filibuster {

struct ParsedRequest {
  SessionRequest request;
  std::vector<ConfigError> errors;  // empty: valid
};
ParsedRequest parse_session_request(const std::string& body);

}  // namespace filibuster
