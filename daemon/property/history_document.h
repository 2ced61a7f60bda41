// What `filibuster check` says of a history: as JSON, which its page shows (daemon/page/src/history), and as a text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/property/history.h"
#include "daemon/property/linear_checks.h"
#include "daemon/property/linearisability.h"

namespace filibuster::property {

struct HistoryResults {
  std::string file, model;
  const History* history = nullptr;
  CheckedHistory checked;
  bool in_one_pass =
      false;  // linear_checks.h was asked: `problems` are the result, and `checked` is empty
  std::vector<Problem> problems;

  linear::Verdict verdict() const;
};

// docs/schema/history.schema.json
nlohmann::ordered_json history_json(const HistoryResults& results);
std::string history_text(const HistoryResults& results);

}  // namespace filibuster::property
