#include "daemon/verbs/principled/results.h"

#include <algorithm>

namespace filibuster {
namespace {

std::string indented(const std::string& text, const char* by) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += by + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

// Where the remedies of a diagnostic belong.
std::string where_to_write(principled::DiagnosticKind kind) {
  using K = principled::DiagnosticKind;
  switch (kind) {
    case K::kCallWithoutStub:
      return " into the stubs of the service or of the test";
    case K::kStubHasNoCount:
      return " where the calls of stubs are asserted (`assert_stubs`)";
    case K::kNotDeclaredAgain:
    case K::kStubsDidNotHold:
      return " where the assertions for this error or fault stand";
    default:
      return " into the block `failure`";
  }
}

}  // namespace

bool PrincipledTest::passed() const {
  return error.empty() && diagnostics.empty() &&
         std::none_of(executions.begin(), executions.end(),
                      [](const PrincipledExecution& each) { return each.diagnostic.has_value(); });
}

uint64_t PrincipledTest::judged() const {
  return static_cast<uint64_t>(std::count_if(executions.begin(), executions.end(),
                                             [](const auto& each) { return !each.ahead; }));
}

std::string advice_of(const principled::Diagnostic& diagnostic) {
  if (diagnostic.remedies.empty()) return "";
  const bool may_be_a_bug =
      !diagnostic.faults.empty() && diagnostic.kind != principled::DiagnosticKind::kCallWithoutStub;
  return (may_be_a_bug ? "First: is this a bug? If so, mend it. If it is meant, write one of these"
                       : "To go on, write") +
         where_to_write(diagnostic.kind) + ":";
}

std::string PrincipledTest::not_begun() const {
  if (!time_over) return "";
  if (executions.empty()) return "not begun, since the time of --max-time was over";
  return std::to_string(left) + (left == 1 ? " known one" : " known ones") +
         " not begun, since the time of --max-time was over";
}

std::string diagnostic_text(const principled::Diagnostic& diagnostic) {
  std::string out = std::string(diagnostic_name(diagnostic.kind)) + ": " + diagnostic.text + "\n";
  if (!diagnostic.at.empty()) out += "  at " + diagnostic.at + "\n";
  for (const principled::FaultedCall& fault : diagnostic.faults) {
    out += "  fault: " + to_text(fault);
    if (!fault.seen.call.arguments.is_null())
      out += " " + fault.seen.call.arguments.dump(-1, ' ', false,
                                                  nlohmann::json::error_handler_t::replace);
    if (!fault.rpc.call_site.empty()) out += ", called at " + fault.rpc.call_site;
    out += "\n";
  }
  if (!diagnostic.trace.empty()) out += indented(diagnostic.trace, "  | ");
  if (diagnostic.remedies.empty()) return out;
  out += advice_of(diagnostic) + "\n";
  for (size_t i = 0; i < diagnostic.remedies.size(); ++i) {
    const principled::Remedy& each = diagnostic.remedies[i];
    out +=
        "  " + std::to_string(i + 1) + ". " + each.title + "\n" + indented(each.snippet, "     ");
  }
  return out;
}

}  // namespace filibuster
