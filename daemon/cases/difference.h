// What a replay shows: the case passed, or how it differs, or that nothing can be concluded. Only
// the first divergence is the finding; what follows it is listed, since it usually follows from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cases/fields.h"
#include "daemon/cases/matching.h"
#include "daemon/cases/model.h"

namespace filibuster::cases {

enum class DifferenceKind : uint8_t {
  kOrder,    // the same calls, but one came before another was answered behind which it stood
  kInput,    // a recorded call now brings something else
  kMissing,  // a recorded call did not come
  kExtra,    // a call came that is not recorded
  kAnswer,   // the calls are the same, the answer is another
};
std::string_view difference_name(DifferenceKind kind);

struct Difference {
  DifferenceKind kind = DifferenceKind::kAnswer;
  std::optional<size_t> call;     // its place in the case; kOrder: of the one that came too early
  std::optional<size_t> before;   // kOrder: of the one that was not answered
  std::optional<size_t> arrival;  // kInput, kExtra: in Matcher::arrivals()
  std::vector<FieldDifference> fields;  // kInput, kAnswer
  std::string text;                     // one line
  int line = 0;                         // in the file of the case; 0: not of a call
  bool is_moved = false;                // kInput: it is a call of another route now
};

enum class Judged : uint8_t { kPassed, kDiffers, kNoConclusion };

// How the request of the case ended.
struct EntryEnd {
  std::string not_sent;  // why it could not be sent; "": it was
  Answer answer;         // `silence` where none came
};

struct Verdict {
  Judged judged = Judged::kNoConclusion;
  std::string why;  // of kNoConclusion
  // kDiffers: the first one is the finding, the others come afterwards. Of kNoConclusion what was
  // seen nevertheless.
  std::vector<Difference> differences;
  size_t served = 0;   // calls that were answered
  size_t arrived = 0;  // calls that came
  size_t recorded = 0;
};

// `doubts`: what else keeps a proof away, a sentence each ("3 events were lost").
Verdict judge(const Case& of, const Matcher& matcher, const EntryEnd& end, const Rules& rules,
              const std::vector<std::string>& doubts);

// Of all cases of a set. Cases with calls, none of which came, prove nothing.
Judged judge_set(const std::vector<Verdict>& verdicts);

}  // namespace filibuster::cases
