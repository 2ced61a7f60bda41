// Histories of operations in files: what clients asked, what they were answered, and when.
//
// Formats, which the text itself tells apart:
// - ours: a JSON object a line, {"process": 0, "type": "invoke", "f": "write", "value": 3}, "type" being invoke, ok, fail or info;
// - EDN with the same keys, a map a line or one vector of maps (Jepsen, Knossos, and the key-value histories of Porcupine);
// - the log of Jepsen that Porcupine's test data have: "INFO  jepsen.util - 0<tab>:invoke<tab>:write<tab>3", or with blanks.
// The order of the lines is the order of time.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/linear/history.h"
#include "core/result.h"

namespace filibuster::property {

enum class Outcome : uint8_t { kOk, kFail, kInfo };
const char* outcome_name(Outcome outcome);

// An operation with its answer.
struct Call {
  std::string process, f;
  nlohmann::json asked,
      answered;          // the values of the invoke, and of what ended it; null where there is none
  std::string key;       // of the object, as `key` of the invoke says; "": there is one object
  bool has_key = false;  // the invoke says it; it may be ""
  Outcome outcome = Outcome::kInfo;        // kInfo also where nothing ended it
  int64_t call = 0, end = linear::kNever;  // numbers of events
  int line = 0;                            // of the invoke
  // Of kInfo, what somebody else has seen of it, as "reached" and "answer" of its info say: whether the request came to the object, and what it
  // was answered.
  std::optional<bool> reached = std::nullopt;
  std::optional<nlohmann::json> seen_answer = std::nullopt;
};

struct History {
  std::vector<Call> calls;  // in the order of their invokes
  uint64_t left_out = 0;    // events of no client (of Jepsen's nemesis)
};

// Error: "LINE: what was expected", as for an end without an invoke, or two operations of one process at once.
Result<History> read_history(std::string_view text);

// In our own format, which read_history() reads.
std::string history_lines(const History& history);

// JSON in one line; what is no UTF-8 is replaced.
std::string json_text(const nlohmann::json& value);

// Are collections in each other deeper than kDeepestValue (edn.h)? Whoever parses JSON from outside asks first.
bool is_too_deep(std::string_view json);

// nullopt: it is no whole number of 64 bits with a sign.
std::optional<int64_t> whole_number(const nlohmann::json& value);

}  // namespace filibuster::property
