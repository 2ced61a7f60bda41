#include "daemon/store/rows.h"

#include <nlohmann/json.hpp>

#include "daemon/model/fault_json.h"
#include "daemon/redact/redact.h"

namespace filibuster::search {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(Json json) {
  redact_texts(&json);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json to_row(const Mending& mending) {
  return {{"begin", mending.begin},
          {"of", mending.of},
          {"end", mending.end},
          {"end_of_several", mending.end_of_several}};
}

Mending mending_from(const Json& json) {
  return {json.at("begin"), json.at("of").get<std::vector<std::string>>(), json.at("end"),
          json.at("end_of_several")};
}

template <typename Row, typename Read>
std::optional<Row> read_row(std::string_view text, const Read& read) {
  const Json json = Json::parse(text, nullptr, false);
  try {
    Row row;
    if (read(json, &row)) return row;
  } catch (const Json::exception&) {
    // A member is missing, or is of another kind.
  }
  return std::nullopt;
}

}  // namespace

std::string to_text(const ResultRow& row) {
  Json out{{"id", row.id}, {"verdict", static_cast<int>(row.verdict)}, {"seconds", row.seconds}};
  if (row.skipped) {
    out["skipped"] = row.skipped->what;
    out["reason"] = row.skipped->reason;
    if (row.skipped->cause) out["cause"] = static_cast<int>(*row.skipped->cause);
  }
  if (row.failure) {
    const Execution& failure = *row.failure;
    out["failure"] = {{"faults", fault_rows(failure.faults)},
                      {"detail", failure.detail},
                      {"output", failure.output},
                      {"seen", failure.seen},
                      {"would_mend", to_row(failure.mending)}};
  }
  return dump(std::move(out));
}

std::optional<ResultRow> result_from(uint32_t number, std::string_view text) {
  return read_row<ResultRow>(text, [number](const Json& json, ResultRow* row) {
    row->number = number;
    row->id = json.at("id");
    row->verdict = static_cast<Verdict>(json.at("verdict").get<int>());
    row->seconds = json.at("seconds");
    if (json.contains("skipped")) {
      row->skipped = Skipped{json.at("skipped"), json.at("reason"), {}};
      if (json.contains("cause"))
        row->skipped->cause = static_cast<NoConclusion>(json.at("cause").get<int>());
    }
    const auto failure = json.find("failure");
    if (failure == json.end()) return true;
    auto faults = faults_from(failure->at("faults"));
    if (!faults) return false;
    Execution& out = row->failure.emplace();
    out.id = row->id;
    out.number = number;
    out.faults = std::move(faults).value();
    out.verdict = row->verdict;
    out.detail = failure->at("detail");
    out.output = failure->at("output");
    out.seen = failure->at("seen").get<std::vector<std::string>>();
    // A store of an earlier version has a text of another form in its place.
    if (const auto mending = failure->find("would_mend"); mending != failure->end())
      out.mending = mending_from(*mending);
    out.seconds = row->seconds;
    return true;
  });
}

std::string to_text(const FindingRow& row) {
  return dump({{"number", row.number},
               {"reproduced", row.reproduced ? Json(*row.reproduced) : Json(nullptr)},
               {"counterexample", row.counterexample}});
}

std::optional<FindingRow> finding_from(std::string_view text) {
  return read_row<FindingRow>(text, [](const Json& json, FindingRow* row) {
    row->number = json.at("number");
    if (const Json& reproduced = json.at("reproduced"); !reproduced.is_null())
      row->reproduced = reproduced.get<bool>();
    row->counterexample = json.at("counterexample");
    return true;
  });
}

std::string to_text(const InjectedFault& rpc) {
  return dump(fault_rows({rpc}));
}

std::optional<InjectedFault> rpc_from(std::string_view text) {
  return read_row<InjectedFault>(text, [](const Json& json, InjectedFault* rpc) {
    auto faults = faults_from(json);
    if (!faults) return false;
    if (faults.value().size() != 1) return false;
    *rpc = std::move(faults.value().front());
    return true;
  });
}

}  // namespace filibuster::search
