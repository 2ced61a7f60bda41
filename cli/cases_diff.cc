#include <iostream>
#include <map>

#include "cli/cases_text.h"
#include "cli/verb.h"
#include "daemon/cases/fields.h"
#include "daemon/cases/identity.h"
#include "daemon/cases/route.h"
#include "daemon/record/redactor.h"
#include "daemon/replay/case_set.h"

namespace filibuster::cli {
namespace {

using cases::Call;
using cases::Case;

// A case without its secrets, since tokens are others in each recording.
struct MaskedCase {
  const Case* as_written = nullptr;
  Case value;
  Hash128 asked;    // the request and the calls
  Hash128 request;  // that alone
};

// What varies is masked in one of the sets, or in both.
cases::Rules rules_of_both(const replay::LoadedSet& before, const replay::LoadedSet& now) {
  const auto append = [](auto* to, const auto& from) {
    to->insert(to->end(), from.begin(), from.end());
  };
  cases::CaseSet both = now.set;
  append(&both.masks, before.set.masks);
  append(&both.any_type, before.set.any_type);
  append(&both.unordered, before.set.unordered);
  append(&both.varying_headers, before.set.varying_headers);
  append(&both.optional_headers, before.set.optional_headers);
  auto rules = cases::rules_of(both);
  // More than a set can have: then those of the newer one.
  return rules ? std::move(rules).value() : now.rules;
}

std::vector<MaskedCase> masked_cases(const replay::LoadedSet& set, const cases::Rules& rules) {
  const auto secrets = SecretRules::compile(set.set.redact);
  std::vector<MaskedCase> out;
  for (const Case& each : set.cases) {
    MaskedCase row{&each, each, {}, {}};
    record::Redactor::masking(secrets).redact(&row.value);
    row.asked = cases::hash_of_case(row.value, rules);
    row.request = cases::hash_of(cases::entry_fields(row.value.request, rules));
    out.push_back(std::move(row));
  }
  return out;
}

struct CasePair {
  const MaskedCase *before = nullptr, *now = nullptr;
};

// Those that ask the same belong together, and of the others those with the same request: each in the order of their recording.
std::vector<CasePair> pairs_of(const std::vector<MaskedCase>& before,
                               const std::vector<MaskedCase>& now) {
  std::vector<CasePair> out;
  std::vector<bool> is_taken(before.size());
  std::vector<const MaskedCase*> partner(now.size());
  for (Hash128 MaskedCase::*key : {&MaskedCase::asked, &MaskedCase::request}) {
    std::multimap<Hash128, size_t> open;
    for (size_t i = 0; i < before.size(); ++i) {
      if (!is_taken[i]) open.emplace(before[i].*key, i);
    }
    for (size_t i = 0; i < now.size(); ++i) {
      const auto found = partner[i] == nullptr ? open.find(now[i].*key) : open.end();
      if (found == open.end()) continue;
      partner[i] = &before[found->second];
      is_taken[found->second] = true;
      open.erase(found);
    }
  }
  for (size_t i = 0; i < before.size(); ++i) {
    if (!is_taken[i]) out.push_back({&before[i], nullptr});
  }
  for (size_t i = 0; i < now.size(); ++i) out.push_back({partner[i], &now[i]});
  return out;
}

// As an answer of HTTP, whose fields are known how to compare.
cases::Answer answer_of_call(const Call& call) {
  if (call.input.kind == cases::Kind::kHttp || !call.reply) return call.answer;
  cases::Answer out;
  out.body = call.reply->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return out;
}

class CaseComparison {
 public:
  CaseComparison(const Case& before, const Case& now, const cases::Rules& rules)
      : before_(before), now_(now), rules_(rules) {}

  std::vector<std::string> lines() {
    add("the request", cases::entry_fields(before_.request, rules_),
        cases::entry_fields(now_.request, rules_));
    const size_t both = std::min(before_.calls.size(), now_.calls.size());
    for (size_t i = 0; i < both; ++i) call(i);
    for (size_t i = both; i < before_.calls.size(); ++i)
      out_.push_back(name(i, before_.calls[i]) + " is gone");
    for (size_t i = both; i < now_.calls.size(); ++i)
      out_.push_back(name(i, now_.calls[i]) + " is new");
    add("the answer", cases::answer_fields(before_.answer, before_.request, rules_),
        cases::answer_fields(now_.answer, now_.request, rules_));
    if (out_.empty() && !(uncompared(before_) == uncompared(now_)))
      out_.push_back("headers that are not compared, places in the program, or pauses of bodies");
    return std::move(out_);
  }

 private:
  static std::string name(size_t place, const Call& call) {
    return "call " + std::to_string(place) + ", " + cases::call_text(call.input) + ",";
  }

  // What is in no field: what is masked is not in it.
  Case uncompared(Case of) const {
    of.base_us = 0;
    of.seen = 1;
    of.start.clear();  // names of cases, which are others where what varies is another one
    of.request.target = of.request.body = "";
    without_fields(&of.answer);
    for (Call& call : of.calls) {
      call.input.http.target = call.input.http.body = "";
      call.input.command = {};
      if (call.reply) call.reply = nlohmann::json();
      without_fields(&call.answer);
    }
    return of;
  }
  static void without_fields(cases::Answer* answer) {
    answer->status = 0;
    answer->body = "";
    answer->headers = answer->trailers = {};
  }

  void call(size_t place) {
    const Call &old = before_.calls[place], &other = now_.calls[place];
    const bool same_kind = old.input.kind == other.input.kind && old.input.to == other.input.to;
    if (!same_kind) {
      out_.push_back(name(place, old) + " is now " + cases::call_text(other.input));
      return;
    }
    add(name(place, other), cases::input_fields(old.input, rules_),
        cases::input_fields(other.input, rules_));
    add("the answer to call " + std::to_string(place),
        cases::answer_fields(answer_of_call(old), old.input.http, rules_),
        cases::answer_fields(answer_of_call(other), other.input.http, rules_));
    if (old.after != other.after) out_.push_back(name(place, other) + " waits for other calls");
  }

  void add(const std::string& what, const cases::Fields& old, const cases::Fields& other) {
    constexpr size_t kMostFields = 4;
    const auto found = cases::differences(old, other);
    if (!found.empty()) out_.push_back(what + " " + cases::to_text(found, kMostFields));
  }

  const Case &before_, &now_;
  const cases::Rules& rules_;
  std::vector<std::string> out_;
};

}  // namespace

int diff_cases(const std::string& before, const std::string& now) {
  std::vector<ConfigError> errors;
  const replay::LoadedSet old_set = replay::load_cases(before, &errors);
  const replay::LoadedSet new_set = replay::load_cases(now, &errors);
  if (!errors.empty()) return complain_of_files(errors);
  const cases::Rules rules = rules_of_both(old_set, new_set);
  const std::vector<MaskedCase> old_cases = masked_cases(old_set, rules),
                                new_cases = masked_cases(new_set, rules);
  const std::vector<CasePair> pairs = pairs_of(old_cases, new_cases);
  size_t different = 0;
  for (const auto& [old_case, new_case] : pairs) {
    std::vector<std::string> lines;
    if (old_case != nullptr && new_case != nullptr) {
      lines = CaseComparison(old_case->value, new_case->value, rules).lines();
      if (lines.empty()) continue;
    }
    ++different;
    const MaskedCase& any = new_case != nullptr ? *new_case : *old_case;
    std::cout << (old_case == nullptr   ? "new"
                  : new_case == nullptr ? "gone"
                                        : "different")
              << ": " << cases::route_of(any.value.request.method, any.value.request.target) << "  "
              << case_file_name(*any.as_written) << "\n";
    for (const std::string& line : lines) std::cout << "    " << line << "\n";
  }
  std::cout << counted_cases(pairs.size(), "case") << ", " << different << " different\n";
  return different == 0 ? kNothingFound : kFailuresFound;
}

}  // namespace filibuster::cli
