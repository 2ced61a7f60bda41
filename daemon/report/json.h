// report.json (docs/report.md).
#pragma once

#include <string>

#include "daemon/model/session_report.h"

namespace filibuster {

// report.json, version 1 (schema in docs/report.md). Credentials are redacted.
std::string to_json(const SessionReport& report);

}  // namespace filibuster
