// What a test runner has written of each test that it ran: JUnit XML (junit_xml.h), or jest's own JSON.
#pragma once

#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/suite/junit_xml.h"

namespace filibuster::suite {

// The cases in the order of the file. Error: it is neither.
Result<std::vector<JunitCase>> parse_results(std::string_view text);

}  // namespace filibuster::suite
