#include "daemon/report/unexplained.h"

#include <algorithm>
#include <array>

namespace filibuster {
namespace {

struct CauseRow {
  NoConclusion cause;
  std::string_view name, advice;
};
constexpr std::string_view kTellApart =
    "several RPCs have the same execution index: leave fewer parts out of it (`index`, masks), or let "
    "them differ in what they send";
constexpr std::array kCauses = std::to_array<CauseRow>({
    {NoConclusion::kAnswerEnded, "the answer has fewer messages",
     "the fault is for a message (`@3`) that its answer did not have, and the reason says after how many "
     "messages the answer ended (that of a unary call has one): name an earlier message, or restrict "
     "the rule to calls with longer answers"},
    {NoConclusion::kBusyMachine, "a busy machine",
     "the daemon got no processor for a second, so the fault was not injected: run the same command "
     "again while less else runs on this machine"},
    {NoConclusion::kEventsLost, "lost events",
     "a service made RPCs faster than the daemon could read what was reported of them: run the same "
     "command again while less else runs on this machine"},
    {NoConclusion::kNotHeard, "a process that no longer reports",
     "the process runs on without its agent, so its calls are not seen (the reason names it): end it, or "
     "start its service again, and run the same command; if it happens again, set `\"restart\": \"each\"`"},
    {NoConclusion::kOpenBefore, "connections that are older than the session",
     "their requests cannot be followed, and their clients were told to open new ones: run the same "
     "command again, or start these services after the daemon"},
    {NoConclusion::kOtherValues, "values that vary",
     "an RPC came with other values than when it was seen, and comparing executions did not show "
     "which: name them in `nondeterminism` (docs/configuration.md)"},
    {NoConclusion::kStateInService, "state in a service",
     "an RPC that was seen does not come again under the same faults, so a service remembers earlier "
     "executions (a count, a cache, a circuit breaker, rows): `\"restart\": \"each\"` gives it a fresh "
     "start, a `before_execution` hook empties its store"},
    {NoConclusion::kAfterReset, "retries by the library",
     "the client made the failed call again by itself, so what was planned for the next one met "
     "another: switch the library's retries off, or inject statuses there instead of resets and "
     "refusals"},
    {NoConclusion::kAtConnect, "keep-alive",
     "the client keeps its connections, so which call opens one changes from execution to execution: "
     "set `\"restart\": \"each\"`, or switch keep-alive off for the test; instead of `refused`, inject "
     "statuses or `reset`"},
    {NoConclusion::kFirstToConnect, "connections that are opened at once",
     "each call opens a connection of its own, and several do so at about the same time, so which of them a "
     "refusal meets changes from execution to execution: instead of `refused`, inject statuses or `reset`"},
    {NoConclusion::kConnectionEnded, "keep-alive",
     "the server ended a kept connection while the fault was on its way: inject statuses there, or "
     "switch keep-alive off for the test"},
    {NoConclusion::kAnsweredEarly, "an answer before the whole request",
     "the server answered before it had all of the request, as one does that asks for a body "
     "(`Expect: 100-continue`) and does not wait for it, or that refuses it: no answer is left to hold back "
     "when the request is complete. Inject statuses there instead of `:after`, or, where the server usually "
     "waits, run the same command again while less else runs on this machine"},
    {NoConclusion::kNoCertificateCheck, "a check of certificates that is not reached",
     "`tls:certificate-expired` and `tls:unknown-ca` make the client's own check of the certificate fail, and "
     "only OpenSSL's can be made to (docs/tls.md): leave them out for this client, whose check is another or "
     "who makes none; `tls:handshake-timeout` and `tls:closed-without-notify` do not need it"},
    {NoConclusion::kSharedIndex, "RPCs that nothing tells apart", kTellApart},
    {NoConclusion::kCommandInParts, "a command in parts",
     "it is larger than what is kept, or a transaction whose MULTI waits for its own reply (docs/redis.md): no "
     "fault can be injected there; `\"inject\": []` leaves it out"},
    {NoConclusion::kSharedPreliminary, "RPCs that nothing tells apart", kTellApart},
    {NoConclusion::kLateBody, "a body that comes late",
     "a request was sent before its body was known, by which it is told apart: leave the payload out "
     "of the index (`\"index\": {\"payload\": false}`)"},
});
constexpr CauseRow kOther{
    NoConclusion::kOther, "not known",
    "the same faults made another execution each time: the reasons are in "
    "report.json; are RPCs in a race with each other, or with the test's end?"};

const CauseRow& row_of(NoConclusion cause) {
  const auto found = std::find_if(kCauses.begin(), kCauses.end(),
                                  [&](const CauseRow& row) { return row.cause == cause; });
  return found == kCauses.end() ? kOther : *found;
}

}  // namespace

std::string_view what_was_seen(NoConclusion cause) {
  switch (cause) {
    case NoConclusion::kOtherValues:
      return "RPCs like it were issued, with other values each time";
    case NoConclusion::kStateInService:
      return "without this fault it was not issued either, although it had been seen under the other faults";
    case NoConclusion::kAfterReset:
      return "client libraries repeat a call by themselves after a fault such as the one before it";
    case NoConclusion::kFirstToConnect:
      return "its fault is injected where a connection is opened, and another call opened one first";
    case NoConclusion::kAtConnect:
      return "its fault is injected where a connection is opened, and its connection was already open, or "
             "was opened for another call";
    default:
      return "";
  }
}

std::vector<Unexplained> group_by_cause(const std::vector<Skipped>& skipped) {
  std::vector<Unexplained> out;
  for (const Skipped& row : skipped) {
    if (!row.cause) continue;
    const CauseRow& cause = row_of(*row.cause);
    auto group = std::find_if(out.begin(), out.end(), [&](const Unexplained& other) {
      return other.cause == cause.name && other.advice == cause.advice;
    });
    if (group == out.end()) {
      group = out.insert(out.end(), {std::string(cause.name), std::string(cause.advice),
                                     row.what + ": " + row.reason, 0});
    }
    ++group->executions;
  }
  return out;
}

std::string to_line(const Unexplained& group) {
  return std::to_string(group.executions) + (group.executions == 1 ? " execution" : " executions") +
         " without a conclusion, although run twice: " + group.cause + ": " + group.advice +
         "; for example " + group.example;
}

}  // namespace filibuster
