// What a search store is made of: its database, the prepared statements, and the open transaction. For the files of this
// folder alone.
#pragma once

#include <sqlite3.h>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/base/processor_time.h"
#include "daemon/store/store.h"

namespace filibuster::search {

// One row per prepared statement.
enum Sql : size_t {
  kBegin,
  kCommit,
  kGetProgress,
  kSetProgress,
  kGetCounters,
  kSetCounters,
  kGetSaved,
  kSave,
  kGetTree,
  kPutTree,
  kGetFinding,
  kPutFinding,
  kGetKnownRpc,
  kPutKnownRpc,
  kGetUnordered,
  kNoteUnordered,
  kAddOutcome,
  kPutResult,
  kAddRpc,
  kAddFaultList,
  kAddAbstract,
  kDecide,
  kAddConcrete,
  kGetConcrete,
  kSqlCount,
};
// What to do about an error of SQLite.
std::string advice(int code);
std::string_view column_view(sqlite3_stmt* statement, int column);

struct SearchStore::State {
  std::string path;
  sqlite3* db = nullptr;
  std::array<sqlite3_stmt*, kSqlCount> statements{};
  std::unordered_map<std::string, OutcomeId> outcome_ids;
  std::vector<const std::string*> outcome_texts;  // keys of the map: stable addresses
  bool open_transaction = false;
  std::chrono::steady_clock::time_point begun;
  // Rows of the open transaction that are not written yet, with ascending ids: most abstract
  // executions are decided soon after they were scheduled, and so need one write instead of two.
  std::vector<AbstractRow> rows;
  uint64_t duplicate = 0, beyond_bound = 0;
  bool counters_changed = false;
  // The first failed write. The transaction was rolled back with it, so that the file holds whole
  // operations only; nothing is written any more.
  std::optional<Error> failed;

  double seconds = 0;  // processor seconds of writing
  bool writing = false;
  // Measures a write. Only the outermost one reads the clock, not the writes that it consists of.
  struct Measured {
    explicit Measured(State* s) : state(s->writing ? nullptr : s) {
      if (state == nullptr) return;
      state->writing = true;
      began = processor_seconds();
    }
    ~Measured() {
      if (state == nullptr) return;
      state->seconds += processor_seconds() - began;
      state->writing = false;
    }
    Measured(const Measured&) = delete;
    Measured& operator=(const Measured&) = delete;
    State* state;
    double began = 0;
  };

  ~State() {
    for (sqlite3_stmt* statement : statements) sqlite3_finalize(statement);
    sqlite3_close(db);
  }

  Error error(int code) const {
    const std::string reason = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    return Error{"search store " + path + ": " + reason + "; " + advice(code)};
  }
  Result<void> execute(const char* sql) {
    const int code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return error(code);
    return {};
  }
  sqlite3_stmt* at(Sql sql) { return statements[sql]; }
  // Runs a statement that returns no row, and makes it ready for its next use.
  Result<void> run(Sql sql);
  Result<void> fail(const Error& why);
  Result<void> begin();
  Result<void> write(Sql sql);
  Result<void> write_rows();
  void bind(Sql sql, int place, uint64_t value) {
    sqlite3_bind_int64(at(sql), place, static_cast<sqlite3_int64>(value));
  }
  // The bytes must live until the statement ran.
  void bind_text(Sql sql, int place, std::string_view text) {
    sqlite3_bind_text(at(sql), place, text.data() == nullptr ? "" : text.data(),
                      static_cast<int>(text.size()), SQLITE_STATIC);
  }
  void bind_blob(Sql sql, int place, std::string_view blob) {
    sqlite3_bind_blob(at(sql), place, blob.data() == nullptr ? "" : blob.data(),
                      static_cast<int>(blob.size()), SQLITE_STATIC);
  }
  Result<void> each(const char* sql, const std::function<void(sqlite3_stmt*)>& row);
  // Shows the first row of a bound statement, if there is one.
  Result<void> first(Sql sql, const std::function<void(sqlite3_stmt*)>& row);
  // The text that a table of texts has under `key`.
  Result<std::optional<std::string>> text_at(Sql sql, std::string_view key);
  // The same as a row that `read` makes of it.
  template <typename Row>
  Result<std::optional<Row>> row_at(Sql sql, std::string_view key,
                                    std::optional<Row> (*read)(std::string_view)) {
    auto text = text_at(sql, key);
    if (!text) return text.error();
    if (!text.value()) return std::optional<Row>();
    auto row = read(*text.value());
    if (!row) return error(SQLITE_CORRUPT);
    return row;
  }
  Result<void> put(Sql sql, std::string_view key, std::string_view text) {
    bind_text(sql, 1, key);
    bind_text(sql, 2, text);
    return write(sql);
  }
  Result<void> prepare();
  Result<void> check_version();
  Result<void> load_outcomes();
};

}  // namespace filibuster::search
