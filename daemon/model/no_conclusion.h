// Why an execution allows no conclusion. What is said of a cause, and what to do against it, stands in
// daemon/report/unexplained.cc.
#pragma once

#include <cstdint>
#include <string>

namespace filibuster {

// In order of precedence: of several causes the first one is named. The store keeps their numbers: who changes one,
// changes the major version of its format.
enum class NoConclusion : uint8_t {
  kAnswerEnded,         // "@3", of an answer that has fewer messages
  kBusyMachine,         // the daemon's lease was too old for a fault
  kEventsLost,          // more was reported than was read in time
  kNotHeard,            // a process goes on without its agent
  kOpenBefore,          // connections were open before the session, and are being retired
  kOtherValues,         // the RPC comes with other values each time
  kStateInService,      // the RPC does not come again under the same faults
  kAfterReset,          // the client made the failed call again by itself
  kAtConnect,           // which call opens a connection changes, since connections are kept
  kFirstToConnect,      // several calls open connections at once
  kConnectionEnded,     // the server ended the connection first
  kAnsweredEarly,       // the server answered before the request was complete
  kNoCertificateCheck,  // the client's check of certificates is not reached, or there is none
  kSharedIndex,         // several RPCs have the index
  kCommandInParts,      // a part was sent before all of it was known
  kSharedPreliminary,   // several requests have the preliminary index
  kLateBody,            // the request was sent before its body was known
  kNotIssued,           // the RPC was not issued, and nothing tells why
  kOther,
};

// A planned fault that did not fire. `text` names it and says why, for a person.
struct NotInjected {
  NoConclusion why = NoConclusion::kOther;
  std::string text;
};

}  // namespace filibuster
