#include "daemon/replay/admission.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/hash.h"
#include "daemon/cases/identity.h"
#include "daemon/cases/route.h"
#include "daemon/replay/inner_state.h"

namespace filibuster::replay {
namespace {

using cases::Case;
using cases::DifferenceKind;
using cases::Judged;
using cases::Verdict;

// One for the process to warm up, and two that show what varies. Of few cases there are more, since each shows little.
constexpr size_t kLeastPasses = 3, kLeastOfFew = 5;
constexpr size_t kFew = 20;
// Behind each call that varies another one may come to light.
constexpr size_t kMostPasses = 12;
// A case may need what one has done that is not kept.
constexpr size_t kMostCounts = 4;
constexpr size_t kMostRestored = 20;  // cases that are replayed with their secrets

Hash128 text_of(const cases::Answer& answer, const std::optional<nlohmann::json>& reply) {
  Hash128 out = hash_text(std::to_string(answer.status) + (answer.silence ? "s" : "") +
                          std::to_string(static_cast<int>(answer.ends)));
  for (const auto* headers : {&answer.headers, &answer.trailers}) {
    for (const auto& [name, value] : *headers)
      out = combine(combine(out, hash_text(name)), hash_text(value));
  }
  out = combine(out, hash_text(answer.body));
  return combine(
      out, hash_text(reply ? reply->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                           : ""));
}

// All of a case but when it was, under masks.
Hash128 content_of(const Case& of, const cases::Rules& rules) {
  Hash128 out = cases::hash_of_case(of, rules);
  out = combine(out, hash_of(cases::answer_fields(of.answer, of.request, rules)));
  for (const cases::Call& call : of.calls)
    out = combine(combine(out, hash_text(call.site)), text_of(call.answer, call.reply));
  return out;
}

// What a bounded set has at least one case of.
Hash128 path_of(const Case& of, const cases::Rules& rules) {
  Hash128 out = hash_text(cases::route_of(of.request.method, of.request.target));
  out = combine(out, uint64_t{of.answer.status});
  for (const cases::Call& call : of.calls)
    out = combine(out, cases::keys_of(call.input, cases::input_fields(call.input, rules)).point);
  return out;
}

constexpr const char* kByChance =
    "it passes in one replay and differs in another, on the version that recorded it: ";

Ending ending_of(const Verdict& verdict) {
  Ending out;
  if (verdict.judged == Judged::kNoConclusion) out["no conclusion"] = hash_text(verdict.why);
  for (const cases::Difference& each : verdict.differences) {
    const std::string what = std::string(cases::difference_name(each.kind)) + " " +
                             (each.call ? std::to_string(*each.call) : "");
    if (each.fields.empty()) out[what] = hash_text(each.text);
    for (const cases::FieldDifference& field : each.fields)
      out[what + field.pointer] = hash_text(field.now);
  }
  return out;
}

}  // namespace

std::string Admission::sentence_of(const Verdict& verdict) {
  if (verdict.judged == Judged::kNoConclusion || verdict.differences.empty()) return verdict.why;
  return verdict.differences.front().text;
}

size_t bound(size_t most, LoadedSet* set) {
  std::vector<Case>& all = set->cases;
  if (all.size() <= most) return 0;
  std::set<Hash128> paths;
  std::set<size_t> kept;
  for (size_t i = all.size(); i-- > 0;) {
    if (paths.insert(path_of(all[i], set->rules)).second) kept.insert(i);
  }
  for (size_t i = all.size(); i-- > 0 && kept.size() < most;) kept.insert(i);
  std::vector<Case> out;
  for (const size_t i : kept) out.push_back(std::move(all[i]));
  const size_t left = all.size() - out.size();
  all = std::move(out);
  return left;
}

Result<Admission::Pass> Admission::pass(bool waits, const Altered& altered) {
  Pass out;
  if (!std::exchange(is_fresh_, false)) {
    if (auto restarted = stage_.restart(); !restarted) return restarted.error();
  }
  stage_.begin_pass(out_.passes++);
  std::map<uint32_t, size_t> places;  // by execution
  for (const Case& each : set_.cases) {
    auto played = stage_.play(altered ? altered(each) : each);
    if (!played) return played.error();
    ++out_.replays;
    out.stopped = out.stopped || played->stopped;
    if (out.stopped) return out;
    places[played->execution] = out.verdicts.size();
    out.verdicts.push_back(std::move(played->verdict));
  }
  for (auto& [execution, verdict] : stage_.rejudged(waits)) {
    if (const auto place = places.find(execution); place != places.end())
      out.verdicts[place->second] = std::move(verdict);
  }
  return out;
}

// True: something is compared in another way from now on, or may be behind another pass.
Result<bool> Admission::learn(const Pass& seen) {
  bool changed = false;
  for (size_t i = 0; i < seen.verdicts.size(); ++i) {
    noise_.saw(set_.cases[i], seen.verdicts[i]);
    for (const cases::Difference& each : seen.verdicts[i].differences) {
      if (each.kind != DifferenceKind::kOrder || !each.call || !each.before) continue;
      changed |= forget_order(set_.cases[i], *each.before, *each.call);
    }
  }
  const cases::Varying varying = noise_.take();
  for (size_t i = 0; i < seen.verdicts.size() && !changed; ++i)
    changed = seen.verdicts[i].judged == Judged::kDiffers && noise_.is_open(set_.cases[i]);
  if (!varying.any()) return changed;
  if (auto added = cases::add(varying, &set_.set); !added) {
    out_.notes.push_back("not all that varies is masked: " + added.error().message);
    return false;
  }
  auto rules = cases::rules_of(set_.set);
  if (!rules) return rules.error();
  set_.rules = std::move(rules).value();
  out_.masks.insert(out_.masks.end(), varying.words.begin(), varying.words.end());
  return true;
}

// What differs although nothing was learned from it is no noise. If it passes another time, chance decides.
void Admission::note_what_differs(const Pass& seen, bool learned) {
  if (learned) differed_.clear();
  for (size_t i = 0; i < seen.verdicts.size() && !learned; ++i) {
    if (seen.verdicts[i].judged == Judged::kDiffers)
      differed_.try_emplace(set_.cases[i].file, sentence_of(seen.verdicts[i]));
  }
}

// Two calls of a route that came in both orders have none, in no case of the route.
bool Admission::forget_order(const Case& of, size_t before, size_t call) {
  const auto point = [&](const cases::Call& each) {
    return cases::keys_of(each.input, cases::input_fields(each.input, set_.rules)).point;
  };
  const auto route = [](const Case& each) {
    return cases::route_of(each.request.method, each.request.target);
  };
  const std::set<Hash128> pair{point(of.calls[before]), point(of.calls[call])};
  const std::string here = route(of);
  size_t gone = 0;
  for (Case& each : set_.cases) {
    if (route(each) != here) continue;
    for (cases::Call& one : each.calls) {
      const Hash128 later = point(one);
      std::set<size_t> after;
      for (const size_t earlier : one.after) {
        if (std::set<Hash128>{point(each.calls[earlier]), later} != pair) {
          after.insert(earlier);
          continue;
        }
        ++gone;
        // It still waits for what that one waited for.
        const std::vector<size_t>& before_it = each.calls[earlier].after;
        after.insert(before_it.begin(), before_it.end());
      }
      one.after.assign(after.begin(), after.end());
    }
  }
  out_.unordered += gone;
  return gone > 0;
}

size_t Admission::least_passes() const {
  return set_.cases.size() > kFew ? kLeastPasses : kLeastOfFew;
}

// The first one of those that are equal stays, since later ones may build on what it has done.
void Admission::unite() {
  std::map<Hash128, size_t> places;
  std::vector<Case> out;
  for (Case& each : set_.cases) {
    const auto [place, is_new] = places.try_emplace(content_of(each, set_.rules), out.size());
    if (is_new) {
      out.push_back(std::move(each));
    } else {
      out[place->second].seen += each.seen;
      ++out_.equal;
    }
  }
  set_.cases = std::move(out);
}

// Replays until nothing new varies.
Result<void> Admission::settle(size_t least) {
  bool learns = true;
  for (size_t i = 0; i < least || (learns && i < kMostPasses); ++i) {
    // What is masked first hides what comes behind it, so each of them has another time.
    stage_.show_later(std::chrono::seconds(out_.passes));
    auto seen = pass();
    if (!seen) return seen.error();
    out_.stopped = seen->stopped;
    if (out_.stopped) return {};
    auto changed = learn(seen.value());
    if (!changed) return changed.error();
    learns = changed.value();
    note_what_differs(seen.value(), learns);
  }
  stage_.show_later(std::chrono::seconds(0));
  unite();
  return {};
}

// What comes of random numbers that do not lead to what was recorded varies from then on.
Result<void> Admission::find_draws() {
  auto found =
      find_draw_effects(&set_, keep_draws_, [&](const Altered& altered) -> Result<Endings> {
        auto seen = pass(false, altered);
        if (!seen) return seen.error();
        Endings out;
        for (const Verdict& each : seen->verdicts) out.push_back(ending_of(each));
        return seen->stopped ? Endings() : out;
      });
  if (!found) return found.error();
  out_.stopped = found->stopped;
  return found->has_unfit && !out_.stopped ? settle(kLeastPasses) : Result<void>();
}

Result<Admitted> Admission::run() {
  if (auto settled = settle(least_passes()); !settled) return settled.error();
  if (out_.stopped) return out_;
  if (auto found = find_draws(); !found) return found.error();
  if (out_.stopped) return out_;
  if (auto counted = count(); !counted) return counted.error();
  if (out_.stopped) return out_;
  if (auto found = find_units(); !found) return found.error();
  if (auto found = find_times(); !found) return found.error();
  if (auto found = find_host(); !found) return found.error();
  return out_;
}

// What needs others is replayed behind them. What a case that is not kept left in memory may be missing then.
Result<void> Admission::find_units() {
  auto found = find_inner_state(&set_, &stage_);
  if (!found) return found.error();
  out_.stopped = found->stopped;
  out_.replays += found->replays;
  out_.units = found->units;
  out_.unknown = found->open;
  out_.grown = found->refused.size();
  std::move(found->refused.begin(), found->refused.end(), std::back_inserter(out_.refused));
  if (out_.grown == 0 || out_.stopped) return {};
  if (auto counted = count(); !counted) return counted;
  refuse_what_lacks_others();
  return {};
}

void Admission::refuse_what_lacks_others() {
  std::set<std::string> there;
  std::vector<Case> kept;
  for (Case& each : set_.cases) {
    const bool is_whole =
        std::all_of(each.start.begin(), each.start.end(),
                    [&](const std::string& name) { return there.contains(name); });
    if (is_whole) {
      there.insert(cases::name_in_path(each.file));
      kept.push_back(std::move(each));
      continue;
    }
    each.start.clear();
    out_.refused.push_back({std::move(each), kLacksOthers});
  }
  set_.cases = std::move(kept);
}

// The replay that counts. What is not kept may have made the state of what came behind it.
Result<void> Admission::count() {
  std::vector<size_t> refused;
  for (size_t i = 0; i == 0 || (i < kMostCounts && !refused.empty() && !set_.cases.empty()); ++i) {
    auto seen = pass(true);
    if (!seen) return seen.error();
    out_.stopped = seen->stopped;
    if (out_.stopped) return {};
    refused.clear();
    std::vector<Case> kept;
    for (size_t k = 0; k < set_.cases.size(); ++k) {
      const auto before = differed_.find(set_.cases[k].file);
      if (seen->verdicts[k].judged == Judged::kPassed) {
        if (before == differed_.end()) {
          kept.push_back(std::move(set_.cases[k]));
        } else {
          refused.push_back(k);
          out_.refused.push_back({std::move(set_.cases[k]), kByChance + before->second});
        }
        continue;
      }
      refused.push_back(k);
      auto why = reason(set_.cases[k], seen->verdicts[k]);
      if (!why) return why.error();
      out_.refused.push_back({std::move(set_.cases[k]), std::move(why).value()});
    }
    set_.cases = std::move(kept);
    // Without those that are refused now, others may pass for a reason.
    differed_.clear();
  }
  for (const std::string& miss : stage_.process_misses())
    out_.notes.push_back("a call of the process itself has no recorded answer: " + miss);
  return {};
}

Result<std::string> Admission::reason(const Case& of, const Verdict& verdict) {
  const std::string what = sentence_of(verdict);
  if (verdict.judged != Judged::kDiffers) return what;
  auto secret = broken_by_secrets(of);
  if (!secret) return secret.error();
  if (!secret->empty())
    return "the service checks " + secret.value() +
           ", in whose place a token stands (docs/record.md, 'Secrets'): " + what;
  return "replayed on the version that recorded it, it differs: " + what;
}

// Which secrets the service knows or checks: with them the case passes, and without one of them it does not. "": it is not for them.
Result<std::string> Admission::broken_by_secrets(const Case& of) {
  const std::vector<Stage::Secret> all = stage_.secrets(of);
  if (all.empty() || out_.refused.size() >= kMostRestored) return std::string();
  const auto passes_without = [&](const std::set<std::string>& kept) -> Result<bool> {
    auto played = stage_.play(stage_.with_secrets(of, kept));
    if (!played) return played.error();
    ++out_.replays;
    return played->verdict.judged == Judged::kPassed;
  };
  // Twice with them, and once more without any: what chance decides is no secret.
  std::set<std::string> every;
  for (const Stage::Secret& each : all) every.insert(each.token);
  for (const bool has_secrets : {true, false, true}) {
    auto passes = passes_without(has_secrets ? std::set<std::string>() : every);
    if (!passes) return passes.error();
    if (passes.value() != has_secrets) return std::string();
  }
  std::set<std::string> tried;
  std::string out;
  for (const Stage::Secret& each : all) {
    if (tried.insert(each.token).second) {
      auto passes = passes_without({each.token});
      if (!passes) return passes.error();
      if (passes.value()) continue;
      out += (out.empty() ? "" : ", ") + each.place;
    }
  }
  return out.empty() ? "several secrets together" : out;
}

}  // namespace filibuster::replay
