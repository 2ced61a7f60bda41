#include "daemon/search/rpc_list.h"

namespace filibuster::search {
namespace {

constexpr Hash128 kRootContext{0x9ae16a3b2f90404full, 0xc949d7c7509e6557ull};
constexpr Hash128 kUnknownContext{0xff51afd7ed558ccdull, 0xc4ceb9fe1a85ec53ull};
constexpr Hash128 kEmptyGroup{0x87c37b91114253d5ull, 0x4cf5ad432745937full};

}  // namespace

Hash128 group_with(Hash128 before, uint32_t rpc, OutcomeId outcome) {
  return combine(before, uint64_t{rpc} << 32 | outcome);
}

Hash128 in_context(Hash128 context, Hash128 group) {
  return combine(context, group);
}

void GroupHasher::link(RpcList& list, uint32_t numbers, size_t from) {
  ++call_;
  if (slots_.size() <= numbers) slots_.resize(2 * size_t{numbers} + 1);
  for (uint32_t at = 0; at < list.size(); ++at) {
    Item& item = list[at];
    Slot& parent = slots_[item.parent];
    if (at >= from) {
      const bool first = parent.group_in != call_;
      item.before = first ? combine(kEmptyGroup, item.parent) : list[parent.last].after;
      item.after = group_with(item.before, item.rpc, taken_as_(item.outcome));
      const bool known = item.parent != 0 && parent.seen_in == call_;
      item.parent_at = known ? parent.at : kNowhere;
      item.context = item.parent == 0 ? kRootContext : kUnknownContext;
      if (known && !first && list[parent.last].parent_at == parent.at) {
        item.context = list[parent.last].context;  // as its elder sibling's
      } else if (known) {
        item.context = combine(list[parent.at].context, list[parent.at].before);
      }
    }
    parent.group_in = call_;
    parent.last = at;
    Slot& own = slots_[item.rpc];
    own.seen_in = call_;
    own.at = at;
  }
}

void pack_number(uint64_t number, std::string* out) {
  for (; number >= 0x80; number >>= 7) out->push_back(static_cast<char>(number | 0x80));
  out->push_back(static_cast<char>(number));
}

bool unpack_number(std::string_view* packed, uint64_t* number) {
  *number = 0;
  for (int shift = 0; shift < 64 && !packed->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(packed->front());
    packed->remove_prefix(1);
    *number |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

void pack(const RpcList& list, std::string* out) {
  out->clear();
  for (const Item& item : list) {
    pack_number(item.rpc, out);
    pack_number(item.parent, out);
    pack_number(item.outcome, out);
    pack_number(uint64_t{item.faults} << 1 | (item.injected ? 1 : 0), out);
  }
}

bool unpack(std::string_view packed, RpcList* list) {
  list->clear();
  while (!packed.empty()) {
    uint64_t rpc = 0, parent = 0, outcome = 0, rest = 0;
    for (uint64_t* number : {&rpc, &parent, &outcome, &rest}) {
      if (!unpack_number(&packed, number)) return false;
    }
    if (rpc == 0 || rpc > UINT32_MAX || parent > UINT32_MAX || outcome > UINT32_MAX) return false;
    Item item;
    item.rpc = static_cast<uint32_t>(rpc);
    item.parent = static_cast<uint32_t>(parent);
    item.outcome = static_cast<OutcomeId>(outcome);
    item.faults = static_cast<uint32_t>(rest >> 1);
    item.injected = (rest & 1) != 0;
    list->push_back(item);
  }
  return true;
}

}  // namespace filibuster::search
