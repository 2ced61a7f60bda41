#include "tickets.h"

#include <stdexcept>
#include <utility>

namespace job_queue {

Tickets::Tickets() {
  sqlite3* store = nullptr;
  const int opened = sqlite3_open(":memory:", &store);
  store_.reset(store);
  if (opened != SQLITE_OK) throw std::runtime_error("SQLite opened no database in memory");
  execute("CREATE TABLE work (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
}

std::shared_ptr<Ticket> Tickets::take(std::string work) {
  const std::lock_guard hold(lock_);
  auto ticket = std::make_shared<Ticket>();
  ticket->number = given_++;
  ticket->work = std::move(work);
  waiting_[ticket->number] = ticket;
  return ticket;
}

bool Tickets::cancel(const Ticket& ticket) {
  const std::lock_guard hold(lock_);
  return waiting_.erase(ticket.number) == 1;
}

bool Tickets::wait(const Ticket& ticket, std::chrono::duration<double> timeout) {
  std::unique_lock hold(lock_);
  return done_.wait_for(hold, timeout, [&] { return ticket.done; });
}

void Tickets::serve(std::int64_t number, const std::string& work) {
  const std::lock_guard hold(lock_);
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) return;
  const Statement insert = prepare("INSERT INTO work VALUES (?, ?)");
  sqlite3_bind_int64(insert.get(), 1, stored_);
  sqlite3_bind_blob64(insert.get(), 2, work.data(), work.size(), SQLITE_TRANSIENT);
  // A null pointer, which an empty text may have, would be NULL to SQLite and not a blob without bytes.
  if (work.empty()) sqlite3_bind_zeroblob(insert.get(), 2, 0);
  if (sqlite3_step(insert.get()) != SQLITE_DONE)
    throw std::runtime_error(sqlite3_errmsg(store_.get()));
  found->second->index = stored_++;
  found->second->done = true;
  waiting_.erase(found);
  done_.notify_all();
}

std::optional<std::string> Tickets::read(std::int64_t index) {
  const std::lock_guard hold(lock_);
  const Statement select = prepare("SELECT bytes FROM work WHERE number = ?");
  sqlite3_bind_int64(select.get(), 1, index);
  if (sqlite3_step(select.get()) != SQLITE_ROW) return std::nullopt;
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(select.get(), 0));
  if (size == 0) return "";
  return std::string(static_cast<const char*>(sqlite3_column_blob(select.get(), 0)), size);
}

void Tickets::reset() {
  const std::lock_guard hold(lock_);
  for (const auto& [number, ticket] : waiting_) ticket->done = true;
  waiting_.clear();
  execute("DELETE FROM work");
  stored_ = 0;
  done_.notify_all();
}

Tickets::Statement Tickets::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(store_.get(), sql, -1, &statement, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(store_.get()));
  return {statement, sqlite3_finalize};
}

void Tickets::execute(const char* sql) {
  if (sqlite3_exec(store_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(store_.get()));
}

}  // namespace job_queue
