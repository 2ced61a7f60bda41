// What varies from replay to replay of one and the same case, on one and the same version of the service: times, identifiers,
// durations, the order of what has none. Such fields are masked, and nothing else is: a field that differs from the recording and is
// the same in every replay is no noise. Pure.
//
//   Noise noise(&set);                         // whose rules say what is compared
//   ... a pass over the cases: noise.saw(case, verdict) for each replay ...
//   Varying found = noise.take();              // add(found, &set) makes it count from then on
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/cases/difference.h"
#include "daemon/cases/fields.h"
#include "daemon/cases/model.h"

namespace filibuster::cases {

struct Varying {
  std::vector<NondeterminismRule> masks, any_type, unordered;  // as a set has them
  std::vector<std::string> headers, optional_headers;  // of answers of the service, in lower case
  std::vector<std::string> words;                      // for people: one for each field
  bool any() const {
    return !masks.empty() || !headers.empty() || !any_type.empty() || !unordered.empty() ||
           !optional_headers.empty();
  }
};
// Error: the rules would be more than a set can have, and it is as it was.
Result<void> add(const Varying& varying, CaseSet* set);

class Noise {
 public:
  explicit Noise(const CaseSet* set) : set_(*set) {}

  // How the case ended in one replay. Only the first divergence counts, since what follows it may follow from it.
  void saw(const Case& of, const Verdict& verdict);
  // What has had different values in the replays of a case by now. Each field is told once.
  Varying take();
  // Did a field of the case differ in the only replay that came so far, so that nothing can be said of it yet?
  bool is_open(const Case& of) const;

 private:
  // Of a case, by its file: the answer of the service, or a call of it.
  struct Place {
    std::string file;
    std::optional<size_t> call;
    auto operator<=>(const Place&) const = default;
  };
  struct Seen {
    const Case* of = nullptr;
    std::string recorded;
    std::vector<std::string> values;  // of the replays in which it was not the recorded one
    bool told = false, told_optional = false;
  };
  enum class Rule : uint8_t { kMask, kAnyType, kUnordered };
  // Lists that came in another order, and those in which other elements came: by the shape of their elements.
  struct Lists {
    std::set<std::string> permuted, varied;
  };
  bool varies(const Place& place, const Seen& seen) const;
  std::string list_without_order(const Place& place, const Case& of,
                                 const std::string& shape) const;
  std::set<std::string> with_lists(const Place& place, const Case& of,
                                   const std::set<std::string>& pointers,
                                   std::set<std::string>* unordered) const;
  void propose(const Place& place, const std::map<std::string, Seen>& fields,
               const std::set<std::string>& pointers, Rule as, Varying* out) const;
  void take_headers(const Place& place, std::map<std::string, Seen>* fields, Varying* out) const;

  const CaseSet& set_;
  std::map<Place, std::map<std::string, Seen>> seen_;  // by pointer
  std::map<Place, size_t> replays_;                    // that ended there
  std::set<std::string> passed_;                       // files of cases that did once
  std::map<Place, Lists> lists_;
  std::set<std::string> told_;  // words
};

}  // namespace filibuster::cases
