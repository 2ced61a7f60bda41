#include "daemon/cases/matching.h"

#include <algorithm>
#include <tuple>

namespace filibuster::cases {
namespace {

const std::vector<Call>& no_calls() {
  static const std::vector<Call> kNone;
  return kNone;
}

bool is_of_command(const Fields& fields) {
  return !fields.empty() && fields.front().pointer.starts_with("/call");
}

}  // namespace

CallPool::CallPool(const std::vector<Call>* calls, const Rules& rules, bool keeps_last)
    : calls_(calls), keeps_last_(keeps_last) {
  for (size_t i = 0; i < calls->size(); ++i) {
    const Call& call = (*calls)[i];
    Row row;
    row.fields = input_fields(call.input, rules);
    row.keys = keys_of(call.input, row.fields);
    row.group = call.attempt_of.value_or(i);
    rows_.push_back(std::move(row));
  }
}

bool CallPool::is_last_of_its_kind(size_t place) const {
  return std::none_of(rows_.begin(), rows_.end(), [&](const Row& other) {
    return &other != &rows_[place] && !other.taken && other.keys.input == rows_[place].keys.input;
  });
}

std::optional<size_t> CallPool::take(const Keys& keys, const std::string& site,
                                     bool only_causeless) {
  std::optional<size_t> first, of_site;
  const auto may_answer = [&](size_t i) {
    return !rows_[i].taken && rows_[i].keys.input == keys.input &&
           !(only_causeless && call(i).cause_known);
  };
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!may_answer(i)) continue;
    if (!first) first = i;
    if (!of_site && call(i).site == site) of_site = i;
  }
  std::optional<size_t> place = of_site ? of_site : first;
  if (!place) return std::nullopt;
  // A further attempt is answered behind those before it, whichever of them the stack names. An
  // attempt that brings something else is no answer to this call.
  for (size_t i = rows_[*place].group; i < *place; ++i) {
    if (rows_[i].group != rows_[*place].group || rows_[i].taken) continue;
    if (!may_answer(i)) return std::nullopt;
    place = i;
    break;
  }
  if (keeps_last_ && is_last_of_its_kind(*place)) return place;
  rows_[*place].taken = true;
  ++taken_;
  return place;
}

std::optional<Nearest> CallPool::nearest(const Keys& keys, const Fields& fields,
                                         size_t expected) const {
  using Rank = std::tuple<int, int, size_t, size_t>;
  std::optional<Rank> best;
  Nearest out;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    // Of another protocol nothing is near.
    if (is_of_command(row.fields) != is_of_command(fields)) continue;
    std::vector<FieldDifference> differs = differences(row.fields, fields);
    const Rank rank{row.keys.point == keys.point ? 0 : 1, row.taken ? 1 : 0, differs.size(),
                    i > expected ? i - expected : expected - i};
    if (best && *best <= rank) continue;
    best = rank;
    out = {keeps_last_, i, row.taken, std::move(differs)};
  }
  return best ? std::optional(std::move(out)) : std::nullopt;
}

Matcher::Matcher(const Rules* rules, const ProcessRecord* process)
    : rules_(rules),
      process_(std::make_shared<Process>(
          Process{process,
                  CallPool(process == nullptr ? &no_calls() : &process->calls, *rules, true),
                  {}})) {}

void Matcher::begin(const Case* running) {
  has_case_ = is_open_ = true;
  pool_ = CallPool(&running->calls, *rules_, false);
  answered_.assign(running->calls.size(), false);
  arrivals_.clear();
  broken_.clear();
}

Decision Matcher::arrive(const LiveCall& call) {
  Arrival arrival{call, {}, input_fields(call.input, *rules_), {}, false, pool_.taken(), ""};
  arrival.keys = keys_of(call.input, arrival.fields);
  arrival.of_process =
      call.cause == Cause::kProcess || !has_case_ || (!is_open_ && call.cause != Cause::kCase);
  Decision out;
  out.arrival = arrivals_.size();
  out.of_process = arrival.of_process;
  CallPool& pool = arrival.of_process ? process_->pool : pool_;
  std::optional<size_t> place;
  if (call.cause != Cause::kUnseen)
    place = pool.take(arrival.keys, call.site, !arrival.of_process && call.cause == Cause::kNone);
  if (place) {
    out.answer = &pool.call(*place);
    out.place = *place;
  } else {
    arrival.problem = out.problem =
        miss_text(call, pool.nearest(arrival.keys, arrival.fields, pool.taken()));
    if (arrival.of_process) process_->misses.push_back(out.problem);
  }
  if (place && !arrival.of_process) {
    arrival.place = place;
    for (const size_t before : pool_.call(*place).after) {
      if (!answered_[before]) broken_.emplace_back(before, *place);
    }
  }
  arrivals_.push_back(std::move(arrival));
  return out;
}

void Matcher::answered(size_t arrival) {
  if (arrival < arrivals_.size() && arrivals_[arrival].place)
    answered_[*arrivals_[arrival].place] = true;
}

const Opening* Matcher::opening(const std::string& to, const nlohmann::json& command) const {
  if (process_->record == nullptr) return nullptr;
  const auto all = process_->record->openings.find(to);
  if (all == process_->record->openings.end()) return nullptr;
  for (const Opening& each : all->second) {
    nlohmann::json recorded = each.command, asked = command;
    // Names of commands have no case.
    if (!recorded.empty()) recorded[0] = command_name(recorded);
    if (asked.is_array() && !asked.empty()) asked[0] = command_name(asked);
    if (recorded == asked) return &each;
  }
  return nullptr;
}

std::string Matcher::miss_text(const LiveCall& call, const std::optional<Nearest>& nearest) const {
  const std::string what = call_text(call.input);
  if (call.cause == Cause::kUnseen) return "it is not known which call " + what + " is";
  if (!nearest) return "no recorded call answers " + what + ": there is none";
  const CallPool& pool = nearest->of_process ? process_->pool : pool_;
  const std::string place = (nearest->of_process ? "call " : "call ") +
                            std::to_string(nearest->place) +
                            (nearest->of_process ? " of the process" : "");
  std::string out = "no recorded call answers " + what + "; the nearest is " + place + ", " +
                    call_text(pool.call(nearest->place).input) + " (";
  if (!nearest->fields.empty()) return out + to_text(nearest->fields) + ")";
  return out + (nearest->taken ? "which was answered already" : "whose cause is another one") + ")";
}

}  // namespace filibuster::cases
