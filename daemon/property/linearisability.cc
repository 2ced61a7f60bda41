#include "daemon/property/linearisability.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace filibuster::property {
namespace {

using linear::Operation;
using linear::Verdict;

constexpr int kLooksOfShort = 32;  // of Bounds::stop: some tenths of a second

// The calls that may have done something, as they are checked.
struct Sifted {
  std::vector<Call> calls;
  std::vector<size_t> numbers;  // in History::calls
};

Result<Sifted> sift(const History& history, const Object& object, const CheckOptions& options) {
  Sifted out;
  int64_t last = 0;
  for (const Call& each : history.calls) {
    last = std::max(last, each.call);
    if (each.end != linear::kNever) last = std::max(last, each.end);
  }
  for (size_t i = 0; i < history.calls.size(); ++i) {
    Call call = history.calls[i];
    if (options.evidence && call.outcome == Outcome::kInfo) {
      if (call.reached == false) continue;
      if (call.seen_answer) {
        // It has happened with this answer. When is not believed: what saw the answer may be late.
        call.outcome = Outcome::kOk;
        call.answered = *call.seen_answer;
        call.end = last + 1;
      }
    }
    if (auto accepted = object.accepts(call); !accepted)
      return Error{std::to_string(call.line) + ": " + accepted.error().message};
    if (call.outcome == Outcome::kFail) continue;
    if (call.outcome == Outcome::kInfo && object.only_reads(call)) continue;
    out.calls.push_back(std::move(call));
    out.numbers.push_back(i);
  }
  return out;
}

class Checker {
 public:
  Checker(const Sifted& sifted, const ObjectMaker& make, const CheckOptions& options)
      : sifted_(sifted), make_(make), options_(options) {}

  Result<CheckedHistory> run(bool has_keys) {
    divide(has_keys && options_.partition);
    const size_t threads =
        std::clamp<size_t>(options_.threads, 1, std::max<size_t>(1, parts_.size()));
    bytes_ = options_.bytes / threads;
    std::vector<std::thread> others;
    for (size_t i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread& each : others) each.join();
    if (!problem_.empty()) return Error{problem_};
    return conclude();
  }

 private:
  void divide(bool by_key) {
    std::map<std::string, size_t> known;
    for (size_t i = 0; i < sifted_.calls.size(); ++i) {
      const std::string key = by_key ? sifted_.calls[i].key : "";
      const auto [part, is_new] = known.emplace(key, parts_.size());
      if (is_new)
        parts_.push_back({.key = key, .why = {}, .calls = {}, .initial = {}, .orders = {}});
      parts_[part->second].calls.push_back(i);
    }
    // What takes longest begins first.
    for (size_t i = 0; i < parts_.size(); ++i) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      return parts_[a].calls.size() > parts_[b].calls.size();
    });
    begun_.resize(parts_.size(), 0);
  }

  // A part, and whether it is looked at for a short time only.
  struct Turn {
    size_t part;
    bool is_short;
  };
  std::optional<Turn> next_turn() {
    const std::lock_guard lock(mutex_);
    // One that is easily refuted ends the search, and may stand behind one that takes hours.
    if (next_ < order_.size()) return Turn{order_[next_++], order_.size() > 1};
    if (next_long_ < long_.size()) return Turn{long_[next_long_++], false};
    return std::nullopt;
  }

  void work() {
    while (!is_over_) {
      const std::optional<Turn> turn = next_turn();
      if (!turn) return;
      begun_[turn->part] = 1;
      if (check(&parts_[turn->part], turn->is_short)) continue;
      const std::lock_guard lock(mutex_);
      long_.push_back(turn->part);
    }
  }

  // False: the short time was over, and nothing is known of the part yet.
  bool check(CheckedPart* part, bool is_short) {
    auto object = make_();
    if (!object) return fail(object.error().message), true;
    ObjectModel model(object->get());
    std::vector<Operation> operations;
    for (const size_t number : part->calls) {
      const Call& call = sifted_.calls[number];
      operations.push_back({0, call.call, call.end, model.step_of(call)});
    }
    int looks = 0;
    bool is_tired = false;
    const auto stop = [&] {
      is_tired = is_short && ++looks > kLooksOfShort;
      return is_tired || is_over_ || !object.value()->problem().empty() ||
             (options_.deadline && std::chrono::steady_clock::now() > *options_.deadline);
    };
    const linear::Result result = linear::check(operations, &model, {bytes_, stop});
    if (const std::string problem = object.value()->problem(); !problem.empty())
      return fail(problem), true;
    if (is_tired) return false;
    part->verdict = result.verdict;
    part->why = result.why;
    part->visited = result.visited;
    part->initial = model.state(model.initial());
    if (result.verdict != Verdict::kUnknown) {
      part->orders.push_back(order_of(*part, result.longest, result.stuck, operations, &model));
      for (const auto& [stuck, order] : result.others)
        part->orders.push_back(order_of(*part, order, stuck, operations, &model));
    }
    for (size_t& number : part->calls) number = sifted_.numbers[number];
    if (result.verdict == Verdict::kNot) is_over_ = true;
    return true;
  }

  Order order_of(const CheckedPart& part, const std::vector<uint32_t>& numbers,
                 std::optional<uint32_t> stuck, const std::vector<Operation>& operations,
                 ObjectModel* model) const {
    const auto whole = [&](uint32_t number) { return sifted_.numbers[part.calls[number]]; };
    Order out;
    linear::State state = model->initial();
    for (const uint32_t number : numbers) {
      const auto next = model->next(state, operations[number].step);
      if (!next) break;  // the search took the step, so that a model without problems allows it
      state = *next;
      out.calls.push_back(whole(number));
      out.states.push_back(model->state(state));
    }
    if (stuck) out.stuck = whole(*stuck);
    return out;
  }

  void fail(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    if (problem_.empty()) problem_ = problem;
    is_over_ = true;
  }

  CheckedHistory conclude() {
    CheckedHistory out;
    out.verdict = Verdict::kLinearisable;
    for (size_t i = 0; i < parts_.size(); ++i) {
      CheckedPart& part = parts_[i];
      // One that another's verdict has ended says nothing.
      if (begun_[i] == 0) {
        ++out.not_begun;
        continue;
      }
      out.visited += part.visited;
      if (part.verdict == Verdict::kNot) out.verdict = Verdict::kNot;
      if (part.verdict == Verdict::kUnknown && out.verdict == Verdict::kLinearisable) {
        out.verdict = Verdict::kUnknown;
        out.why = part.why;
      }
      out.parts.push_back(std::move(part));
    }
    if (out.verdict != Verdict::kNot) return out;
    out.why.clear();
    std::erase_if(out.parts, [&](const CheckedPart& part) {
      out.not_begun += part.verdict == Verdict::kUnknown ? 1 : 0;
      return part.verdict == Verdict::kUnknown;
    });
    return out;
  }

  const Sifted& sifted_;
  const ObjectMaker& make_;
  const CheckOptions& options_;
  std::vector<CheckedPart> parts_;
  std::vector<size_t> order_;
  std::vector<char> begun_;  // not of bool: several threads write
  size_t bytes_ = 0;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  size_t next_ = 0, next_long_ = 0;  // in order_, and in long_
  std::vector<size_t> long_;         // parts whose short time was over
  std::string problem_;
};

}  // namespace

Result<CheckedHistory> check_history(const History& history, const ObjectMaker& make,
                                     const CheckOptions& options) {
  const auto object = make();
  if (!object) return object.error();
  const auto sifted = sift(history, *object.value(), options);
  if (!sifted) return sifted.error();
  auto out = Checker(sifted.value(), make, options).run(object.value()->has_keys());
  if (out) out->left_out = history.calls.size() - sifted->calls.size();
  return out;
}

std::string call_text(const Call& call) {
  std::string out =
      "line " + std::to_string(call.line) + ": process " + call.process + ", " + call.f;
  if (!call.key.empty()) out += " of " + call.key;
  if (!call.asked.is_null()) out += " " + json_text(call.asked);
  if (call.outcome == Outcome::kInfo) return out + ", whose outcome is not known";
  if (call.outcome == Outcome::kFail) return out + ", which failed";
  return call.answered.is_null() && !call.asked.is_null()
             ? out
             : out + " \u2192 " + json_text(call.answered);
}

}  // namespace filibuster::property
