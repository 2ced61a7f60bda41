#include "daemon/explore/reference_phase.h"

#include <algorithm>
#include <utility>

namespace filibuster {
namespace {

// More than one round is needed: some fields are seen to differ only after others are masked and RPCs
// are matched better, and what varies rarely may be equal in the first two runs.
constexpr int kMaskRounds = 3;
// So many executions without faults tell what never comes again from what comes and goes.
constexpr size_t kToTellApart = 4;

bool comes_and_goes(const Nondeterminism& found) {
  return std::any_of(found.variations.begin(), found.variations.end(),
                     [](const Variation& variation) { return variation.comes_and_goes; });
}

}  // namespace

Result<ReferencePhase::End> ReferencePhase::run() {
  Lane& lane = *options_.lane;
  lane.hub().report_fields(options_.executions > 1);
  auto end = repeat(1);
  if (end.ok() && end.value() == End::kSettled) {
    options_.run->set_reference_seconds(runs_.back().seconds);
    end = repeat(options_.executions);
    seconds_ = runs_.back().seconds;
    if (end.ok() && end.value() == End::kSettled && options_.executions > 1) end = settle();
  }
  lane.hub().report_fields(false);
  return end;
}

Result<ReferencePhase::End> ReferencePhase::repeat(size_t count) {
  while (runs_.size() < count) {
    auto run = options_.run->reference(options_.observer);
    if (!run) return run.error();
    if (run->result.stopped) return End::kStopped;
    auto usable = options_.accept(run.value(), runs_.size());
    if (!usable) return usable.error();
    if (!usable.value()) return End::kUnusable;
    runs_.push_back(std::move(run->result));
  }
  return End::kSettled;
}

std::vector<const ExecutionRecord*> ReferencePhase::all() const {
  std::vector<const ExecutionRecord*> out;
  for (const ExecutionRecord& record : earlier_) out.push_back(&record);
  for (const ExecutionResult& run : runs_) out.push_back(&run.record);
  return out;
}

Nondeterminism ReferencePhase::compare() const {
  std::vector<const ExecutionRecord*> records;
  for (const ExecutionResult& run : runs_) records.push_back(&run.record);
  return find_nondeterminism(records, options_.varies->masks(), options_.index_parts,
                             options_.field_names, options_.order);
}

// Compares the executions, masks what varies, runs them again, until nothing new varies.
Result<ReferencePhase::End> ReferencePhase::settle() {
  Variability& varies = *options_.varies;
  for (int round = 0;; ++round) {
    Nondeterminism found = compare();
    if (!options_.refuses_broad_masks) found.too_broad.clear();
    if (found.proposed.empty() && found.too_broad.empty() && comes_and_goes(found) &&
        runs_.size() < kToTellApart) {
      auto more = repeat(kToTellApart);
      if (!more || more.value() != End::kSettled) return more;
      found = compare();
      if (!options_.refuses_broad_masks) found.too_broad.clear();
    }
    if (!found.too_broad.empty()) {
      why_ = "a mask is too broad; nothing is explored with it:";
      for (const std::string& text : found.too_broad) why_ += "\n  - " + text;
      return End::kNotComparable;
    }
    varies.add(found);
    if (found.proposed.empty()) return End::kSettled;
    if (round == kMaskRounds) {
      // An RPC in which other fields differ after every round of masks is not masked further.
      for (const NondeterminismRule& rule : found.proposed) {
        varies.add(Variation{
            rule.caller + " -> " + rule.service + " " + rule.method + " " + rule.path,
            "other fields in every comparison", Variation::Effect::kNotFaulted, "", "", false});
        varies.leave_out(rule, "other fields of it vary in every comparison");
      }
      return End::kSettled;
    }
    if (auto masked = varies.mask_further(found.proposed); !masked) {
      why_ = masked.error().message;
      return End::kNotComparable;
    }
    for (ExecutionResult& run : runs_) earlier_.push_back(std::move(run.record));
    runs_.clear();
    auto again = repeat(options_.executions);
    if (!again || again.value() != End::kSettled) return again;
  }
}

}  // namespace filibuster
