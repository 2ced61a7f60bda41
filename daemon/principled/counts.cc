#include "daemon/principled/counts.h"

#include <algorithm>

namespace filibuster::principled {
namespace {

using K = DiagnosticKind;

std::string times(uint64_t count) {
  return count == 1 ? "once" : count == 0 ? "never" : std::to_string(count) + " times";
}

// Are all calls of these conditions calls of the key? As far as conditions can say it: the key names their method, and has no argument
// that they have not.
bool covers(const Key& key, const StubStatement& stub) {
  stubs::Call call;
  call.service = stub.service.empty() ? key.service : stub.service;
  call.kind = stub.stub.kind;
  call.method = stub.stub.method;
  call.path = stub.stub.kind == stubs::Kind::kGrpc ? "/" + stub.stub.path : stub.stub.path;
  call.arguments = stub.stub.has_whole ? stub.stub.whole : nlohmann::json::object();
  if (!stub.stub.has_whole) {
    for (const auto& [pointer, value] : stub.stub.fields)
      call.arguments[nlohmann::json::json_pointer(pointer)] = value;
  }
  return names_call(key, call);
}

class Counter {
 public:
  explicit Counter(const CountQuestion& question) : question_(question) {}

  std::optional<Diagnostic> wrong() {
    for (const Count& count : question_.statements.declared_again) {
      if (!count.read_only && !compare(count, 0)) return std::move(found_);
    }
    for (const Count& count : question_.statements.counts) {
      if (count.read_only || declared_again(count)) continue;
      if (question_.thrown && comes_after(count)) {
        add(K::kNotDeclaredAgain,
            "the service answers with an error under " + to_text(question_.faults) + ", and " +
                to_text(count.key) +
                " comes after the fault: declare it again for this error, as read-only or with the number of its calls",
            count.at);
        return std::move(found_);
      }
      if (!compare(count, kept_away(count))) return std::move(found_);
    }
    return std::nullopt;
  }

 private:
  void add(DiagnosticKind kind, const std::string& text, const std::string& at) {
    found_ = Diagnostic{kind, text, at, "", question_.faults, {}};
  }

  bool compare(const Count& count, uint64_t kept) {
    const auto reached = static_cast<uint64_t>(std::count_if(
        question_.calls.begin(), question_.calls.end(), [&](const DependencyCall& each) {
          return each.reached && names_call(count.key, each.call);
        }));
    const uint64_t expected = count.times - std::min(count.times, kept);
    if (reached == expected) return true;
    const std::string why = kept == 0 ? ""
                                      : " (" + std::to_string(count.times) + " less " +
                                            std::to_string(kept) + " of the faults)";
    add(question_.faults.empty() ? K::kCountDiffers : K::kStubsDidNotHold,
        to_text(count.key) + " is to be called " + times(expected) + why + ", and was called " +
            times(reached),
        count.at);
    return false;
  }

  uint64_t kept_away(const Count& count) const {
    return static_cast<uint64_t>(std::count_if(
        question_.calls.begin(), question_.calls.end(), [&](const DependencyCall& each) {
          return each.faulted && !each.reached && names_call(count.key, each.call);
        }));
  }

  // Is what the count says replaced by the block of this error or of this fault?
  bool declared_again(const Count& count) const {
    return std::any_of(question_.statements.declared_again.begin(),
                       question_.statements.declared_again.end(), [&](const Count& other) {
                         return covers(other.key, {count.key.service, count.key.call, ""});
                       });
  }

  // Its calls came behind those that have a fault now.
  bool comes_after(const Count& count) const {
    if (question_.before == nullptr || question_.faults.empty()) return false;
    const std::vector<DependencyCall>& before = *question_.before;
    // The number of calls up to the fault is that of this execution.
    const auto faulted = std::find_if(question_.calls.rbegin(), question_.calls.rend(),
                                      [](const DependencyCall& each) { return each.faulted; });
    if (faulted == question_.calls.rend()) return false;
    const auto place = static_cast<size_t>(question_.calls.rend() - faulted);
    return std::any_of(
        before.begin() + static_cast<std::ptrdiff_t>(std::min(place, before.size())), before.end(),
        [&](const DependencyCall& each) { return names_call(count.key, each.call); });
  }

  const CountQuestion& question_;
  Diagnostic found_{};
};

}  // namespace

std::optional<Diagnostic> uncovered_stub(const Statements& statements) {
  for (const StubStatement& stub : statements.stubs) {
    const bool covered = std::any_of(statements.counts.begin(), statements.counts.end(),
                                     [&](const Count& count) { return covers(count.key, stub); });
    if (covered) continue;
    return Diagnostic{
        K::kStubHasNoCount,
        stub.stub.name +
            " is covered by no exact count: say how often it is called, or that it is read-only",
        stub.at,
        "",
        {},
        {}};
  }
  return std::nullopt;
}

std::optional<Diagnostic> wrong_count(const CountQuestion& question) {
  return Counter(question).wrong();
}

}  // namespace filibuster::principled
