// What principled testing says of a test (dissertation 11.3.4): the names are stable, and stand in every document.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/injected_fault.h"
#include "daemon/principled/key.h"

namespace filibuster::principled {

enum class DiagnosticKind : uint8_t {
  // --- of the happy path ---
  kBlockFailed,
  kDependencyFailed,
  kCallWithoutStub,
  kImpreciseCount,
  kStubHasNoCount,
  kCountDiffers,
  // --- under faults: the service answers with an error ---
  kThrownUnspecified,
  kFailedRpc,
  kSuppressedCode,
  kAmbiguousThrowAndPropagation,
  kMissingAssertionForCode,
  kOnExceptionFailed,
  kStubsDidNotHold,
  kNotDeclaredAgain,
  kNoImpactButThrew,
  // --- under faults: the service answers with a success ---
  kFaultUnspecified,
  kOnFaultFailed,
  kAssertTestFailed,
  kAssertTestFailedWithSeveral,
  kThrowDeclaredButSucceeded,
  kNoImpactButFailedTogether,
  kAmbiguousHandling,
  // --- of the test itself ---
  kUnimplemented,
  kOutsideItsBlock,
  kContradiction,
  kNotUnderstood,
  kSpecificationNeverMatched,
  kStubNeverCalled,
  kFaultNotInjected,
  kNoTimeout,
  kLeftTheLane,
  kNothingCalled,
  kProgramEnded,
};

struct DiagnosticRow {
  DiagnosticKind kind;
  std::string_view name;     // "failed-rpc"
  std::string_view meaning;  // when it is said, as a sentence
};
// In the order of DiagnosticKind.
std::span<const DiagnosticRow> diagnostic_kinds();
std::string_view diagnostic_name(DiagnosticKind kind);

// A call that got a fault, with all that is known of it.
struct FaultedCall {
  SeenCall seen;
  std::string code;     // as which a caller sees it: "UNAVAILABLE", "503", "reset"
  std::string message;  // of a gRPC status, or the body of an HTTP answer
  InjectedFault rpc;
};
// "shop.UserService/GetUser: grpc:UNAVAILABLE"
std::string to_text(const FaultedCall& call);
std::string to_text(const std::vector<FaultedCall>& calls);

// What to write, where the behaviour is meant as it is.
struct Remedy {
  std::string title;
  std::string snippet;  // in the test's language; may be ""
};

struct Diagnostic {
  DiagnosticKind kind;
  std::string text;   // what happened, in whole sentences
  std::string at;     // "FILE:LINE" of the test; "": not known
  std::string trace;  // of a block that failed
  std::vector<FaultedCall> faults;
  std::vector<Remedy> remedies;  // the first one is the most advisable
};

}  // namespace filibuster::principled
