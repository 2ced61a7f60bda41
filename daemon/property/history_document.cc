#include "daemon/property/history_document.h"

#include <algorithm>
#include <set>

#include "core/text/shortened.h"

namespace filibuster::property {
namespace {

using Ordered = nlohmann::ordered_json;
using linear::Verdict;

constexpr size_t kShownSteps = 10;     // of an order, its last ones
constexpr size_t kShownProblems = 20;  // of a check in one pass
constexpr size_t kShownLines = 10;     // of a problem
constexpr size_t kShownState = 200;    // bytes of a state in a line

const char* verdict_name(Verdict verdict) {
  return verdict == Verdict::kLinearisable ? "linearisable"
         : verdict == Verdict::kNot        ? "not linearisable"
                                           : "unknown";
}

std::string counted(size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string short_text(const nlohmann::json& state) {
  return shortened(json_text(state), kShownState);
}

Ordered order_json(const Order& order) {
  return {{"calls", order.calls},
          {"states", order.states},
          {"stuck", order.stuck ? Ordered(*order.stuck) : Ordered()}};
}

Ordered part_json(const CheckedPart& part) {
  Ordered orders = Ordered::array();
  for (const Order& each : part.orders) orders.push_back(order_json(each));
  return {{"key", part.key},         {"verdict", verdict_name(part.verdict)},
          {"why", part.why},         {"calls", part.calls},
          {"initial", part.initial}, {"visited", part.visited},
          {"orders", orders}};
}

// Of a part that is not linearisable: what cannot be placed, and behind what.
std::string why_not(const History& history, const CheckedPart& part) {
  const Order& order = part.orders.front();
  std::string out;
  if (order.stuck) out += "  " + call_text(history.calls[*order.stuck]) + "\n";
  out += "  cannot be placed. The longest order that there is has " +
         std::to_string(order.calls.size()) + " of " + counted(part.calls.size(), "call") +
         (part.key.empty() ? "" : " of '" + part.key + "'") + ", and ends in the state " +
         short_text(order.states.empty() ? part.initial : order.states.back()) + ":\n";
  const size_t first = order.calls.size() > kShownSteps ? order.calls.size() - kShownSteps : 0;
  if (first > 0) out += "    ... " + counted(first, "call") + " before\n";
  for (size_t i = first; i < order.calls.size(); ++i)
    out += "    " + call_text(history.calls[order.calls[i]]) +
           "  (behind it: " + short_text(order.states[i]) + ")\n";
  return out;
}

}  // namespace

Verdict HistoryResults::verdict() const {
  if (!in_one_pass) return checked.verdict;
  return problems.empty() ? Verdict::kLinearisable : Verdict::kNot;
}

Ordered history_json(const HistoryResults& results) {
  Ordered calls = Ordered::array();
  for (const Call& call : results.history->calls) {
    calls.push_back({{"process", call.process},
                     {"f", call.f},
                     {"asked", call.asked},
                     {"answered", call.answered},
                     {"outcome", outcome_name(call.outcome)},
                     {"key", call.key},
                     {"call", call.call},
                     {"end", call.end == linear::kNever ? Ordered() : Ordered(call.end)},
                     {"line", call.line}});
  }
  Ordered parts = Ordered::array(), problems = Ordered::array();
  for (const CheckedPart& part : results.checked.parts) parts.push_back(part_json(part));
  for (const Problem& each : results.problems)
    problems.push_back({{"text", each.text}, {"lines", each.lines}});
  const char* const verdict = results.in_one_pass
                                  ? (results.problems.empty() ? "no problem" : "problems")
                                  : verdict_name(results.verdict());
  return {{"history",
           {{"file", results.file},
            {"model", results.model},
            {"verdict", verdict},
            {"why", results.checked.why},
            {"left_out", results.history->left_out},
            {"visited", results.checked.visited},
            {"not_begun", results.checked.not_begun},
            {"calls", std::move(calls)},
            {"parts", std::move(parts)},
            {"problems", std::move(problems)}}}};
}

std::string history_text(const HistoryResults& results) {
  const History& history = *results.history;
  std::set<std::string> processes;
  for (const Call& call : history.calls) processes.insert(call.process);
  const size_t left_out = results.checked.left_out;
  const std::string of_what =
      " (" + counted(history.calls.size(), "call") + " of " + std::to_string(processes.size()) +
      (processes.size() == 1 ? " process" : " processes") + ", " + results.model +
      (left_out > 0 ? "; left out: " + std::to_string(left_out) + " that changed nothing" : "") +
      ")";
  std::string out = results.file + ": ";
  if (results.in_one_pass) {
    if (results.problems.empty()) return out + "no problem" + of_what + "\n";
    out += counted(results.problems.size(), "problem") + of_what + "\n";
    for (size_t i = 0; i < results.problems.size() && i < kShownProblems; ++i) {
      const std::vector<int>& lines = results.problems[i].lines;
      out += lines.size() == 1 ? "  line " : "  lines ";
      for (size_t k = 0; k < lines.size() && k < kShownLines; ++k)
        out += (k == 0 ? "" : ", ") + std::to_string(lines[k]);
      out += (lines.size() > kShownLines ? ", ...: " : ": ") + results.problems[i].text + "\n";
    }
    if (results.problems.size() > kShownProblems)
      out += "  ... and " + std::to_string(results.problems.size() - kShownProblems) +
             " further ones (--json has all)\n";
    return out;
  }
  out += verdict_name(results.verdict());
  if (results.verdict() == Verdict::kUnknown) out += ", since " + results.checked.why;
  out += of_what + "\n";
  for (const CheckedPart& part : results.checked.parts) {
    if (part.verdict == Verdict::kNot) out += why_not(history, part);
    if (part.verdict == Verdict::kUnknown && !part.key.empty())
      out += "  '" + part.key + "': " + part.why + "\n";
  }
  if (results.checked.not_begun > 0)
    out += "  " + counted(results.checked.not_begun, "other key") + " not checked to the end\n";
  return out;
}

}  // namespace filibuster::property
