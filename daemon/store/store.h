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
#include "daemon/search/journal.h"
#include "daemon/store/rows.h"

namespace filibuster::search {

// What an exploration keeps beside its search, each whole: JSON, or a text in the form of the
// configuration.
enum class Saved : uint8_t {
  kFiles,          // files of the programs -> digests
  kFilesByHand,    // the same of services that were started by hand
  kReferenceRpcs,  // the reference execution, for the comparison with a later one
  kMasks,          // the masks that the agents use
  kProposedMasks,  // those among them that the exploration found
  kUnstable,       // RPCs that come and go, or vary, by themselves
  kVariations,     // what varied, for the report
  kRpcs,           // RpcLedger
  kTimeouts,       // TimeoutCounts
  kRefusals,       // RefusalCounts
  kObserved,       // ObservedAnswers
  kGivenUp,        // GivenUpCounts
  kAppearances,    // how often RPCs came that come in some executions only
  kDrifts,         // times in which the application did not do what it did at first
  kSentAgain,      // mutations that clients send again (explore/sent_mutations.h)
  kSuspects,       // with which the search began (explore/suspects.h)
  kEarlyAttempts,  // executions that the search has not come to (explore/early_attempts.h)
  kCount,
};

struct Progress {
  std::string test;  // "": nothing was explored yet
  bool finished = false;
  bool is_interrupted() const { return !test.empty() && !finished; }
};

class SearchStore final : public Journal {
 public:
  // Version of the file's format, "MAJOR.MINOR"; a file with another major is refused.
  static constexpr int kMajor = 3;
  static constexpr int kMinor = 0;

  // Opens or creates the file and holds its lock until destruction: a second daemon gets an Error.
  static Result<std::unique_ptr<SearchStore>> open(const std::string& path);
  ~SearchStore() override;  // flushes
  SearchStore(const SearchStore&) = delete;
  SearchStore& operator=(const SearchStore&) = delete;

  // Forgets the search and its results, so that the search begins anew. All else is kept, and outcomes
  // keep their ids.
  Result<void> forget_search();

  Result<Progress> progress();
  Result<void> set_progress(const Progress& progress);
  // nullopt: it was never saved.
  Result<std::optional<std::string>> saved(Saved which);
  Result<void> save(Saved which, std::string_view text);
  // Results of executions for the report, by execution number. Putting a number again replaces it.
  Result<void> put_result(const ResultRow& row);
  Result<std::vector<ResultRow>> results();
  // The RPCs of an execution as a tree, for the report. nullopt: it was not kept.
  Result<std::optional<std::string>> tree(uint32_t number);
  Result<void> put_tree(uint32_t number, std::string_view json);
  // A finding by the key of its faults. nullopt: it is not known.
  Result<std::optional<FindingRow>> finding(std::string_view faults);
  Result<void> put_finding(std::string_view faults, const FindingRow& row);
  // An RPC by its index. nullopt: it was never seen.
  Result<std::optional<InjectedFault>> known_rpc(Hash128 index);
  Result<void> put_known_rpc(const InjectedFault& rpc);
  // Places where RPCs run concurrently (core/index, call_place).
  Result<bool> is_unordered(Hash128 place);
  Result<void> note_unordered(Hash128 place);
  // Interns an outcome text ("status:503", "refused"): equal texts are equal ids, across resumes
  // too. The empty text is 0.
  Result<OutcomeId> outcome(std::string_view text);
  // Text of an interned outcome; empty for 0 and for an unknown id.
  std::string_view outcome_text(OutcomeId id) const;

  // Journal.
  Result<void> add_rpc(uint32_t number, Hash128 index) override;
  Result<void> add_fault_list(uint32_t number, std::string_view packed) override;
  Result<void> add_abstract(const AbstractRow& row) override;
  Result<void> decide(AbstractId id, AbstractState state, std::string_view reason) override;
  Result<void> add_concrete(AbstractId id, bool predicted, std::string_view packed) override;
  void set_counters(uint64_t duplicate, uint64_t beyond_bound) override;
  Result<void> commit_if_older(int milliseconds) override;
  Result<void> flush() override;
  Result<std::string> concrete(AbstractId id) override;
  Result<std::pair<uint64_t, uint64_t>> counters() override;
  Result<void> each_rpc(const std::function<void(uint32_t, Hash128)>& row) override;
  Result<void> each_fault_list(const std::function<void(uint32_t, std::string_view)>& row) override;
  Result<void> each_abstract(const std::function<void(const AbstractRow&)>& row) override;
  Result<void> each_concrete(
      const std::function<void(AbstractId, bool predicted, std::string_view)>& row) override;
  Result<std::vector<std::pair<AbstractId, std::string>>> reasons(AbstractState state) override;
  Result<void> health() const override;
  double seconds() const override;

 private:
  struct State;
  explicit SearchStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace filibuster::search
