// RPCs and faults, as the tests write them down.
#pragma once

#include <cstdint>
#include <string>

#include "core/fault/fault.h"
#include "daemon/model/execution_record.h"

namespace filibuster::test {

inline RpcRecord rpc_with(RpcOutcome outcome, uint16_t status = 0) {
  RpcRecord rpc;
  rpc.open = false;
  rpc.outcome = outcome;
  rpc.status = status;
  return rpc;
}

inline FaultSpec fault(const std::string& text) {
  return parse_fault(text).value();
}

}  // namespace filibuster::test
