#include "daemon/principled/coaching.h"

#include <algorithm>
#include <functional>

#include "daemon/principled/snippets.h"

namespace filibuster::principled {
namespace {

using Json = nlohmann::json;
using K = DiagnosticKind;

// From the coarsest key to the most precise one.
struct Level {
  KeyChoice choice;
  std::string_view words;
};
constexpr Level kLevels[] = {{{false, false}, "any fault of this method"},
                             {{true, false}, "any fault of this method with these arguments"},
                             {{false, true}, "this fault of this method"},
                             {{true, true}, "this fault of this method with these arguments"}};

std::string all_of(size_t count) {
  static constexpr std::string_view kWords[] = {
      "no fault",        "the one fault",   "both faults",   "all three faults",
      "all four faults", "all five faults", "all six faults"};
  return count < std::size(kWords) ? std::string(kWords[count])
                                   : "all " + std::to_string(count) + " faults";
}

class Coach {
 public:
  Coach(const CoachContext& context, Diagnostic* diagnostic)
      : context_(context), diagnostic_(*diagnostic), snippets_(context.form) {}

  void coach() {
    switch (diagnostic_.kind) {
      case K::kThrownUnspecified:
      case K::kNoImpactButThrew:
      case K::kFailedRpc:
      case K::kSuppressedCode:
      case K::kNoImpactButFailedTogether:
        return thrown();
      case K::kFaultUnspecified:
      case K::kThrowDeclaredButSucceeded:
      case K::kAssertTestFailed:
      case K::kAssertTestFailedWithSeveral:
        return succeeded();
      case K::kAmbiguousHandling:
        return context_.outcome.thrown ? thrown() : succeeded();
      case K::kMissingAssertionForCode:
        return add("say what holds whenever the service answers " + context_.outcome.code,
                   snippets_.on_exception(context_.outcome.code, after_the_fault()));
      case K::kNotDeclaredAgain:
      case K::kStubsDidNotHold:
        return counts();
      default:
        return;
    }
  }

 private:
  void add(const std::string& title, const std::string& snippet) {
    diagnostic_.remedies.push_back({title, snippet});
  }

  // Do all faults that a key of this level would name end as this one did? `*seen`: how many are known.
  bool agrees(const Level& level, const std::function<bool(const SingleOutcome&)>& same,
              size_t* seen) const {
    const FaultedCall& fault = diagnostic_.faults.front();
    const auto key = read_key(key_json(fault.seen, level.choice));
    *seen = 0;
    if (!key) return false;
    for (const SingleOutcome& single : context_.singles) {
      if (!matches(key.value(), single.fault.seen)) continue;
      ++*seen;
      if (!same(single)) return false;
    }
    return true;
  }

  // The levels at which nothing disagrees. Where a coarse key names no more calls and faults than a finer one, the finer one is left out.
  void offer(const std::string& does, const std::function<bool(const SingleOutcome&)>& same,
             const std::function<std::string(const Json&)>& snippet) {
    const FaultedCall& fault = diagnostic_.faults.front();
    int64_t of_coarser = -1;  // that are seen by the level with the same faults, without arguments
    for (const Level& level : kLevels) {
      if (level.choice.arguments && !has_arguments_to_show(fault.seen)) continue;
      size_t seen = 0;
      if (!agrees(level, same, &seen)) {
        if (!level.choice.arguments) of_coarser = -1;
        continue;
      }
      if (level.choice.arguments && of_coarser == static_cast<int64_t>(seen)) continue;
      of_coarser = level.choice.arguments ? -1 : static_cast<int64_t>(seen);
      const std::string known = seen < 2 ? "" : " (" + all_of(seen) + " that were tried end so)";
      add(std::string(level.words) + " " + does + known,
          snippet(key_json(fault.seen, level.choice)));
    }
  }

  std::vector<Json> composite_keys() const {
    std::vector<Json> out;
    const std::vector<FaultedCall>& faults = diagnostic_.faults;
    for (const FaultedCall& fault : faults) {
      // Two calls of one method are told apart by their arguments.
      const bool again = std::any_of(faults.begin(), faults.end(), [&](const FaultedCall& other) {
        return &other != &fault && method_text(other.seen.call) == method_text(fault.seen.call);
      });
      out.push_back(key_json(fault.seen, {again && has_arguments_to_show(fault.seen), false}));
    }
    return out;
  }

  void thrown() {
    const Thrown& outcome = context_.outcome;
    const std::string answers = "ends in " + to_text(outcome);
    if (diagnostic_.faults.size() > 1)
      return add("these faults together end in " + to_text(outcome),
                 snippets_.throws(composite_keys(), outcome.code, outcome.message));
    const auto same = [&](const SingleOutcome& single) {
      return single.outcome.thrown && single.outcome.code == outcome.code &&
             single.outcome.message == outcome.message;
    };
    offer(answers, same,
          [&](const Json& key) { return snippets_.throws({key}, outcome.code, outcome.message); });
    const auto propagates = [](const SingleOutcome& single) {
      return single.outcome.thrown && single.outcome.code == single.fault.code &&
             (single.fault.message.empty() || single.outcome.message == single.fault.message);
    };
    size_t seen = 0;
    if (agrees(kLevels[0], propagates, &seen) && seen > 0)
      add("any fault of this method reaches the caller as it is",
          snippets_.propagates(key_json(diagnostic_.faults.front().seen, {})));
  }

  void succeeded() {
    if (diagnostic_.faults.size() > 1)
      return add("these faults together have assertions of their own",
                 snippets_.on_fault(composite_keys()));
    if (context_.assertions_hold) {
      offer(
          "has no impact: the test's assertions hold",
          [](const SingleOutcome& single) {
            return !single.outcome.thrown && single.assertions_hold;
          },
          [&](const Json& key) { return snippets_.no_impact(key); });
    }
    offer(
        "has assertions of its own",
        [&](const SingleOutcome& single) {
          return !single.outcome.thrown && single.assertions_hold == context_.assertions_hold;
        },
        [&](const Json& key) { return snippets_.on_fault({key}); });
  }

  // Each dependency behind the fault, with the number of its calls in this execution.
  std::vector<CountSnippet> after_the_fault() const {
    std::vector<CountSnippet> out;
    const auto faulted = std::find_if(context_.calls.rbegin(), context_.calls.rend(),
                                      [](const DependencyCall& each) { return each.faulted; });
    const auto place = static_cast<size_t>(context_.calls.rend() - faulted);
    std::vector<std::string> methods;
    for (size_t i = place; i < context_.before.size(); ++i) {
      const stubs::Call& call = context_.before[i].call;
      const std::string method = method_text(call);
      if (std::find(methods.begin(), methods.end(), method) != methods.end()) continue;
      methods.push_back(method);
      const bool is_declared =
          std::any_of(context_.declared_again.begin(), context_.declared_again.end(),
                      [&](const Count& each) { return names_call(each.key, call); });
      if (diagnostic_.kind == K::kNotDeclaredAgain && is_declared) continue;
      const auto count = static_cast<uint64_t>(std::count_if(
          context_.calls.begin(), context_.calls.end(), [&](const DependencyCall& each) {
            return each.reached && method_text(each.call) == method;
          }));
      out.push_back({key_json({call, ""}, {}), count});
    }
    return out;
  }

  void counts() {
    for (const CountSnippet& count : after_the_fault()) {
      const bool is_json = context_.form == "json";
      add("what comes after the fault is called so often and must be" +
              std::string(is_json ? ": into `side_effecting` of that row" : ""),
          snippets_.again(count));
      add("or it only reads, and may be called or not" +
              std::string(is_json ? ": into `read_only` of that row" : ""),
          snippets_.again({count.key, std::nullopt}));
    }
  }

  const CoachContext& context_;
  Diagnostic& diagnostic_;
  const Snippets snippets_;
};

}  // namespace

void coach(const CoachContext& context, Diagnostic* diagnostic) {
  if (!diagnostic->faults.empty()) Coach(context, diagnostic).coach();
}

}  // namespace filibuster::principled
