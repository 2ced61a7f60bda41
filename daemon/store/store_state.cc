#include "daemon/store/store_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace filibuster::search {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kInMemory = ":memory:";  // a name of SQLite: no file

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

}  // namespace

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

Result<void> SearchStore::State::run(Sql sql) {
  sqlite3_stmt* statement = at(sql);
  const int code = sqlite3_step(statement);
  Result<void> result;
  if (code != SQLITE_DONE && code != SQLITE_ROW) result = error(code);
  sqlite3_reset(statement);
  return result;
}

Result<void> SearchStore::State::fail(const Error& why) {
  failed = why;
  if (sqlite3_get_autocommit(db) == 0) (void)execute("ROLLBACK");
  open_transaction = false;
  rows.clear();
  return why;
}

Result<void> SearchStore::State::begin() {
  if (failed) return *failed;
  if (open_transaction) return {};
  if (auto begun_now = run(kBegin); !begun_now) return fail(begun_now.error());
  open_transaction = true;
  begun = Clock::now();
  return {};
}

Result<void> SearchStore::State::write(Sql sql) {
  const Measured measured(this);
  if (auto ready = begin(); !ready) return ready;
  auto done = run(sql);
  return done.ok() ? done : fail(done.error());
}

Result<void> SearchStore::State::write_rows() {
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

Result<void> SearchStore::State::each(const char* sql,
                                      const std::function<void(sqlite3_stmt*)>& row) {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(db, sql, -1, &statement, nullptr);
  if (code != SQLITE_OK) return error(code);
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) row(statement);
  Result<void> result;
  if (code != SQLITE_DONE) result = error(code);
  sqlite3_finalize(statement);
  return result;
}

Result<void> SearchStore::State::first(Sql sql, const std::function<void(sqlite3_stmt*)>& row) {
  sqlite3_stmt* statement = at(sql);
  const int code = sqlite3_step(statement);
  if (code == SQLITE_ROW) row(statement);
  Result<void> result;
  if (code != SQLITE_ROW && code != SQLITE_DONE) result = error(code);
  sqlite3_reset(statement);
  return result;
}

Result<std::optional<std::string>> SearchStore::State::text_at(Sql sql, std::string_view key) {
  std::optional<std::string> out;
  bind_text(sql, 1, key);
  auto read = first(sql, [&](sqlite3_stmt* row) { out.emplace(column_view(row, 0)); });
  if (!read) return read.error();
  return out;
}

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

}  // namespace filibuster::search
