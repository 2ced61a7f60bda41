#include "daemon/verbs/trace/watched_calls.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"
#include "daemon/model/execution_record.h"
#include "daemon/redact/redact.h"
#include "daemon/report/tree_text.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

constexpr size_t kMostSites = 1000;  // a target that varies makes one of each call
constexpr size_t kShownSites = 40;   // on a terminal

std::string number(const char* format, double value) {
  char text[32];
  snprintf(text, sizeof text, format, value);
  return text;
}

std::string padded(std::string text, size_t width, bool right) {
  if (text.size() >= width) return text;
  const std::string blanks(width - text.size(), ' ');
  return right ? blanks + text : text + blanks;
}

using Line = std::vector<std::string>;

std::string table(const std::vector<Line>& lines, const std::vector<bool>& right) {
  std::vector<size_t> widths(right.size());
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const Line& line : lines) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i)
      row += (i == 0 ? "" : "  ") + padded(line[i], widths[i], right[i]);
    while (row.ends_with(' ')) row.pop_back();
    out += row + "\n";
  }
  return out;
}

}  // namespace

double WatchedCalls::Site::percentile_ms(double part) const {
  const size_t size = std::min<uint64_t>(count, microseconds.size());
  if (size == 0) return 0;
  std::vector<uint32_t> sorted(microseconds.begin(),
                               microseconds.begin() + static_cast<ptrdiff_t>(size));
  const auto at = static_cast<size_t>(std::lround(part * static_cast<double>(size - 1)));
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(at), sorted.end());
  return static_cast<double>(sorted[at]) / 1000;
}

void WatchedCalls::see(const ExecutionRecord& record,
                       const std::function<void(const RpcRecord&)>& ended) {
  bool news = false;
  lost_now_ = record.lost_events;
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpc.open || !told_.insert(rpc.rpc).second) continue;
    news = true;
    ++count_;
    ended(rpc);
    const std::string site = rpc.stack_text.empty() ? "" : rpc.stack_text.front();
    const Key key{rpc.caller, rpc.service, call_name(rpc, redact(path_of(rpc))), site};
    if (sites_.size() >= kMostSites && !sites_.contains(key)) {
      ++beyond_;
      continue;
    }
    Site& counted = sites_[key];
    const uint64_t took = rpc.finished_ns > rpc.issued_ns ? rpc.finished_ns - rpc.issued_ns : 0;
    counted.microseconds[counted.count % counted.microseconds.size()] =
        static_cast<uint32_t>(std::min<uint64_t>(took / 1000, UINT32_MAX));
    ++counted.count;
    ++counted.in_interval;
    if (rpc.failed()) ++counted.failed;
  }
  if (news) keep_tree(record);
}

// The last call without a cause whose calls have all ended, with them; of these one that came from outside, if there is
// one, since what a service calls by a cause that is not known is no whole request. A busy server has thousands of calls in a record,
// so only those of one tree are copied.
void WatchedCalls::keep_tree(const ExecutionRecord& record) {
  std::unordered_map<uint64_t, const RpcRecord*> by_id;
  by_id.reserve(record.rpcs.size());
  for (const RpcRecord& rpc : record.rpcs) by_id[rpc.rpc] = &rpc;
  const auto root_of = [&](const RpcRecord& rpc) {
    const RpcRecord* at = &rpc;
    for (size_t steps = 0; steps < 100; ++steps) {
      const auto parent = by_id.find(at->parent_rpc);
      if (parent == by_id.end() || parent->second == at) break;
      at = parent->second;
    }
    return at;
  };
  std::unordered_set<const RpcRecord*> open;
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpc.open || rpc.incoming_open) open.insert(root_of(rpc));
  }
  const RpcRecord *last = nullptr, *last_inside = nullptr;
  for (const RpcRecord& rpc : record.rpcs) {
    const RpcRecord*& found = is_test_call(rpc) ? last : last_inside;
    if (found != nullptr && rpc.issued_ns < found->issued_ns) continue;
    if (root_of(rpc) == &rpc && !open.contains(&rpc)) found = &rpc;
  }
  if (last == nullptr) last = last_inside;
  if (last == nullptr) return;
  std::vector<RpcRecord> tree;
  for (const RpcRecord& rpc : record.rpcs) {
    if (root_of(rpc) == last) tree.push_back(rpc);
  }
  tree_ = tree_text(tree, /*indexes=*/false);
}

void WatchedCalls::begin_next(const ExecutionRecord& last) {
  told_.clear();
  lost_ += std::exchange(lost_now_, 0);
  for (const RpcRecord& rpc : last.rpcs) cut_off_ += rpc.open ? 1 : 0;
}

void WatchedCalls::end_interval(double seconds) {
  for (auto& [key, site] : sites_) {
    site.rate = seconds > 0 ? static_cast<double>(site.in_interval) / seconds : 0;
    site.in_interval = 0;
  }
}

nlohmann::json WatchedCalls::rows() const {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [key, site] : sites_) {
    out.push_back({{"caller", std::get<0>(key)},
                   {"service", std::get<1>(key)},
                   {"call", std::get<2>(key)},
                   {"call_site", std::get<3>(key)},
                   {"count", site.count},
                   {"failed", site.failed},
                   {"rate", site.rate},
                   {"p50_ms", site.percentile_ms(0.5)},
                   {"p99_ms", site.percentile_ms(0.99)}});
  }
  return out;
}

std::string WatchedCalls::text() const {
  const std::string unseen =
      unseen_ == 0
          ? ""
          : "requests that are not in this table went over connections that were open before: " +
                std::to_string(unseen_) + " writes\n";
  if (sites_.empty()) return "no call has been seen yet\n" + unseen;
  std::vector<std::pair<const Key*, const Site*>> sorted;
  for (const auto& [key, site] : sites_) sorted.emplace_back(&key, &site);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second->count > b.second->count; });
  std::vector<Line> lines{
      {"caller -> service", "call", "calls", "/s", "failed", "p50 ms", "p99 ms", "at"}};
  for (const auto& [key, site] : sorted) {
    if (lines.size() > kShownSites) break;
    const auto& [caller, service, call, at] = *key;
    lines.push_back({(caller.empty() ? "?" : caller) + " -> " + service, call,
                     std::to_string(site->count), number("%.1f", site->rate),
                     std::to_string(site->failed), number("%.2f", site->percentile_ms(0.5)),
                     number("%.2f", site->percentile_ms(0.99)), at});
  }
  std::string out = table(lines, {false, false, true, true, true, true, true, false});
  if (sorted.size() > kShownSites)
    out += "and " + std::to_string(sorted.size() - kShownSites) + " more\n";
  if (beyond_ > 0)
    out += counted(beyond_, "call is", "calls are") +
           " not in this table: the targets vary too much\n";
  if (cut_off_ > 0)
    out += counted(cut_off_, "call was", "calls were") +
           " under way while the record was put away, and are not in this table\n";
  if (lost() > 0)
    out +=
        counted(lost(), "event was", "events were") +
        " lost, since more came than was read: what these told is not in this table, or has no end\n";
  out += unseen;
  if (!tree_.empty()) out += "\nthe last request:\n" + tree_;
  return out;
}

}  // namespace filibuster
