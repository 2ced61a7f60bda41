#include "daemon/store/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <unordered_map>

#include "daemon/base/fail_point.h"
#include "daemon/base/processor_time.h"

namespace filibuster::search {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxRows = 1 << 16;  // abstract executions that may wait for a commit
constexpr std::string_view kInMemory = ":memory:";  // a name of SQLite: no file

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
constexpr std::array<const char*, kSqlCount> kSql = {
    "BEGIN IMMEDIATE",
    "COMMIT",
    "SELECT test, finished FROM exploration",
    "UPDATE exploration SET test = ?1, finished = ?2",
    "SELECT duplicate, beyond_bound FROM exploration",
    "UPDATE exploration SET duplicate = ?1, beyond_bound = ?2",
    "SELECT text FROM saved WHERE name = ?1",
    "INSERT OR REPLACE INTO saved (name, text) VALUES (?1, ?2)",
    "SELECT json FROM tree WHERE number = ?1",
    "INSERT OR REPLACE INTO tree (number, json) VALUES (?1, ?2)",
    "SELECT json FROM finding WHERE faults = ?1",
    "INSERT OR REPLACE INTO finding (faults, json) VALUES (?1, ?2)",
    "SELECT json FROM known_rpc WHERE hash = ?1",
    "INSERT OR REPLACE INTO known_rpc (hash, json) VALUES (?1, ?2)",
    "SELECT hash FROM unordered_place WHERE hash = ?1",
    "INSERT OR IGNORE INTO unordered_place (hash) VALUES (?1)",
    "INSERT INTO outcome (id, text) VALUES (?1, ?2)",
    "INSERT OR REPLACE INTO result (number, json) VALUES (?1, ?2)",
    "INSERT INTO rpc (number, hash) VALUES (?1, ?2)",
    "INSERT INTO fault_list (number, faults) VALUES (?1, ?2)",
    "INSERT INTO abstract (id, parent, rpc, position, fault, state) VALUES (?1, ?2, ?3, ?4, ?5, "
    "?6)",
    "UPDATE abstract SET state = ?2, reason = ?3 WHERE id = ?1",
    "INSERT OR REPLACE INTO concrete (id, predicted, rpcs) VALUES (?1, ?2, ?3)",
    "SELECT rpcs FROM concrete WHERE id = ?1",
};

constexpr std::array<std::string_view, static_cast<size_t>(Saved::kCount)> kSavedNames = {
    "files",      "files_by_hand", "reference", "masks",    "proposed_masks", "unstable",
    "variations", "rpcs",          "timeouts",  "refusals", "observed",
};

// `meta` has the version alone, where programs of every version look for it. Without a rowid alias there
// would be two trees per table; INTEGER PRIMARY KEY is the rowid.
constexpr const char* kSchema = R"(
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS exploration (id INTEGER PRIMARY KEY CHECK (id = 1), test TEXT NOT NULL,
  finished INTEGER NOT NULL, duplicate INTEGER NOT NULL, beyond_bound INTEGER NOT NULL);
INSERT OR IGNORE INTO exploration VALUES (1, '', 0, 0, 0);
CREATE TABLE IF NOT EXISTS saved (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tree (number INTEGER PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS finding (faults TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS known_rpc (hash TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unordered_place (hash TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outcome (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rpc (number INTEGER PRIMARY KEY, hash BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS fault_list (number INTEGER PRIMARY KEY, faults BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS abstract (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL,
  rpc INTEGER NOT NULL, position INTEGER NOT NULL, fault INTEGER NOT NULL, state INTEGER NOT NULL,
  reason TEXT);
CREATE TABLE IF NOT EXISTS concrete (id INTEGER PRIMARY KEY, predicted INTEGER NOT NULL,
  rpcs BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS result (number INTEGER PRIMARY KEY, json TEXT NOT NULL);
)";

std::string advice(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "the disk is full: free some space, then run the same command again to continue";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process holds it: end that session or use another root directory";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "the file is damaged or is no search store: move it away to start from nothing";
    case SQLITE_CANTOPEN:
      return "it cannot be opened or created: check that the directory exists and is writable";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "it cannot be written: check the permissions of the file and its directory";
    case SQLITE_IOERR:
      return "reading or writing failed: check the disk, then run the same command again";
    default:
      return "run the same command again, or move the file away to start from nothing";
  }
}

std::string_view column_view(sqlite3_stmt* statement, int column) {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement, column));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
  return data == nullptr ? std::string_view{} : std::string_view{data, size};
}

}  // namespace

struct SearchStore::State {
  std::string path;
  sqlite3* db = nullptr;
  std::array<sqlite3_stmt*, kSqlCount> statements{};
  std::unordered_map<std::string, OutcomeId> outcome_ids;
  std::vector<const std::string*> outcome_texts;  // keys of the map: stable addresses
  bool open_transaction = false;
  Clock::time_point begun;
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
  Result<void> run(Sql sql) {
    sqlite3_stmt* statement = at(sql);
    const int code = sqlite3_step(statement);
    Result<void> result;
    if (code != SQLITE_DONE && code != SQLITE_ROW) result = error(code);
    sqlite3_reset(statement);
    return result;
  }
  Result<void> fail(const Error& why) {
    failed = why;
    if (sqlite3_get_autocommit(db) == 0) (void)execute("ROLLBACK");
    open_transaction = false;
    rows.clear();
    return why;
  }
  Result<void> begin() {
    if (failed) return *failed;
    if (open_transaction) return {};
    if (auto begun_now = run(kBegin); !begun_now) return fail(begun_now.error());
    open_transaction = true;
    begun = Clock::now();
    return {};
  }
  Result<void> write(Sql sql) {
    const Measured measured(this);
    if (auto ready = begin(); !ready) return ready;
    auto done = run(sql);
    return done.ok() ? done : fail(done.error());
  }
  Result<void> write_rows() {
    const Measured measured(this);
    for (const AbstractRow& row : rows) {
      bind(kAddAbstract, 1, row.id);
      bind(kAddAbstract, 2, row.parent);
      bind(kAddAbstract, 3, row.rpc);
      bind(kAddAbstract, 4, row.position);
      bind(kAddAbstract, 5, row.fault);
      bind(kAddAbstract, 6, static_cast<uint64_t>(row.state));
      if (auto done = write(kAddAbstract); !done) return done;
    }
    rows.clear();
    return {};
  }
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
  Result<void> each(const char* sql, const std::function<void(sqlite3_stmt*)>& row) {
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, nullptr);
    if (code != SQLITE_OK) return error(code);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) row(statement);
    Result<void> result;
    if (code != SQLITE_DONE) result = error(code);
    sqlite3_finalize(statement);
    return result;
  }
  // Shows the first row of a bound statement, if there is one.
  Result<void> first(Sql sql, const std::function<void(sqlite3_stmt*)>& row) {
    sqlite3_stmt* statement = at(sql);
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) row(statement);
    Result<void> result;
    if (code != SQLITE_ROW && code != SQLITE_DONE) result = error(code);
    sqlite3_reset(statement);
    return result;
  }
  // The text that a table of texts has under `key`.
  Result<std::optional<std::string>> text_at(Sql sql, std::string_view key) {
    std::optional<std::string> out;
    bind_text(sql, 1, key);
    auto read = first(sql, [&](sqlite3_stmt* row) { out.emplace(column_view(row, 0)); });
    if (!read) return read.error();
    return out;
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

Result<void> SearchStore::State::prepare() {
  for (size_t i = 0; i < kSqlCount; ++i) {
    const int code =
        sqlite3_prepare_v3(db, kSql[i], -1, SQLITE_PREPARE_PERSISTENT, &statements[i], nullptr);
    if (code != SQLITE_OK) return error(code);
  }
  return {};
}

Result<void> SearchStore::State::check_version() {
  std::string found;
  auto read = each("SELECT value FROM meta WHERE key = 'version'",
                   [&](sqlite3_stmt* row) { found = column_view(row, 0); });
  if (!read) return read;
  const std::string ours = std::to_string(kMajor) + "." + std::to_string(kMinor);
  if (found.empty()) {
    return execute(("INSERT INTO meta (key, value) VALUES ('version', '" + ours + "')").c_str());
  }
  if (std::atoi(found.c_str()) == kMajor) return {};
  return Error{"search store " + path + ": it has version " + found + ", this program reads " +
               ours +
               "; continue with the program that wrote it, or move the file away to start from "
               "nothing"};
}

Result<void> SearchStore::State::load_outcomes() {
  outcome_ids.clear();
  outcome_texts.clear();
  outcome_texts.push_back(&outcome_ids.emplace("", 0).first->first);
  return each("SELECT id, text FROM outcome ORDER BY id", [&](sqlite3_stmt* row) {
    const auto id = static_cast<OutcomeId>(sqlite3_column_int64(row, 0));
    const auto [at, added] = outcome_ids.emplace(column_view(row, 1), id);
    if (id >= outcome_texts.size()) outcome_texts.resize(id + 1, outcome_texts[0]);
    outcome_texts[id] = &at->first;
  });
}

SearchStore::SearchStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
SearchStore::~SearchStore() {
  (void)flush();
}

Result<std::unique_ptr<SearchStore>> SearchStore::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  // SQLite makes files that everybody may read, so the file is made here. SQLite gives its log the
  // same mode.
  if (path != kInMemory) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) {
      ::fchmod(file, 0600);
      ::close(file);
    }
  }
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (const int code = sqlite3_open_v2(path.c_str(), &state->db, flags, nullptr);
      code != SQLITE_OK) {
    return state->error(code);
  }
  // The lock is taken by the first transaction and kept. 16 MiB of pages are cached, and 32 MiB of
  // log are written before they are folded into the file.
  for (const char* sql : {"PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = WAL",
                          "PRAGMA synchronous = NORMAL", "PRAGMA cache_size = -16384",
                          "PRAGMA wal_autocheckpoint = 8192", "BEGIN IMMEDIATE", kSchema}) {
    if (auto done = state->execute(sql); !done) return done.error();
  }
  for (auto step : {&State::check_version, &State::load_outcomes, &State::prepare}) {
    if (auto done = (state.get()->*step)(); !done) return done.error();
  }
  if (auto done = state->execute("COMMIT"); !done) return done.error();
  return std::unique_ptr<SearchStore>(new SearchStore(std::move(state)));
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

Result<std::optional<std::string>> SearchStore::finding(std::string_view faults) {
  return state_->text_at(kGetFinding, faults);
}

Result<void> SearchStore::put_finding(std::string_view faults, std::string_view json) {
  return state_->put(kPutFinding, faults, json);
}

Result<std::optional<std::string>> SearchStore::known_rpc(Hash128 index) {
  return state_->text_at(kGetKnownRpc, to_hex(index));
}

Result<void> SearchStore::put_known_rpc(Hash128 index, std::string_view json) {
  return state_->put(kPutKnownRpc, to_hex(index), json);
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

Result<void> SearchStore::put_result(uint32_t number, std::string_view json) {
  state_->bind(kPutResult, 1, number);
  state_->bind_text(kPutResult, 2, json);
  return state_->write(kPutResult);
}

Result<std::vector<std::pair<uint32_t, std::string>>> SearchStore::results() {
  std::vector<std::pair<uint32_t, std::string>> rows;
  auto read =
      state_->each("SELECT number, json FROM result ORDER BY number", [&](sqlite3_stmt* row) {
        rows.emplace_back(static_cast<uint32_t>(sqlite3_column_int64(row, 0)), column_view(row, 1));
      });
  if (!read) return read.error();
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
