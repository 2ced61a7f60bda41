#include "daemon/store/store.h"

#include <sqlite3.h>

#include <array>
#include <chrono>
#include <utility>

#include "daemon/base/fail_point.h"
#include "daemon/store/store_state.h"

namespace filibuster::search {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxRows = 1 << 16;  // abstract executions that may wait for a commit

constexpr std::array<std::string_view, static_cast<size_t>(Saved::kCount)> kSavedNames = {
    "files",       "files_by_hand", "reference",  "masks",    "proposed_masks", "unstable",
    "variations",  "rpcs",          "timeouts",   "refusals", "observed",       "given_up",
    "appearances", "drifts",        "sent_again", "suspects", "early_attempts",
};

}  // namespace

SearchStore::SearchStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
SearchStore::~SearchStore() {
  (void)flush();
}

Result<void> SearchStore::flush() {
  State& s = *state_;
  if (s.failed) return *s.failed;
  if (s.counters_changed) {
    s.counters_changed = false;
    s.bind(kSetCounters, 1, s.duplicate);
    s.bind(kSetCounters, 2, s.beyond_bound);
    if (auto put = s.write(kSetCounters); !put) return put;
  }
  if (!s.open_transaction) return {};
  const State::Measured measured(&s);
  if (auto written = s.write_rows(); !written) return written;
  fail_point("committing");
  if (auto committed = s.run(kCommit); !committed) return s.fail(committed.error());
  s.open_transaction = false;
  return {};
}

double SearchStore::seconds() const {
  return state_->seconds;
}

Result<void> SearchStore::health() const {
  if (state_->failed) return *state_->failed;
  return {};
}

Result<void> SearchStore::commit_if_older(int milliseconds) {
  State& s = *state_;
  if (!s.open_transaction) return {};
  if (Clock::now() - s.begun < std::chrono::milliseconds(milliseconds)) return {};
  return flush();
}

Result<void> SearchStore::forget_search() {
  if (auto done = flush(); !done) return done;
  auto done = state_->execute(
      "BEGIN IMMEDIATE; DELETE FROM rpc; DELETE FROM fault_list;"
      "DELETE FROM abstract; DELETE FROM concrete; DELETE FROM result;"
      "UPDATE exploration SET duplicate = 0, beyond_bound = 0; COMMIT");
  if (!done) {
    (void)state_->execute("ROLLBACK");
    return done;
  }
  state_->duplicate = state_->beyond_bound = 0;
  state_->counters_changed = false;
  return {};
}

Result<Progress> SearchStore::progress() {
  Progress out;
  auto read = state_->first(kGetProgress, [&](sqlite3_stmt* row) {
    out.test = column_view(row, 0);
    out.finished = sqlite3_column_int64(row, 1) != 0;
  });
  if (!read) return read.error();
  return out;
}

Result<void> SearchStore::set_progress(const Progress& progress) {
  state_->bind_text(kSetProgress, 1, progress.test);
  state_->bind(kSetProgress, 2, progress.finished ? 1 : 0);
  return state_->write(kSetProgress);
}

Result<std::optional<std::string>> SearchStore::saved(Saved which) {
  return state_->text_at(kGetSaved, kSavedNames[static_cast<size_t>(which)]);
}

Result<void> SearchStore::save(Saved which, std::string_view text) {
  return state_->put(kSave, kSavedNames[static_cast<size_t>(which)], text);
}

Result<std::optional<std::string>> SearchStore::tree(uint32_t number) {
  std::optional<std::string> out;
  state_->bind(kGetTree, 1, number);
  auto read = state_->first(kGetTree, [&](sqlite3_stmt* row) { out.emplace(column_view(row, 0)); });
  if (!read) return read.error();
  return out;
}

Result<void> SearchStore::put_tree(uint32_t number, std::string_view json) {
  state_->bind(kPutTree, 1, number);
  state_->bind_text(kPutTree, 2, json);
  return state_->write(kPutTree);
}

Result<std::optional<FindingRow>> SearchStore::finding(std::string_view faults) {
  return state_->row_at<FindingRow>(kGetFinding, faults, finding_from);
}

Result<void> SearchStore::put_finding(std::string_view faults, const FindingRow& row) {
  return state_->put(kPutFinding, faults, to_text(row));
}

Result<std::optional<InjectedFault>> SearchStore::known_rpc(Hash128 index) {
  return state_->row_at<InjectedFault>(kGetKnownRpc, to_hex(index), rpc_from);
}

Result<void> SearchStore::put_known_rpc(const InjectedFault& rpc) {
  return state_->put(kPutKnownRpc, to_hex(rpc.index), to_text(rpc));
}

Result<bool> SearchStore::is_unordered(Hash128 place) {
  auto found = state_->text_at(kGetUnordered, to_hex(place));
  if (!found) return found.error();
  return found.value().has_value();
}

Result<void> SearchStore::note_unordered(Hash128 place) {
  const std::string hex = to_hex(place);
  state_->bind_text(kNoteUnordered, 1, hex);
  return state_->write(kNoteUnordered);
}

Result<OutcomeId> SearchStore::outcome(std::string_view text) {
  State& s = *state_;
  std::string key(text);
  if (auto found = s.outcome_ids.find(key); found != s.outcome_ids.end()) return found->second;
  const auto id = static_cast<OutcomeId>(s.outcome_texts.size());
  s.bind(kAddOutcome, 1, id);
  s.bind_text(kAddOutcome, 2, text);
  if (auto added = s.write(kAddOutcome); !added) return added.error();
  s.outcome_texts.push_back(&s.outcome_ids.emplace(std::move(key), id).first->first);
  return id;
}

std::string_view SearchStore::outcome_text(OutcomeId id) const {
  return id < state_->outcome_texts.size() ? *state_->outcome_texts[id] : std::string_view{};
}

Result<void> SearchStore::put_result(const ResultRow& row) {
  const std::string text = to_text(row);
  state_->bind(kPutResult, 1, row.number);
  state_->bind_text(kPutResult, 2, text);
  return state_->write(kPutResult);
}

Result<std::vector<ResultRow>> SearchStore::results() {
  std::vector<ResultRow> rows;
  bool valid = true;
  auto read =
      state_->each("SELECT number, json FROM result ORDER BY number", [&](sqlite3_stmt* at) {
        auto row =
            result_from(static_cast<uint32_t>(sqlite3_column_int64(at, 0)), column_view(at, 1));
        valid = valid && row;
        if (row) rows.push_back(std::move(*row));
      });
  if (!read) return read.error();
  if (!valid) return state_->error(SQLITE_CORRUPT);
  return rows;
}

Result<void> SearchStore::add_rpc(uint32_t number, Hash128 index) {
  const std::string hex = to_hex(index);
  state_->bind(kAddRpc, 1, number);
  state_->bind_text(kAddRpc, 2, hex);
  return state_->write(kAddRpc);
}

Result<void> SearchStore::add_fault_list(uint32_t number, std::string_view packed) {
  state_->bind(kAddFaultList, 1, number);
  state_->bind_blob(kAddFaultList, 2, packed);
  return state_->write(kAddFaultList);
}

Result<void> SearchStore::add_abstract(const AbstractRow& row) {
  State& s = *state_;
  if (auto ready = s.begin(); !ready) return ready;
  const bool follows = s.rows.empty() || row.id == s.rows.back().id + 1;
  if (!follows || s.rows.size() >= kMaxRows) {
    if (auto written = s.write_rows(); !written) return written;
  }
  s.rows.push_back(row);
  return {};
}

Result<void> SearchStore::decide(AbstractId id, AbstractState state, std::string_view reason) {
  State& s = *state_;
  const bool waiting = !s.rows.empty() && id >= s.rows.front().id && id <= s.rows.back().id;
  if (waiting && reason.empty()) {
    s.rows[id - s.rows.front().id].state = state;
    return {};
  }
  if (waiting) {
    if (auto written = s.write_rows(); !written) return written;
  }
  s.bind(kDecide, 1, id);
  s.bind(kDecide, 2, static_cast<uint64_t>(state));
  if (reason.empty()) {
    sqlite3_bind_null(s.at(kDecide), 3);
  } else {
    s.bind_text(kDecide, 3, reason);
  }
  return s.write(kDecide);
}

Result<void> SearchStore::add_concrete(AbstractId id, bool predicted, std::string_view packed) {
  state_->bind(kAddConcrete, 1, id);
  state_->bind(kAddConcrete, 2, predicted ? 1 : 0);
  state_->bind_blob(kAddConcrete, 3, packed);
  return state_->write(kAddConcrete);
}

Result<std::string> SearchStore::concrete(AbstractId id) {
  State& s = *state_;
  s.bind(kGetConcrete, 1, id);
  std::optional<std::string> packed;
  auto read =
      s.first(kGetConcrete, [&](sqlite3_stmt* row) { packed.emplace(column_view(row, 0)); });
  if (!read) return read.error();
  if (packed) return std::move(*packed);
  return Error{"search store " + s.path + ": execution " + std::to_string(id) + " is missing; " +
               advice(SQLITE_CORRUPT)};
}

void SearchStore::set_counters(uint64_t duplicate, uint64_t beyond_bound) {
  State& s = *state_;
  if (s.duplicate == duplicate && s.beyond_bound == beyond_bound) return;
  s.duplicate = duplicate;
  s.beyond_bound = beyond_bound;
  s.counters_changed = true;
}

Result<std::pair<uint64_t, uint64_t>> SearchStore::counters() {
  State& s = *state_;
  auto read = s.first(kGetCounters, [&](sqlite3_stmt* row) {
    s.duplicate = static_cast<uint64_t>(sqlite3_column_int64(row, 0));
    s.beyond_bound = static_cast<uint64_t>(sqlite3_column_int64(row, 1));
  });
  if (!read) return read.error();
  return std::pair<uint64_t, uint64_t>{s.duplicate, s.beyond_bound};
}

Result<void> SearchStore::each_rpc(const std::function<void(uint32_t, Hash128)>& row) {
  bool valid = true;
  auto read = state_->each("SELECT number, hash FROM rpc ORDER BY number", [&](sqlite3_stmt* at) {
    Hash128 index;
    valid = from_hex(column_view(at, 1), &index) && valid;
    row(static_cast<uint32_t>(sqlite3_column_int64(at, 0)), index);
  });
  if (read.ok() && !valid) return state_->error(SQLITE_CORRUPT);
  return read;
}

Result<void> SearchStore::each_fault_list(
    const std::function<void(uint32_t, std::string_view)>& row) {
  return state_->each("SELECT number, faults FROM fault_list ORDER BY number",
                      [&](sqlite3_stmt* at) {
                        row(static_cast<uint32_t>(sqlite3_column_int64(at, 0)), column_view(at, 1));
                      });
}

Result<void> SearchStore::each_abstract(const std::function<void(const AbstractRow&)>& row) {
  if (auto written = state_->write_rows(); !written) return written;
  return state_->each("SELECT id, parent, rpc, position, fault, state FROM abstract ORDER BY id",
                      [&](sqlite3_stmt* at) {
                        const auto number = [at](int column) {
                          return static_cast<uint32_t>(sqlite3_column_int64(at, column));
                        };
                        row({number(0), number(1), number(2), number(3), number(4),
                             static_cast<AbstractState>(number(5))});
                      });
}

Result<void> SearchStore::each_concrete(
    const std::function<void(AbstractId, bool, std::string_view)>& row) {
  return state_->each("SELECT id, predicted, rpcs FROM concrete ORDER BY id",
                      [&](sqlite3_stmt* at) {
                        row(static_cast<AbstractId>(sqlite3_column_int64(at, 0)),
                            sqlite3_column_int64(at, 1) != 0, column_view(at, 2));
                      });
}

Result<std::vector<std::pair<AbstractId, std::string>>> SearchStore::reasons(AbstractState state) {
  if (auto written = state_->write_rows(); !written) return written.error();
  std::vector<std::pair<AbstractId, std::string>> rows;
  const std::string sql = "SELECT id, reason FROM abstract WHERE reason IS NOT NULL AND state = " +
                          std::to_string(static_cast<int>(state)) + " ORDER BY id";
  auto read = state_->each(sql.c_str(), [&](sqlite3_stmt* at) {
    rows.emplace_back(static_cast<AbstractId>(sqlite3_column_int64(at, 0)), column_view(at, 1));
  });
  if (!read) return read.error();
  return rows;
}

}  // namespace filibuster::search
