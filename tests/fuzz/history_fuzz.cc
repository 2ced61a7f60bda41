// A history of operations as `filibuster check` reads it: JSON lines, EDN, or Jepsen's log. Reading it must survive anything, and so must each
// built-in object whose calls it has, each check in one pass, and what is said of them. Where a history has keys, all keys as one object
// have the same verdict as each key alone, and two threads the same as one.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/property/history.h"
#include "daemon/property/history_document.h"
#include "daemon/property/linear_checks.h"
#include "daemon/property/linearisability.h"

namespace {

using namespace filibuster;
using namespace filibuster::property;
using linear::Verdict;

constexpr int kMostSteps = 2000;  // that a search asks for

// Another object, which is soon tired.
class Bounded final : public Object {
 public:
  explicit Bounded(std::unique_ptr<Object> object) : object_(std::move(object)) {}
  Result<void> accepts(const Call& call) const override { return object_->accepts(call); }
  bool only_reads(const Call& call) const override { return object_->only_reads(call); }
  bool has_keys() const override { return object_->has_keys(); }
  Words initial() override { return object_->initial(); }
  std::optional<Words> next(const Words& from, const Call& call) override {
    if (++steps_ > kMostSteps) return std::nullopt;
    return object_->next(from, call);
  }
  nlohmann::json state(const Words& words) const override { return object_->state(words); }
  std::string problem() const override { return steps_ > kMostSteps ? "it is tired" : ""; }

 private:
  const std::unique_ptr<Object> object_;
  int steps_ = 0;
};

nlohmann::json initial_of(std::string_view model) {
  return model == "bank" ? nlohmann::json{{"a", 10}, {"b", 0}} : nlohmann::json();
}

// nullopt: there is no verdict under these bounds.
std::optional<Verdict> verdict_of(const History& history, std::string_view model, size_t threads,
                                  bool partition, bool evidence) {
  const ObjectMaker make = [&]() -> Result<std::unique_ptr<Object>> {
    auto object = make_object(model, initial_of(model));
    if (!object) std::abort();
    return std::unique_ptr<Object>(std::make_unique<Bounded>(std::move(object).value()));
  };
  CheckOptions options;
  options.threads = threads;
  options.bytes = size_t{1} << 20;
  options.partition = partition;
  options.evidence = evidence;
  auto checked = check_history(history, make, options);
  if (!checked) {
    if (checked.error().message.empty()) std::abort();
    return std::nullopt;
  }
  HistoryResults results;
  results.file = "f";
  results.model = std::string(model);
  results.history = &history;
  results.checked = std::move(checked).value();
  const Verdict verdict = results.checked.verdict;
  if (history_text(results).empty()) std::abort();
  (void)json_text(history_json(results));
  for (const CheckedPart& part : results.checked.parts) {
    if (part.verdict == Verdict::kNot && (part.orders.empty() || !part.orders.front().stuck))
      std::abort();
  }
  return verdict == Verdict::kUnknown ? std::nullopt : std::optional(verdict);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto history = read_history({reinterpret_cast<const char*>(data), size});
  if (!history) {
    // "LINE: what was expected"
    if (std::strtol(history.error().message.c_str(), nullptr, 10) < 1) std::abort();
    return 0;
  }
  for (const std::string_view name : linear_check_names()) {
    auto problems = check_in_one_pass(name, history.value());
    if (!problems) continue;
    HistoryResults results;
    results.file = "f";
    results.model = std::string(name);
    results.history = &history.value();
    results.in_one_pass = true;
    results.problems = std::move(problems).value();
    (void)history_text(results);
    (void)json_text(history_json(results));
  }
  for (const std::string_view model : object_names()) {
    const auto whole = verdict_of(history.value(), model, 1, false, false);
    const auto parts = verdict_of(history.value(), model, 1, true, false);
    if (whole && parts && *whole != *parts) std::abort();
    (void)verdict_of(history.value(), model, 1, true, true);
    if (model != "kv") continue;
    const auto by_two = verdict_of(history.value(), model, 2, true, false);
    if (parts && by_two && *parts != *by_two) std::abort();
  }
  return 0;
}
