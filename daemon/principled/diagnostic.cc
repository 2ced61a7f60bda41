#include "daemon/principled/diagnostic.h"

#include <array>

namespace filibuster::principled {
namespace {

using K = DiagnosticKind;

constexpr std::array kRows = {
    DiagnosticRow{K::kBlockFailed, "block-failed",
                  "A block of the test failed without any fault, or one that no fault can reach."},
    DiagnosticRow{K::kDependencyFailed, "dependency-failed-in-happy-path",
                  "A dependency answered with an error although no fault was injected."},
    DiagnosticRow{K::kCallWithoutStub, "call-without-stub",
                  "A call reached a dependency without a process, and no stub answers it."},
    DiagnosticRow{K::kImpreciseCount, "imprecise-count",
                  "A count is no exact number of calls: 'any' and 'at least once' are refused."},
    DiagnosticRow{K::kStubHasNoCount, "stubbed-rpc-has-no-assertions",
                  "A stub is covered by no exact count, and is not declared read-only."},
    DiagnosticRow{K::kCountDiffers, "stub-count-differs",
                  "Without any fault, a dependency was called more or less often than is stated."},
    DiagnosticRow{
        K::kThrownUnspecified, "thrown-exception-unspecified",
        "The service answers with an error under a fault, and nothing says that it should."},
    DiagnosticRow{
        K::kFailedRpc, "failed-rpc",
        "The fault is declared to end in an error, but the code or the message is another one."},
    DiagnosticRow{K::kSuppressedCode, "suppressed-status-code",
                  "The fault is declared to propagate, but another code or message surfaced."},
    DiagnosticRow{K::kAmbiguousThrowAndPropagation, "ambiguous-throw-and-propagation",
                  "The fault is declared both to throw and to propagate."},
    DiagnosticRow{K::kMissingAssertionForCode, "missing-assertion-for-status-code",
                  "Nothing says what holds when the service answers with this code."},
    DiagnosticRow{K::kOnExceptionFailed, "assertions-for-exception-failed",
                  "What is stated for this code does not hold."},
    DiagnosticRow{K::kStubsDidNotHold, "assertions-did-not-hold-under-error-response",
                  "Under the fault, a dependency was called more or less often than is stated."},
    DiagnosticRow{
        K::kNotDeclaredAgain, "dependency-not-declared-again",
        "A dependency that comes after the fault is neither read-only nor side-effecting for this code."},
    DiagnosticRow{
        K::kNoImpactButThrew, "declared-without-impact-but-threw",
        "The fault is declared to have no impact, but the service answers with an error."},
    DiagnosticRow{
        K::kFaultUnspecified, "injected-fault-unspecified",
        "The service answers with a success under a fault, and nothing says what holds then."},
    DiagnosticRow{K::kOnFaultFailed, "assert-on-fault-failed",
                  "What is stated for this fault does not hold."},
    DiagnosticRow{K::kAssertTestFailed, "assert-test-failed",
                  "The fault is declared to have no impact, but the test's assertions fail."},
    DiagnosticRow{
        K::kAssertTestFailedWithSeveral, "assert-test-failed-with-several-faults",
        "Each fault is declared to have no impact, but together the test's assertions fail."},
    DiagnosticRow{
        K::kThrowDeclaredButSucceeded, "declared-to-throw-but-succeeded",
        "The fault is declared to end in an error, but the service answers with a success."},
    DiagnosticRow{
        K::kNoImpactButFailedTogether, "declared-without-impact-but-failed-in-combination",
        "Each fault is declared to have no impact, but together the service answers with an error."},
    DiagnosticRow{
        K::kAmbiguousHandling, "ambiguous-failure-handling",
        "Several faults have an impact, and nothing says what holds when they come together."},
    DiagnosticRow{K::kUnimplemented, "invoked-rpc-unimplemented",
                  "A dependency answered by itself that it does not know the method."},
    DiagnosticRow{K::kOutsideItsBlock, "used-outside-its-block",
                  "A statement stands in a block in which it means nothing."},
    DiagnosticRow{
        K::kContradiction, "specifications-contradict",
        "Two statements are equally precise, and say different things of the same fault."},
    DiagnosticRow{K::kNotUnderstood, "statement-not-understood",
                  "A statement names what does not exist, or has a form that is not known."},
    DiagnosticRow{K::kSpecificationNeverMatched, "specification-never-matched",
                  "A statement about a fault was true of no execution."},
    DiagnosticRow{K::kStubNeverCalled, "stub-never-called", "No execution called a stub."},
    DiagnosticRow{K::kFaultNotInjected, "planned-fault-not-injected",
                  "A fault that was to be injected was not: the call did not come."},
    DiagnosticRow{K::kNoTimeout, "caller-has-no-timeout",
                  "The service waits for an answer for longer than the hang limit."},
    DiagnosticRow{K::kLeftTheLane, "call-left-the-lane",
                  "All dependencies are declared without a process, and a call went elsewhere."},
    DiagnosticRow{K::kNothingCalled, "nothing-called",
                  "The execute block reached no service, or the service calls no dependency."},
    DiagnosticRow{K::kProgramEnded, "test-ended-in-a-block",
                  "The test's process ended before the block did."},
};
static_assert(kRows.size() == static_cast<size_t>(K::kProgramEnded) + 1);

}  // namespace

std::span<const DiagnosticRow> diagnostic_kinds() {
  return kRows;
}

std::string_view diagnostic_name(DiagnosticKind kind) {
  return kRows[static_cast<size_t>(kind)].name;
}

std::string to_text(const FaultedCall& call) {
  return method_text(call.seen.call) + ": " + call.seen.fault;
}

std::string to_text(const std::vector<FaultedCall>& calls) {
  std::string out;
  for (const FaultedCall& call : calls) out += (out.empty() ? "" : " + ") + to_text(call);
  return out;
}

}  // namespace filibuster::principled
