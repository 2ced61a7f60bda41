#include "daemon/model/fault_case.h"

namespace filibuster {

std::string_view case_state_name(CaseState state) {
  switch (state) {
    case CaseState::kPassed:
      return "passed";
    case CaseState::kFailed:
      return "failed";
    case CaseState::kInconclusive:
      return "inconclusive";
    case CaseState::kSkipped:
      return "skipped";
  }
  return "";
}

}  // namespace filibuster
