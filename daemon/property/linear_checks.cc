#include "daemon/property/linear_checks.h"

#include <algorithm>
#include <map>
#include <optional>

namespace filibuster::property {
namespace {

using Json = nlohmann::json;
using Problems = std::vector<Problem>;
using Check = Result<Problems> (*)(const History&);

Error unexpected(const Call& call, const std::string& expected) {
  return Error{std::to_string(call.line) + ": '" + call.f + "': expected " + expected};
}
// Of numbers of 64 bits, however many there are.
__extension__ typedef __int128 Sum;  // NOLINT(modernize-use-using): the standard has no such type
std::string number_text(Sum sum) {
  if (sum < 0) return "-" + number_text(-sum);
  const Sum tens = sum / 10;
  return (tens == 0 ? "" : number_text(tens)) + static_cast<char>('0' + static_cast<int>(sum % 10));
}

bool is_ok(const Call& call) {
  return call.outcome == Outcome::kOk;
}
bool may_have_happened(const Call& call) {
  return call.outcome != Outcome::kFail;
}

Result<Problems> unique_ids(const History& history) {
  Problems out;
  std::map<std::string, int> given;  // the line of the first call
  for (const Call& call : history.calls) {
    if (call.f != "generate") return unexpected(call, "generate");
    if (!is_ok(call)) continue;
    const auto [first, is_new] = given.emplace(json_text(call.answered), call.line);
    if (!is_new)
      out.push_back({"the id " + first->first + " was given twice", {first->second, call.line}});
  }
  return out;
}

Result<Problems> total_queue(const History& history) {
  struct Item {
    size_t put = 0, may_put = 0, taken = 0;
    std::vector<int> puts, takes;
  };
  std::map<std::string, Item> values;
  size_t unknown_takes = 0;
  for (const Call& call : history.calls) {
    if (call.f == "enqueue") {
      Item& value = values[json_text(call.asked)];
      value.put += is_ok(call) ? 1 : 0;
      value.may_put += may_have_happened(call) ? 1 : 0;
      if (may_have_happened(call)) value.puts.push_back(call.line);
    } else if (call.f == "dequeue") {
      if (call.outcome == Outcome::kInfo) ++unknown_takes;
      if (!is_ok(call) || call.answered.is_null()) continue;
      Item& value = values[json_text(call.answered)];
      ++value.taken;
      value.takes.push_back(call.line);
    } else {
      return unexpected(call, "enqueue or dequeue");
    }
  }
  Problems out;
  Problem lost;
  size_t missing = 0;
  for (const auto& [name, value] : values) {
    if (value.taken > 0 && value.puts.empty()) {
      out.push_back({name + " came out, and was never put in", value.takes});
    } else if (value.taken > value.may_put) {
      out.push_back({name + " came out " + std::to_string(value.taken) +
                         " times, and was put in at most " + std::to_string(value.may_put) +
                         " times",
                     value.takes});
    } else if (value.taken < value.put) {
      missing += value.put - value.taken;
      lost.text += (lost.text.empty() ? "" : ", ") + name;
      lost.lines.insert(lost.lines.end(), value.puts.begin(), value.puts.end());
    }
  }
  // A dequeue without an answer may have taken one.
  if (missing > unknown_takes) {
    lost.text =
        std::to_string(missing) + " of these were put in and did not come out: " + lost.text;
    if (unknown_takes > 0)
      lost.text += "; dequeues without an answer explain " + std::to_string(unknown_takes);
    out.push_back(std::move(lost));
  }
  return out;
}

Result<Problems> set_full(const History& history) {
  struct Element {
    int line = 0;
    int64_t begun = linear::kNever;  // its add
    int64_t there_from =
        linear::kNever;  // an event behind which it must be there: its add ended, or a read had it
    int there_line = 0;
  };
  std::map<std::string, Element> values;
  std::vector<const Call*> reads;
  for (const Call& call : history.calls) {
    if (call.f == "read") {
      if (!is_ok(call)) continue;
      if (!call.answered.is_array())
        return unexpected(call, "an array of all values as its answer");
      reads.push_back(&call);
    } else if (call.f == "add") {
      if (!may_have_happened(call)) continue;
      Element& value = values[json_text(call.asked)];
      if (value.line == 0) value.line = call.line;
      value.begun = std::min(value.begun, call.call);
      if (is_ok(call) && call.end < value.there_from) {
        value.there_from = call.end;
        value.there_line = call.line;
      }
    } else {
      return unexpected(call, "add or read");
    }
  }
  Problems out;
  std::vector<std::vector<std::string>> seen;
  for (const Call* read : reads) {
    std::vector<std::string>& names = seen.emplace_back();
    for (const Json& each : read->answered) names.push_back(json_text(each));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const auto value = values.find(name);
      if (value == values.end() || value->second.begun > read->end) {
        out.push_back(
            {"a read has " + name + ", which was not added before it ended", {read->line}});
        continue;
      }
      if (read->end < value->second.there_from) {
        value->second.there_from = read->end;
        value->second.there_line = read->line;
      }
    }
  }
  for (const auto& [name, value] : values) {
    // Reads stand in the order of their calls.
    const auto first = std::partition_point(
        reads.begin(), reads.end(),
        [from = value.there_from](const Call* read) { return read->call <= from; });
    for (auto i = static_cast<size_t>(first - reads.begin()); i < reads.size(); ++i) {
      if (std::binary_search(seen[i].begin(), seen[i].end(), name)) continue;
      out.push_back({name + " was there, and a read that began later does not have it",
                     {value.there_line, reads[i]->line}});
      break;  // one read of those that lack it
    }
  }
  return out;
}

Result<Problems> counter_bounds(const History& history) {
  // What each read has to lie between, as sums over the events in their order.
  struct Event {
    int64_t at;
    Sum lower, upper;  // what it adds to either
  };
  std::vector<Event> events;
  std::vector<const Call*> reads;
  for (const Call& call : history.calls) {
    if (call.f == "read") {
      if (!is_ok(call)) continue;
      if (!whole_number(call.answered)) return unexpected(call, "a whole number as its answer");
      reads.push_back(&call);
      continue;
    }
    if (call.f != "add") return unexpected(call, "add or read");
    if (!call.asked.is_null() && !whole_number(call.asked))
      return unexpected(call, "a whole number");
    if (!may_have_happened(call)) continue;
    const int64_t amount = call.asked.is_null() ? 1 : call.asked.get<int64_t>();
    // From its call on it may have happened, and from its end on it has.
    events.push_back({call.call, std::min<int64_t>(amount, 0), std::max<int64_t>(amount, 0)});
    if (is_ok(call))
      events.push_back({call.end, std::max<int64_t>(amount, 0), std::min<int64_t>(amount, 0)});
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.at < b.at; });
  // Sums of what stands before each event; a read takes the lowest that was possible while it ran, and the highest.
  std::vector<Sum> lower{0}, upper{0};
  for (const Event& each : events) {
    lower.push_back(lower.back() + each.lower);
    upper.push_back(upper.back() + each.upper);
  }
  Problems out;
  for (const Call* read : reads) {
    const auto place = [&](int64_t time) {
      return std::lower_bound(events.begin(), events.end(), time,
                              [](const Event& event, int64_t at) { return event.at < at; }) -
             events.begin();
    };
    auto at = static_cast<size_t>(place(read->call));
    Sum least = lower[at], most = upper[at];
    for (; at <= static_cast<size_t>(place(read->end)); ++at) {
      least = std::min(least, lower[at]);
      most = std::max(most, upper[at]);
    }
    const auto value = read->answered.get<int64_t>();
    if (value >= least && value <= most) continue;
    out.push_back({"a read has " + std::to_string(value) + ", which is not between " +
                       number_text(least) + " and " + number_text(most),
                   {read->line}});
  }
  return out;
}

Result<Problems> bank_totals(const History& history) {
  Problems out;
  std::optional<Sum> total;
  int first_line = 0;
  for (const Call& call : history.calls) {
    if (call.f == "transfer") continue;
    if (call.f != "read") return unexpected(call, "transfer or read");
    if (!is_ok(call)) continue;
    if (!call.answered.is_object()) return unexpected(call, "an object of balances as its answer");
    Sum sum = 0;
    for (const auto& [account, balance] : call.answered.items()) {
      const std::optional<int64_t> amount = whole_number(balance);
      if (!amount) return unexpected(call, "whole numbers as balances");
      if (*amount < 0)
        out.push_back({"the account " + account + " has " + std::to_string(*amount), {call.line}});
      sum += *amount;
    }
    if (!total) {
      total = sum;
      first_line = call.line;
    } else if (sum != *total) {
      out.push_back(
          {"the balances are " + number_text(sum) + " together, and were " + number_text(*total),
           {first_line, call.line}});
    }
  }
  return out;
}

struct Row {
  std::string_view name;
  Check check;
};
constexpr Row kChecks[] = {{"unique-ids", unique_ids},
                           {"total-queue", total_queue},
                           {"set-full", set_full},
                           {"counter-bounds", counter_bounds},
                           {"bank-totals", bank_totals}};

}  // namespace

const std::vector<std::string_view>& linear_check_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> out;
    std::transform(std::begin(kChecks), std::end(kChecks), std::back_inserter(out),
                   [](const Row& row) { return row.name; });
    return out;
  }();
  return names;
}

Result<Problems> check_in_one_pass(std::string_view name, const History& history) {
  for (const Row& row : kChecks) {
    if (row.name == name) return row.check(history);
  }
  return Error{"there is no check '" + std::string(name) + "'"};
}

}  // namespace filibuster::property
