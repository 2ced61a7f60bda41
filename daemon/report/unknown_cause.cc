#include "daemon/report/unknown_cause.h"

#include "daemon/model/caller.h"
#include "daemon/report/call_site_text.h"

namespace filibuster {
namespace {

constexpr std::string_view kNotKnown = "its cause is not known: ";
constexpr std::string_view kOfBackground = "made by a background task of ";
constexpr std::string_view kCausedByUnknown = "caused by an RPC whose own cause is not known";

}  // namespace

std::string why_cause_not_known(const RpcRecord& rpc) {
  if ((rpc.flags & kRpcBackground) != 0) {
    const std::string call =
        rpc.stack_text.empty() ? "it" : "the call at " + call_site_text(rpc.stack_text.front());
    return std::string(kOfBackground) + caller_of(rpc) + ": no request that was seen has led to " +
           call + ", so no fault can be planned there";
  }
  if ((rpc.flags & kRpcAfterGivingUp) != 0) {
    return std::string(kNotKnown) +
           "a client had given up a request before, whose handler may go on";
  }
  return std::string(kNotKnown) +
         "several requests were open, or a background task made it; let the test make one request at a "
         "time, or forward the field x-filibuster (docs/troubleshooting.md)";
}

std::string why_root_not_known(const RpcRecord& rpc) {
  return rpc.cause == Cause::kNone ? why_cause_not_known(rpc) : std::string(kCausedByUnknown);
}

bool says_cause_not_known(std::string_view reason) {
  return reason.starts_with(kNotKnown) || reason.starts_with(kOfBackground) ||
         reason == kCausedByUnknown;
}

}  // namespace filibuster
