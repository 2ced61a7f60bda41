// What came of a faulted call, for people: call by call, and what its client library's documentation says where the library has
// called again by itself. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/execution_record.h"
#include "daemon/retries/groups.h"

namespace filibuster::retries {

// The attempts of the faulted call and the calls that began after it, in the order of their beginning, a line each:
// "cart -> orders POST /orders: reset:after (injected)", "cart -> orders POST /orders, attempt 2: 409". At most
// kMostCalls, and then how many more there were.
constexpr size_t kMostCalls = 8;
std::vector<std::string> calls_since(const ExecutionRecord& record, const RetryGroup& faulted);

// "botocore tries each call 5 times by default ..." where the retry is that of a library that is known (RetriedBy::kLibrary). "": it is
// not, or nothing is known of it.
std::string_view said_of_retries(const ExecutionRecord& record, const RetryGroup& faulted);

}  // namespace filibuster::retries
