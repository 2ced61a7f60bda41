#include "daemon/model/tested_rpcs.h"

namespace filibuster {

void TestedRpcs::add(const TestedRpcs& other) {
  tested.insert(other.tested.begin(), other.tested.end());
  untested.insert(other.untested.begin(), other.untested.end());
  by_configuration.insert(other.by_configuration.begin(), other.by_configuration.end());
  by_bound.insert(other.by_bound.begin(), other.by_bound.end());
}

}  // namespace filibuster
