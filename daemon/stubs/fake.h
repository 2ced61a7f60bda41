// What answers the calls of a dependency without a process that none of its stubs answers: a model of the dependency, for one.
#pragma once

#include "core/result.h"
#include "daemon/stubs/stub.h"

namespace filibuster::stubs {

class Fake {
 public:
  virtual ~Fake() = default;
  // An execution begins: the dependency is as it was at first.
  virtual void begin() = 0;
  // Calls come one at a time. Error: it has no answer, and why.
  virtual Result<Answer> answer(const Call& call) = 0;
};

}  // namespace filibuster::stubs
