// The tickets of the web service, and the store.
//
// A ticket has a number that no other one ever gets. Under one lock it is served, or cancelled, or gone with a reset: exactly
// one of them, once. So it does no harm that the queue hands out a ticket twice, or one whose request was told that nothing
// happened.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace job_queue {

struct Ticket {
  std::int64_t number = 0;
  std::string work;
  bool done = false;
  std::optional<std::int64_t>
      index;  // where its work was stored, when it is done; nothing after a reset
};

class Tickets {
 public:
  Tickets();

  std::shared_ptr<Ticket> take(std::string work);
  // Whether the ticket will never be served.
  bool cancel(const Ticket& ticket);
  // Waits until the ticket is done. Whether it is.
  bool wait(const Ticket& ticket, std::chrono::duration<double> timeout);
  // Stores the work of a ticket that waits, and nothing for any other.
  void serve(std::int64_t number, const std::string& work);
  std::optional<std::string> read(std::int64_t index);
  void reset();

 private:
  using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;
  Statement prepare(const char* sql);
  void execute(const char* sql);

  std::mutex lock_;
  std::condition_variable done_;
  std::map<std::int64_t, std::shared_ptr<Ticket>> waiting_;
  std::int64_t given_ = 0;  // how many tickets there were, ever
  std::int64_t stored_ = 0;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> store_{nullptr, sqlite3_close};
};

}  // namespace job_queue
