#include "daemon/verbs/verify/tester.h"

#include <algorithm>

#include "daemon/base/descriptors.h"
#include "daemon/base/random.h"
#include "daemon/cases/case_folder.h"
#include "daemon/cases/route.h"
#include "daemon/record/redactor.h"
#include "daemon/replay/accept.h"

namespace filibuster {

using cases::Judged;

namespace {

constexpr int kMostUpdates = 10;  // replays of one case until it passes with what is accepted

bool is_wanted(const cases::Case& of, const std::vector<std::string>& only) {
  return only.empty() ||
         std::find(only.begin(), only.end(), cases::name_in_path(of.file)) != only.end();
}

}  // namespace

VerifyTester::VerifyTester(SessionContext* session, Lane* lane, const TestConfig& test,
                           const VerifyRequest& request, replay::CaseAnswers* answers)
    : session_(*session), lane_(*lane), test_(test), request_(request), answers_(*answers) {}

Result<void> VerifyTester::run(VerifyResults* out) {
  const replay::LoadedSet& set = request_.set;
  for (const std::string& obstacle : lane_.obstacles()) out->notes.push_back(obstacle);
  for (const cases::Case& each : set.cases) out->all += is_wanted(each, request_.only) ? 1 : 0;
  auto player = replay::CasePlayer::make(session_.config, test_, set.set.service, &lane_, &answers_,
                                         &session_.counters.next_execution);
  if (!player) return player.error();
  player_ = std::move(player).value();
  player_->show_recording(set, !request_.real_time);
  // Whoever has admitted the cases has seen that all pass in this order, whatever they need of one another.
  in_order_ = set.set.counts.contains("admitted");
  lane_.hub().set_hang_limit(hang_limit_of(session_.config.bounds, 0));
  for (const cases::Case& each : set.cases) {
    if (stopped_) return {};
    if (!is_wanted(each, request_.only)) {
      in_order_ = false;
      continue;
    }
    if (session_.tries) session_.tries(cases::name_in_path(each.file));
    if (!each.start.empty() && !in_order_) {
      if (auto brought = bring_into_state(each); !brought) return brought;
    }
    auto row = replay(each);
    if (!row) return row.error();
    if (request_.updates && row->verdict.judged == Judged::kDiffers) {
      if (auto updated = update(each, &row.value()); !updated) return updated;
    }
    judge_again(false, &out->cases);
    in_order_ = in_order_ && row->verdict.judged == Judged::kPassed;
    played_.push_back(row->updated ? &accepted_.back() : &each);
    if (stopped_) return {};
    out->cases.push_back(std::move(row).value());
  }
  judge_again(true, &out->cases);
  out->process_misses = answers_.process_misses();
  if (!set.set.counts.contains("admitted") && out->count(Judged::kDiffers) > 0)
    out->notes.push_back(
        "no replay has shown on the recorded version that these cases pass: the recording was not "
        "followed by one, or that was not ended (docs/record.md)");
  const auto counted = set.set.counts.find("cases");
  if (counted != set.set.counts.end() && counted->second != set.cases.size())
    out->notes.push_back("set.json counts " + std::to_string(counted->second) +
                         " cases, and the folder has " + std::to_string(set.cases.size()));
  if (out->count(Judged::kDiffers) > 0) note_draws(out);
  out->notes.insert(out->notes.end(), time_notes_.begin(), time_notes_.end());
  return {};
}

void VerifyTester::judge_again(bool waits, std::vector<VerifiedCase>* rows) {
  replay::Rejudged changed = player_->rejudged(waits);
  for (VerifiedCase& row : *rows) {
    const auto found = changed.find(row.execution);
    if (found == changed.end()) continue;
    row.verdict = std::move(found->second);
    // What the file has is what was seen before.
    if (row.updated && row.verdict.judged != Judged::kPassed) {
      row.updated = false;
      row.not_updated = "calls came behind it, when its file had been written";
    }
  }
}

// What had no effect on the recorded version may have one on this one.
void VerifyTester::note_draws(VerifyResults* out) const {
  std::string places;
  uint64_t replays = 0, cases = 0;
  for (const cases::DrawPoint& each : request_.set.set.draws) {
    if (each.effect != cases::DrawPoint::Effect::kNone) continue;
    places += (places.empty() ? "" : ", ") +
              (each.stack.empty() ? each.source : "'" + each.stack.front() + "'");
    replays = std::max(replays, each.replays);
    cases = std::max(cases, each.cases);
  }
  if (places.empty()) return;
  out->notes.push_back(
      "random numbers that are drawn at " + places + " had no effect in " +
      std::to_string(replays) + " replays of " + std::to_string(cases) +
      " cases, and are new ones here. If a case depends on them now, name the place in 'keep_draws' of the configuration, and record again");
}

// The cases that make the state in which this one began, on a process of their own.
Result<void> VerifyTester::bring_into_state(const cases::Case& of) {
  if (auto restarted = player_->restart(); !restarted) return restarted;
  played_.clear();
  for (const std::string& name : of.start) {
    const auto found = std::find_if(
        request_.set.cases.begin(), request_.set.cases.end(),
        [&](const cases::Case& each) { return cases::name_in_path(each.file) == name; });
    if (found == request_.set.cases.end())
      return Error{of.file + ": there is no case '" + name + "', which 'start' names"};
    if (auto replayed = replay(*found); !replayed) return replayed.error();
  }
  return {};
}

Result<VerifiedCase> VerifyTester::replay(const cases::Case& of) {
  auto played = player_->play(of);
  if (!played) return played.error();
  VerifiedCase row;
  row.file = of.file;
  row.name = cases::name_in_path(of.file);
  row.route = cases::route_of(of.request.method, of.request.target);
  row.seconds = played->seconds;
  row.execution = played->execution;
  row.verdict = std::move(played->verdict);
  row.output = std::move(played->output);
  stopped_ = stopped_ || played->stopped;
  answer_ = std::move(played->answer);
  time_notes_.merge(played->time_notes);
  return row;
}

// The state in which the case began: what was replayed before it, on a process of its own.
Result<void> VerifyTester::replay_again(const cases::Case& of) {
  if (!of.start.empty()) return bring_into_state(of);
  if (auto restarted = player_->restart(); !restarted) return restarted;
  for (const cases::Case* each : played_) {
    if (stopped_) return {};
    if (auto replayed = replay(*each); !replayed) return replayed.error();
  }
  return {};
}

Result<void> VerifyTester::update(const cases::Case& of, VerifiedCase* row) {
  cases::Case next = of;
  cases::Verdict verdict = row->verdict;
  for (int i = 0; i < kMostUpdates && !stopped_; ++i) {
    auto accepted = replay::accepted(next, verdict, answer_,
                                     [&](size_t arrival) { return answers_.arrived(arrival); });
    if (!accepted) {
      row->not_updated = accepted.error().message;
      return {};
    }
    next = std::move(accepted).value();
    const bool is_whole =
        std::none_of(verdict.differences.begin(), verdict.differences.end(),
                     [](const auto& each) { return each.kind == cases::DifferenceKind::kInput; });
    // Where every call has had its answer, the service's own answer is the one that it gives.
    if (is_whole) return save(std::move(next), row);
    if (auto ready = replay_again(of); !ready) return ready;
    auto replayed = replay(next);
    if (!replayed) return replayed.error();
    row->execution = replayed->execution;
    verdict = std::move(replayed->verdict);
    if (verdict.judged == Judged::kNoConclusion) {
      row->not_updated = verdict.why;
      return {};
    }
    if (verdict.judged == Judged::kPassed) return save(std::move(next), row);
  }
  row->not_updated = "it differs in another way each time that it is replayed";
  return {};
}

// The service has its own secrets, which are not written.
Result<void> VerifyTester::save(cases::Case accepted, VerifiedCase* row) {
  record::Redactor redactor(random_hexadecimal(), SecretRules::compile(request_.set.set.redact));
  redactor.redact(&accepted);
  const std::string folder = accepted.file.substr(0, accepted.file.rfind('/'));
  const auto saved = cases::save_file(folder, cases::write_case(accepted, row->name));
  if (!saved) row->not_updated = saved.error().message;
  row->updated = saved.ok();
  accepted_.push_back(std::move(accepted));
  return {};
}

}  // namespace filibuster
