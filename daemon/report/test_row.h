// The members of a test that report.json and report.html share (docs/report.md): all but `findings`,
// `reference` and `observed`. Credentials are not redacted yet.
#pragma once

#include <nlohmann/json.hpp>

#include "daemon/model/test_report.h"

namespace filibuster {

nlohmann::ordered_json test_row(const TestReport& test);

}  // namespace filibuster
