// The tree of RPCs, for `filibuster trace`.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/execution_record.h"

namespace filibuster {

std::string tree_text(const std::vector<RpcRecord>& rpcs, bool indexes = true);

}  // namespace filibuster
