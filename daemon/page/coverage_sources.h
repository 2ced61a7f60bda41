// The sources of the services with what was reached of them, for report.html: of each file its lines,
// and for each line what the executions reached.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/coverage/report.h"
#include "daemon/page/source_excerpts.h"

namespace filibuster {

// The files that are read first are shown: no more lines than these.
inline constexpr size_t kMaxCoverageLines = 40'000;

// {FILE: {"lines": ["def f():", ...], "marks": "rfn.."}}, by the names of the report. `marks` has a
// character for each line: r: reached without faults, f: only under faults, n: never, '.': no
// statement. A file that cannot be read is left out.
nlohmann::ordered_json coverage_sources(const coverage::Report& report, SourceExcerpts* sources);

}  // namespace filibuster
