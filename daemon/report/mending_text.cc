#include "daemon/report/mending_text.h"

#include <algorithm>

#include "daemon/redact/redact.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

constexpr size_t kMaxMending = 400;  // bytes of a line
constexpr size_t kMaxNumbers = 8;    // of findings, in a line

// "findings 1, 4 and 6"
std::string numbers_of(const std::vector<Finding>& findings, const std::vector<size_t>& places) {
  std::vector<std::string> numbers;
  for (size_t i = 0; i < std::min(places.size(), kMaxNumbers); ++i) {
    const Finding& finding = findings[places[i]];
    numbers.push_back(finding.number > 0 ? std::to_string(finding.number) : finding.id);
  }
  if (places.size() > kMaxNumbers)
    numbers.push_back(std::to_string(places.size() - kMaxNumbers) + " more");
  return (places.size() > 1 ? "findings " : "finding ") + listed_with_and(numbers);
}

}  // namespace

std::string mending_line(const Mending& mending, const std::string& of, const std::string& indent) {
  if (mending.empty()) return "";
  return indent + "what would mend " + of + ": " + cut(redact(to_text(mending)), kMaxMending) +
         "\n";
}

std::string mending_lines(const std::vector<Finding>& findings, const FailureCause& cause,
                          const std::string& indent) {
  std::string out;
  for (const CauseMending& one : mendings_of(findings, cause)) {
    const bool of_all = one.findings.size() == cause.findings.size();
    out += mending_line(one.mending, of_all ? "it" : numbers_of(findings, one.findings), indent);
  }
  return out;
}

}  // namespace filibuster
