// What the store keeps of executions, findings and RPCs for a later session and for the report. Their texts in the file
// have no secrets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/model/execution.h"
#include "daemon/model/skipped.h"

namespace filibuster::search {

struct ResultRow {
  uint32_t number = 0;  // of the execution in the session
  uint32_t id = 0;      // AbstractId
  Verdict verdict = Verdict::kPassed;
  double seconds = 0;
  std::optional<Skipped> skipped;    // why it allows no conclusion, or was not quiet in time
  std::optional<Execution> failure;  // of an execution that is a failure; its `test` is not kept
};

struct FindingRow {
  uint32_t number = 0;             // of the counterexample file
  std::optional<bool> reproduced;  // nullopt: it could not be replayed
  std::string counterexample;      // path of the file
};

std::string to_text(const ResultRow& row);
std::string to_text(const FindingRow& row);
std::string to_text(const InjectedFault& rpc);
// nullopt: the text is damaged, since this major version of the store wrote it.
std::optional<ResultRow> result_from(uint32_t number, std::string_view text);
std::optional<FindingRow> finding_from(std::string_view text);
std::optional<InjectedFault> rpc_from(std::string_view text);

}  // namespace filibuster::search
