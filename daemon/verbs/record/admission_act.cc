#include "daemon/verbs/record/admission_act.h"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "daemon/cases/route.h"
#include "daemon/record/case_writer.h"
#include "daemon/replay/places.h"

namespace filibuster {
namespace {

// Times that are told in seconds are others behind it.
constexpr std::chrono::milliseconds kBetweenPasses{1100};
constexpr size_t kMostShown = 20;

std::string counted(size_t number, const std::string& one, const std::string& many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

std::string draws_text(const std::vector<cases::DrawPoint>& draws) {
  using Effect = cases::DrawPoint::Effect;
  if (draws.empty()) return "";
  const auto with = [&](Effect effect) {
    return std::count_if(draws.begin(), draws.end(),
                         [&](const auto& each) { return each.effect == effect; });
  };
  std::string out = "random numbers are drawn at " + counted(draws.size(), "place", "places") +
                    ": they have an effect at " + std::to_string(with(Effect::kSome)) +
                    ", and none at " + std::to_string(with(Effect::kNone));
  if (const auto unfit = with(Effect::kUnfit); unfit > 0)
    out += "; at " + std::to_string(unfit) +
           " a secret is made of them, or what was recorded does not come of them";
  if (const auto kept = with(Effect::kKept); kept > 0)
    out += "; at " + std::to_string(kept) + " they are kept nevertheless (keep_draws)";
  if (const auto unknown = with(Effect::kUnknown); unknown > 0)
    out += "; at " + std::to_string(unknown) + " it is not known";
  return out + " (set.json)\n";
}

}  // namespace

bool AdmissionAct::load() {
  std::vector<ConfigError> errors;
  set_ = replay::load_cases(folder_, &errors);
  if (!errors.empty()) {
    problem_ = errors.front().file + ": " + errors.front().message;
    return false;
  }
  for (const cases::Case& each : set_.cases) files_.push_back(each.file);
  left_out_ = replay::bound(most_, &set_);
  return !set_.cases.empty();
}

Result<void> AdmissionAct::before_services(Lane* lane) {
  auto places = std::make_shared<replay::Places>();
  Recordings& recordings = lane->hub().recordings();
  answers_ = std::make_shared<replay::CaseAnswers>(set_, &recordings, places);
  lane->services().answer_by(answers_);
  replay::show_start_of_recording(set_, true, lane);
  // What the service wrote while it was recorded stays.
  lane->mark_logs("replay");
  log_ = lane->place().log_path(service());
  return recordings.start(std::move(places), Recordings::What::kPlaces);
}

Result<replay::Played> AdmissionAct::play(const cases::Case& of) {
  auto played = player_->play(of);
  if (played) time_notes_.merge(played->time_notes);
  return played;
}

bool AdmissionAct::show_later(std::chrono::seconds by) {
  later_ = by;
  return time_notes_.empty();
}

void AdmissionAct::begin_pass(size_t pass) {
  const auto now = std::chrono::steady_clock::now();
  if (pass == 0) first_pass_ = now;
  player_->show_later(later_);
  // Whoever replays the cases later does the same once, so each pass has to stand it.
  answers_->hold_again();
  if (pass != 1) return;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(first_pass_ + kBetweenPasses - now);
  pollfd woken{wake_fd_, POLLIN, 0};
  if (left.count() > 0) poll(&woken, 1, static_cast<int>(left.count()));
}

cases::Case AdmissionAct::with_secrets(const cases::Case& of,
                                       const std::set<std::string>& kept) const {
  cases::Case out = of;
  redactor_.restore(&out, kept);
  return out;
}

std::vector<replay::Stage::Secret> AdmissionAct::secrets(const cases::Case& of) const {
  std::vector<Secret> out;
  for (auto& [token, place] : redactor_.places(of)) out.push_back({token, place});
  return out;
}

Result<void> AdmissionAct::run(SessionContext* session, Lane* lane, const TestConfig& test) {
  session->sink({{"type", "session"},
                 {"test", test.name},
                 {"resumed", false},
                 {"watching", false},
                 {"recording", service()},
                 {"replaying", size()}});
  lane_ = lane;
  wake_fd_ = lane->place().wake_fd;
  auto player = replay::CasePlayer::make(session->config, test, service(), lane, answers_.get(),
                                         &session->counters.next_execution);
  if (!player) return player.error();
  player_ = std::move(player).value();
  player_->show_recording(set_, true);
  lane->hub().set_hang_limit(hang_limit_of(session->config.bounds, 0));
  auto admitted = replay::Admission(&set_, this, session->config.keep_draws).run();
  lane->hub().recordings().stop();
  if (!admitted) return admitted.error();
  admitted_ = std::move(admitted).value();
  if (admitted_.stopped) return {};
  if (auto saved = save(&admitted_); !saved) return saved;
  done_ = true;
  if (admitted_.refused.empty()) {
    std::error_code ignored;
    std::filesystem::remove(std::exchange(log_, ""), ignored);
  }
  return {};
}

Result<void> AdmissionAct::save(replay::Admitted* admitted) {
  set_.set.counts["admitted"] = set_.cases.size();
  auto writer = record::CaseWriter::replace(folder_, set_.set, set_.process, files_, most_bytes_);
  if (!writer) return writer.error();
  std::map<std::string, std::string> names;  // new ones, by those that the files had
  for (cases::Case& each : set_.cases) {
    const std::string before = cases::name_in_path(each.file);
    for (std::string& name : each.start) name = names[name];
    // With what it needs it grows, and the room may be that of another one that is needed.
    if (std::count(each.start.begin(), each.start.end(), "") > 0) {
      ++without_room_;
      continue;
    }
    if (auto added = writer.value()->add(each); !added) return added;
    names[before] = writer.value()->last_name();
  }
  if (set_.set.time) {
    std::vector<std::string>& matters = set_.set.time->matters;
    for (std::string& name : matters) name = names[name];
    std::erase(matters, "");
    writer.value()->set_time(*set_.set.time);
  }
  if (set_.set.host) {
    for (std::string& name : set_.set.host->matters) name = names[name];
    std::erase(set_.set.host->matters, "");
    writer.value()->set_host(*set_.set.host);
  }
  for (replay::RefusedCase& each : admitted->refused) {
    each.value.partial = each.why;
    if (auto added = writer.value()->add(each.value); !added) return added;
  }
  without_room_ += writer.value()->counts().without_room;
  return writer.value()->finish();
}

std::string AdmissionAct::summary() const {
  if (!problem_.empty()) return "the cases cannot be replayed: " + problem_ + "\n";
  if (!done_)
    return "which cases replay is not known, since that was not shown to its end: all are kept\n";
  std::string out = "kept " + counted(set_.cases.size(), "case", "cases") + ", which replay (" +
                    counted(admitted_.replays, "replay", "replays") + ")";
  if (admitted_.equal > 0)
    out +=
        "; " +
        counted(admitted_.equal, "more is equal to one of them", "more are equal to one of them") +
        " but for what varies";
  if (left_out_ > 0)
    out += "; " + std::to_string(left_out_) + " more say nothing new (--max-cases)";
  out += "\n";
  if (admitted_.units > 0)
    out += counted(admitted_.units, "case needs", "cases need") +
           " what earlier ones left in the memory of the service: 'start' names these\n";
  if (admitted_.unknown > 0)
    out += std::to_string(admitted_.unknown) +
           " more may need it, which was not searched any more: replay them with all others\n";
  if (admitted_.unordered > 0)
    out += counted(admitted_.unordered, "call waits for another one no more",
                   "calls wait for another one no more") +
           ": their order varies\n";
  if (!admitted_.masks.empty()) out += "what varies is not compared:\n";
  for (size_t i = 0; i < admitted_.masks.size() && i < kMostShown; ++i)
    out += "  " + admitted_.masks[i] + "\n";
  if (admitted_.masks.size() > kMostShown)
    out += "  and " + std::to_string(admitted_.masks.size() - kMostShown) + " more (set.json)\n";
  out += draws_text(set_.set.draws);
  if (const auto& time = set_.set.time) {
    out += "the time of day has " +
           std::string(admitted_.of_time.empty() ? "no effect" : "an effect") + " in " +
           counted(time->replays, "replay", "replays") + " at other times";
    out += admitted_.of_time.empty() ? "\n" : ":\n";
  }
  for (size_t i = 0; i < admitted_.of_time.size() && i < kMostShown; ++i)
    out += "  " + admitted_.of_time[i] + "\n";
  if (!admitted_.of_host.empty()) out += "the name of the machine has an effect:\n";
  for (size_t i = 0; i < admitted_.of_host.size() && i < kMostShown; ++i)
    out += "  " + admitted_.of_host[i] + "\n";
  for (const std::string& note : time_notes_) out += note + "\n";
  std::map<std::string, size_t> refused;
  for (const replay::RefusedCase& each : admitted_.refused) ++refused[each.why];
  if (!refused.empty())
    out += counted(admitted_.refused.size(), "case is not kept, and stands under partial/:",
                   "cases are not kept, and stand under partial/:") +
           "\n";
  size_t shown = 0;
  for (const auto& [why, number] : refused) {
    if (++shown > kMostShown) break;
    out += "  " + std::to_string(number) + ": " + why + "\n";
  }
  if (without_room_ > 0)
    out += counted(without_room_, "replayed case has", "replayed cases have") +
           " no room any more, and are left out (--max-size)\n";
  if (!log_.empty()) out += "what the service wrote in the last replays: " + log_ + "\n";
  for (const std::string& note : admitted_.notes) out += note + "\n";
  return out;
}

}  // namespace filibuster
