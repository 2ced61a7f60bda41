#include "daemon/principled/ruling.h"

#include <algorithm>
#include <functional>

namespace filibuster::principled {
namespace {

using K = DiagnosticKind;
using S = SpecificationKind;
using Faults = std::vector<FaultedCall>;

// Statements about one fault: positions in Statements::specifications.
struct OfFault {
  std::vector<size_t> best;                  // the most precise ones; several are equally precise
  std::optional<size_t> throws, propagates;  // whether or not there are more precise ones
};

class Ruler {
 public:
  Ruler(const Statements& statements, const Faults& faults, const Thrown& outcome)
      : statements_(statements), faults_(faults), outcome_(outcome) {}

  Ruling rule() {
    Faults left;
    std::vector<size_t> without_impact;
    // A statement about exactly these faults says more than what could be derived from others.
    const auto composite = composite_of(faults_);
    if (composite) judge(*composite, faults_);
    if (composite || out_.diagnostic) return std::move(out_);
    for (const FaultedCall& fault : faults_) {
      const OfFault of = statements_about(fault);
      if (of.best.size() > 1 && contradicts(of, fault)) return std::move(out_);
      if (!of.best.empty() && kind_of(of.best.front()) == S::kNoImpact) {
        without_impact.push_back(of.best.front());
      } else {
        left.push_back(fault);
      }
    }
    out_.matched = without_impact;
    if (left.empty()) {
      no_impact();
    } else if (left.size() == 1) {
      single(left.front());
    } else if (const auto of_left = composite_of(left)) {
      judge(*of_left, left);
    } else if (!out_.diagnostic) {
      ambiguous(left);
    }
    return std::move(out_);
  }

 private:
  S kind_of(size_t specification) const { return at(specification).kind; }
  const Specification& at(size_t specification) const {
    return statements_.specifications[specification];
  }

  void decide(K kind, const std::string& text, std::optional<size_t> specification = std::nullopt) {
    out_.diagnostic =
        Diagnostic{kind, text, specification ? at(*specification).at : "", "", faults_, {}};
  }

  OfFault statements_about(const FaultedCall& fault) const {
    OfFault out;
    std::vector<const Key*> keys;
    std::vector<size_t> of_key;
    for (size_t i = 0; i < statements_.specifications.size(); ++i) {
      const Specification& each = at(i);
      if (each.keys.size() != 1) continue;
      keys.push_back(&each.keys.front());
      of_key.push_back(i);
    }
    for (const size_t i : most_precise(keys, fault.seen)) out.best.push_back(of_key[i]);
    const auto best_of = [&](S kind) -> std::optional<size_t> {
      std::vector<const Key*> of_kind;
      std::vector<size_t> numbers;
      for (size_t i = 0; i < keys.size(); ++i) {
        if (kind_of(of_key[i]) != kind) continue;
        of_kind.push_back(keys[i]);
        numbers.push_back(of_key[i]);
      }
      const std::vector<size_t> found = most_precise(of_kind, fault.seen);
      if (found.empty()) return std::nullopt;
      return numbers[found.front()];
    };
    out.throws = best_of(S::kThrows);
    out.propagates = best_of(S::kPropagates);
    return out;
  }

  // Throwing and propagating together is decided when the fault's outcome is known.
  bool contradicts(const OfFault& of, const FaultedCall& fault) {
    const bool differ = std::any_of(of.best.begin(), of.best.end(), [&](size_t each) {
      const bool ends_in_error = kind_of(each) == S::kThrows || kind_of(each) == S::kPropagates;
      const bool first_does =
          kind_of(of.best.front()) == S::kThrows || kind_of(of.best.front()) == S::kPropagates;
      return each != of.best.front() &&
             !(ends_in_error && first_does && kind_of(each) != kind_of(of.best.front())) &&
             !same_effect(at(each), at(of.best.front()));
    });
    if (!differ) return false;
    decide(K::kContradiction,
           "of the statements that match the fault at " + to_text(fault) +
               ", none is the most precise one: " + to_text(at(of.best[0])) + " and " +
               to_text(at(of.best[1])),
           of.best[1]);
    return true;
  }
  static bool same_effect(const Specification& one, const Specification& other) {
    return one.kind == other.kind && one.code == other.code && one.message == other.message &&
           (one.kind != S::kOnFault || one.block == other.block);
  }

  // The statement that names as many calls as there are faults, each its own.
  // nullopt: there is none, or several are equally precise, which is decided then.
  std::optional<size_t> composite_of(const Faults& faults) {
    if (faults.size() < 2) return std::nullopt;
    std::optional<size_t> best, equal;
    int best_precision = -1;
    for (size_t i = 0; i < statements_.specifications.size(); ++i) {
      const Specification& each = at(i);
      if (each.keys.size() != faults.size() || !covers(each.keys, faults)) continue;
      int sum = 0;
      for (const Key& key : each.keys) sum += precision(key);
      if (sum > best_precision) {
        best = i;
        best_precision = sum;
        equal.reset();
      } else if (sum == best_precision && !same_effect(at(i), at(*best))) {
        equal = i;
      }
    }
    if (!equal) return best;
    decide(K::kContradiction,
           "of the statements that match the faults at " + to_text(faults) +
               ", none is the most precise one: " + to_text(at(*best)) + " and " +
               to_text(at(*equal)),
           equal);
    return std::nullopt;
  }
  // Is there a way to give each key a fault of its own? Compared as sets, whatever their order.
  static bool covers(const std::vector<Key>& keys, const Faults& faults) {
    std::vector<int> of_fault(faults.size(), -1);
    const std::function<bool(size_t, std::vector<bool>*)> place = [&](size_t key,
                                                                      std::vector<bool>* seen) {
      for (size_t i = 0; i < faults.size(); ++i) {
        if ((*seen)[i] || !matches(keys[key], faults[i].seen)) continue;
        (*seen)[i] = true;
        if (of_fault[i] < 0 || place(static_cast<size_t>(of_fault[i]), seen)) {
          of_fault[i] = static_cast<int>(key);
          return true;
        }
      }
      return false;
    };
    for (size_t key = 0; key < keys.size(); ++key) {
      std::vector<bool> seen(faults.size(), false);
      if (!place(key, &seen)) return false;
    }
    return true;
  }

  void no_impact() {
    const bool several = faults_.size() > 1;
    if (outcome_.thrown) {
      return decide(
          several ? K::kNoImpactButFailedTogether : K::kNoImpactButThrew,
          several
              ? "each of " + to_text(faults_) +
                    " is declared to have no impact, but when they come together the service answers " +
                    to_text(outcome_)
              : "the fault at " + to_text(faults_.front()) +
                    " is declared to have no impact, but the service answers " + to_text(outcome_),
          out_.matched.front());
    }
    out_.steps.push_back(
        {{Block::kAssertTest}, several ? K::kAssertTestFailedWithSeveral : K::kAssertTestFailed});
  }

  void single(const FaultedCall& fault) {
    const OfFault of = statements_about(fault);
    if (of.throws && of.propagates) {
      return decide(K::kAmbiguousThrowAndPropagation,
                    to_text(at(*of.throws)) + " and " + to_text(at(*of.propagates)) +
                        " are both stated: leave one of them out",
                    of.propagates);
    }
    if (of.best.empty()) return unspecified({fault});
    const size_t best = of.best.front();
    if (kind_of(best) == S::kPropagates) return propagates(best, fault);
    judge(best, {fault});
  }

  void unspecified(const Faults& faults) {
    const std::string what = to_text(faults);
    if (outcome_.thrown) {
      return decide(K::kThrownUnspecified, "under the fault at " + what + " the service answers " +
                                               to_text(outcome_) +
                                               ", and nothing says that it should");
    }
    decide(K::kFaultUnspecified,
           "under the fault at " + what +
               " the service answers with a success, and nothing says what holds then");
  }

  void propagates(size_t specification, const FaultedCall& fault) {
    out_.matched.push_back(specification);
    if (!outcome_.thrown) return succeeded(specification);
    const bool same_code = outcome_.code == fault.code;
    const bool same_message = fault.message.empty() || outcome_.message == fault.message;
    if (!same_code || !same_message) {
      return decide(K::kSuppressedCode,
                    "the fault at " + to_text(fault) + " is declared to propagate as " +
                        fault.code + (fault.message.empty() ? "" : " \"" + fault.message + "\"") +
                        ", but the service answers " + to_text(outcome_),
                    specification);
    }
    on_exception();
  }

  void succeeded(size_t specification) {
    decide(K::kThrowDeclaredButSucceeded,
           to_text(at(specification)) + " says that the service answers with an error under " +
               to_text(faults_) + ", but it answers with a success",
           specification);
  }

  // A statement that is about exactly `faults`.
  void judge(size_t specification, const Faults& faults) {
    const Specification& it = at(specification);
    if (it.kind == S::kOnFault) {
      if (outcome_.thrown) return unspecified(faults);
      out_.matched.push_back(specification);
      out_.steps.push_back({{Block::kOnFault, it.block}, K::kOnFaultFailed});
      return;
    }
    out_.matched.push_back(specification);
    if (!outcome_.thrown) return succeeded(specification);
    if (outcome_.code != it.code || (it.message && *it.message != outcome_.message)) {
      Thrown wanted{true, it.code, it.message.value_or("")};
      return decide(K::kFailedRpc,
                    "under the fault at " + to_text(faults) +
                        " the service is declared to answer " + to_text(wanted) +
                        ", but it answers " + to_text(outcome_),
                    specification);
    }
    on_exception();
  }

  void on_exception() {
    const auto found =
        std::find_if(statements_.on_exceptions.begin(), statements_.on_exceptions.end(),
                     [&](const ExceptionAssertions& each) { return each.code == outcome_.code; });
    if (found == statements_.on_exceptions.end()) {
      return decide(K::kMissingAssertionForCode,
                    "the service answers " + outcome_.code + " under the fault at " +
                        to_text(faults_) + ", and no block says what holds whenever it does");
    }
    out_.steps.push_back({{Block::kOnException, found->block}, K::kOnExceptionFailed});
  }

  void ambiguous(const Faults& left) {
    decide(K::kAmbiguousHandling,
           "several faults have an impact, and nothing says what holds when they come together: " +
               to_text(left) + "; the service answers " +
               (outcome_.thrown ? to_text(outcome_) : "with a success"));
  }

  const Statements& statements_;
  const Faults& faults_;
  const Thrown& outcome_;
  Ruling out_;
};

}  // namespace

Ruling rule(const Statements& statements, const std::vector<FaultedCall>& faults,
            const Thrown& outcome) {
  return Ruler(statements, faults, outcome).rule();
}

}  // namespace filibuster::principled
