// What people call the parts of an index: in requests, in counterexamples.
#pragma once

#include <cstdint>

#include "core/index/execution_index.h"

namespace filibuster {

struct IndexPartName {
  const char* name;
  uint32_t bit;
};
inline constexpr IndexPartName kIndexPartNames[] = {{"payload", kIndexPayload},
                                                    {"stack", kIndexStack},
                                                    {"count", kIndexCount},
                                                    {"path", kIndexPath}};

}  // namespace filibuster
