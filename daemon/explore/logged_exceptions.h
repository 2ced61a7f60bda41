// The exceptions that services logged in an execution.
#pragma once

#include <string>
#include <vector>

#include "daemon/lane/service_logs.h"
#include "daemon/lint/mending.h"
#include "daemon/model/injected_fault.h"

namespace filibuster {

// Those of the faults' callers. Each has the frame of a fault's call stack, where there is one, else its innermost.
std::vector<lint::LoggedException> logged_exceptions(const std::vector<ServiceWrote>& wrote,
                                                     const std::vector<InjectedFault>& faults);
// "gateway logged httpx.ConnectError: All connection attempts failed, at /app/gateway.py:33 (books)"
std::vector<std::string> to_lines(const std::vector<lint::LoggedException>& logged);

}  // namespace filibuster
