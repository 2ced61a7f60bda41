// The methods of the service under test, and what called them: API coverage of a structured test.
//
//   MethodCoverage methods(operations);
//   methods.add("orders", "GET /orders/7", "a success");   // an execution has called it
//   out = methods.all(*descriptors);                       // with those that nothing called
#pragma once

#include <string>
#include <vector>

#include "daemon/descriptors/descriptor_set.h"
#include "daemon/verbs/principled/request.h"
#include "daemon/verbs/principled/results.h"

namespace filibuster {

class MethodCoverage {
 public:
  explicit MethodCoverage(const std::vector<PrincipledOperation>& operations)
      : operations_(operations) {}

  // `method`: as call_name() has it. One that an operation describes counts as that operation: the one with the most text besides
  // its '*', each of which stands for a part of the path between slashes.
  void add(const std::string& service, const std::string& method, const std::string& outcome);
  // In the order of their first calls, then those that nothing called: the operations of the services that were called, and the
  // other methods of the gRPC services that were called.
  std::vector<CoveredMethod> all(const DescriptorSet& descriptors) const;

 private:
  const std::vector<PrincipledOperation>& operations_;
  std::vector<CoveredMethod> called_;
};

}  // namespace filibuster
