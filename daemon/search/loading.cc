#include <charconv>

#include "daemon/search/state.h"

namespace filibuster::search {
namespace {

Error damaged() {
  return Error{
      "search store: its tables contradict each other; move the file away to start from nothing"};
}

}  // namespace

Result<void> Search::State::load() {
  if (journal == nullptr) return {};
  bool whole = true;
  auto rpcs = journal->each_rpc([&](uint32_t at, Hash128 index) {
    whole = whole && at == numbers() && number_of.insert(index, at).added;
    index_of.push_back(index);
  });
  if (!rpcs) return rpcs;
  auto lists = journal->each_fault_list([&](uint32_t at, std::string_view bytes) {
    std::vector<OutcomeId> faults;
    uint64_t fault = 0;
    while (unpack_number(&bytes, &fault)) faults.push_back(static_cast<OutcomeId>(fault));
    whole = whole && at == fault_lists.size();
    fault_list_of.insert(hash_bytes(faults.data(), faults.size() * sizeof(OutcomeId)), at);
    fault_lists.push_back(std::move(faults));
  });
  if (!lists) return lists;
  std::vector<Hash128> sets;  // by id
  auto rows = journal->each_abstract([&](const AbstractRow& row) {
    const bool first = row.id == kReference;
    whole = whole && row.id == abstracts.size() && (first || row.parent < row.id) &&
            row.rpc < numbers();
    if (!whole) return;
    abstracts.push_back({row.parent, row.rpc, row.position, row.fault, row.state});
    sets.push_back(first ? Hash128{} : sets[row.parent]);
    if (first) {
      counts.executed += row.state == AbstractState::kExecuted ? 1 : 0;
      return;
    }
    add_fault(&sets.back(), row.rpc, row.fault);
    fault_sets.insert(sets.back(), {});
    ++counts.scheduled;
    switch (row.state) {
      case AbstractState::kOpen:
        ++open_parents[row.parent].open_children;
        break;
      case AbstractState::kExecuted:
        ++counts.executed;
        break;
      case AbstractState::kRedundant:
        ++counts.redundant;
        break;
      case AbstractState::kAbandoned:
        ++abandoned;
        break;
      case AbstractState::kLeftOut:
        ++left_out;
        break;
    }
  });
  if (!rows) return rows;
  RpcList list;
  auto concretes =
      journal->each_concrete([&](AbstractId id, bool predicted, std::string_view bytes) {
        whole = whole && id < abstracts.size() && unpack(bytes, &list);
        for (const Item& item : list) {
          whole = whole && item.rpc < numbers() && item.parent < numbers() &&
                  item.faults < fault_lists.size();
        }
        if (!whole) return;
        hasher.link(list, numbers());
        // The lists come in order of id, so parents first: that is as good as the order of execution
        // (search.h "Reduction").
        if (!predicted) learn(id, list, 0);
        for (const Item& item : list) contexts.insert(in_context(item.context, item.after), {});
      });
  if (!concretes) return concretes;
  if (!whole) return damaged();
  for (AbstractId id = 1; id < abstracts.size(); ++id)
    line_up(id, abstracts[id].state == AbstractState::kOpen);
  // Reasons are as prune() writes them: the id of an execution, a blank, the index of an RPC.
  auto reasons = journal->reasons(AbstractState::kRedundant);
  if (!reasons) return reasons.error();
  for (const auto& [id, reason] : reasons.value()) {
    Unlike row{id, 0, {}};
    const auto [end, error] =
        std::from_chars(reason.data(), reason.data() + reason.size(), row.like);
    const std::string_view hex =
        std::string_view(reason).substr(static_cast<size_t>(end - reason.data()));
    whole = whole && error == std::errc() && row.like < abstracts.size() && hex.size() > 1 &&
            from_hex(hex.substr(1), &row.rpc);
    unlike.push_back(row);
  }
  if (!whole) return damaged();
  auto counters = journal->counters();
  if (!counters) return counters.error();
  counts.duplicate = counters.value().first;
  counts.beyond_bound = counters.value().second;
  return {};
}

}  // namespace filibuster::search
