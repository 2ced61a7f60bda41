// Parses and checks the body of POST /v1/sessions (docs/api.md).
#pragma once

#include <string>

#include "daemon/session/verb.h"

namespace filibuster {

RequestDraft parse_session_request(const std::string& body);

}  // namespace filibuster
