// Errors that a server answers by itself, without any fault, and that the application expects: `create` meets a conflict
// and the application goes on, a look for what is not there yet comes before its creation. Pure.
#pragma once

#include <string_view>

#include "daemon/model/execution_record.h"
#include "daemon/retries/groups.h"
#include "daemon/retries/origins.h"

namespace filibuster::retries {

// Does the application go on after the error that the call was answered? It does if what caused the call was answered well,
// or if another call of the application follows. What follows where the test's own code has gone on to something
// else (tearing down what it has set up) does not count: the test has ended by the error then.
bool goes_on_after(const ExecutionRecord& record, const RetryGroup& group, const CodeOwners& owners,
                   std::string_view test);

}  // namespace filibuster::retries
