// The durable memory of one search: everything from which an interrupted session resumes, in one
// SQLite file per test (WAL, synchronous=NORMAL: a commit survives the death of the daemon; a power
// failure may take the last commits, and what is lost is executed again).
//
//   auto store = SearchStore::open(".filibuster/sessions/0123456789abcdef/search.db");  // or ":memory:"
//   auto search = Search::resume(options, store.value().get());              // new or interrupted
//   if (search.value().counts().executed == 0) { ... the reference execution ... }
//
// Writes collect in one transaction. It is committed between two operations of the search, never
// inside one: when it is older than 100 ms; when it is older than 10 ms and an execution is handed
// out; and by flush(). Only one thread may use a store at a time. Every Error names the file and what
// to do.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/result.h"
#include "daemon/store/rows.h"

namespace filibuster::search {

class SearchStore {
 public:
  // Version of the file's format, "MAJOR.MINOR"; a file with another major is refused.
  static constexpr int kMajor = 1;
  static constexpr int kMinor = 0;

  // Opens or creates the file and holds its lock until destruction: a second daemon gets an Error.
  static Result<std::unique_ptr<SearchStore>> open(const std::string& path);
  ~SearchStore();  // flushes
  SearchStore(const SearchStore&) = delete;
  SearchStore& operator=(const SearchStore&) = delete;

  // Commits everything written so far.
  Result<void> flush();
  // The first failed write. Nothing is written after it: the file holds whole operations only.
  Result<void> health() const;
  // Processor seconds that writing took since the store was opened.
  double seconds() const;
  // Forgets the search and its results, so that the search begins anew. Outcomes keep their ids, and
  // meta is kept.
  Result<void> forget_search();

  // --- for the session layer ---
  // Free texts by key ("state", "masks", "finding:KEY", ...). The store itself uses "version".
  Result<std::optional<std::string>> meta(std::string_view key);
  Result<void> set_meta(std::string_view key, std::string_view value);
  // Interns an outcome text ("status:503", "refused"): equal texts are equal ids, across resumes
  // too. The empty text is 0.
  Result<OutcomeId> outcome(std::string_view text);
  // Text of an interned outcome; empty for 0 and for an unknown id.
  std::string_view outcome_text(OutcomeId id) const;
  // Results of executions for the report, by execution number. Putting a number again replaces it.
  Result<void> put_result(uint32_t number, std::string_view json);
  Result<std::vector<std::pair<uint32_t, std::string>>> results();

  // --- for Search ---
  Result<void> add_rpc(uint32_t number, Hash128 index);
  Result<void> add_fault_list(uint32_t number, std::string_view packed);
  Result<void> add_abstract(const AbstractRow& row);
  Result<void> decide(AbstractId id, AbstractState state, std::string_view reason);
  // `predicted`: not executed but foreseen from other executions (search.h "Expansion").
  Result<void> add_concrete(AbstractId id, bool predicted, std::string_view packed);
  Result<std::string> concrete(AbstractId id);
  // Numbers that only Search::counts() needs; written with the next commit.
  void set_counters(uint64_t duplicate, uint64_t beyond_bound);
  Result<std::pair<uint64_t, uint64_t>> counters();
  // Call between operations: commits if the transaction is older than the limit in milliseconds.
  Result<void> commit_if_older(int milliseconds);
  // Each row in order of its number or id. The views live during the call only.
  Result<void> each_rpc(const std::function<void(uint32_t, Hash128)>& row);
  Result<void> each_fault_list(const std::function<void(uint32_t, std::string_view)>& row);
  Result<void> each_abstract(const std::function<void(const AbstractRow&)>& row);
  Result<void> each_concrete(
      const std::function<void(AbstractId, bool predicted, std::string_view)>& row);
  // The executions in this state that were decided with a reason.
  Result<std::vector<std::pair<AbstractId, std::string>>> reasons(AbstractState state);

 private:
  struct State;
  explicit SearchStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace filibuster::search
