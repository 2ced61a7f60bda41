#include "daemon/model/verdict.h"

#include <array>

namespace filibuster {

namespace {

struct VerdictRow {
  std::string_view name;
  bool failure;
};
constexpr std::array<VerdictRow, 9> kVerdicts = {{
    {"passed", false},
    {"failed", true},
    {"crashed", true},
    {"test-timeout", true},
    {"plan-not-met", false},
    {"incomplete", false},
    {"not-quiescent", false},
    {"no-timeout", true},
    {"possible-silent-violation", true},  // as the oracle of `filibuster suite`
}};

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  const auto at = static_cast<size_t>(verdict);
  return at < kVerdicts.size() ? kVerdicts[at].name : "unknown";
}

bool is_failure(Verdict verdict) {
  const auto at = static_cast<size_t>(verdict);
  return at < kVerdicts.size() && kVerdicts[at].failure;
}

}  // namespace filibuster
