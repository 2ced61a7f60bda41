// Faults and findings, for a person. Credentials are redacted.
#pragma once

#include <string>
#include <string_view>

#include "daemon/model/test_report.h"

namespace filibuster {

// "users -> movies  GET /movies/1", "gateway -> cart  shop.CartService/GetCart"; credentials
// redacted. `between` stands between the services and the name of the call.
std::string call_text(const InjectedFault& fault, std::string_view between = "  ");
// `grpc:UNAVAILABLE "no stock"`, "refused (as a reset)"
std::string fault_text(const InjectedFault& fault);
// "connection refused", "answer 503", "no answer (timeout)"; `text` itself if it is no fault specification.
std::string fault_in_words(const std::string& text);

// "the test fails (exit status 1) under 2 faults in combination"
std::string headline(const Finding& finding);
// "accepted until 2026-12-31: waits for the new client", "accepted until 2026-01-31, which is over: ...";
// "" for a new finding.
std::string standing_text(const Finding& finding);
// One finding for a person: faults, call sites, service path, output, replay command.
std::string to_text(const Finding& finding);
// One finding in one line, in the test's own words where its output has any: "test_shop.py::test_order fails: assert 500 == 200 under
// users -> bookings GET /x: refused", else "the test fails (exit status 1) under ...".
std::string to_line(const Finding& finding);

// Findings of one cause stand together: the first is told whole, the others with their faults. A call site is the first frame that tells it from the other call sites of the test,
// then the helper that makes the call.
std::string findings_text(const TestReport& test);

}  // namespace filibuster
