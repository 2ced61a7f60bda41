#include "daemon/property/history.h"

#include <algorithm>
#include <map>

#include "core/text/nearest.h"
#include "daemon/property/edn.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

Error at_line(int line, const std::string& what) {
  return Error{std::to_string(line) + ": " + what};
}

// Lines of a text, counted once from its beginning to its end: places are asked for in their order.
class Lines {
 public:
  explicit Lines(std::string_view text) : counted_(text.data()) {}
  int at(const char* place) {
    line_ += static_cast<int>(std::count(counted_, place, '\n'));
    counted_ = place;
    return line_;
  }

 private:
  const char* counted_;
  int line_ = 1;
};

// Where a text stops being UTF-8; its end where it does not. Texts that are none would be written alike, and so be taken for equal.
const char* end_of_utf8(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const auto first = static_cast<unsigned char>(*at);
    const int size = first < 0x80   ? 1
                     : first < 0xc2 ? 0
                     : first < 0xe0 ? 2
                     : first < 0xf0 ? 3
                     : first < 0xf5 ? 4
                                    : 0;
    if (size == 0 || end - at < size) return at;
    for (int i = 1; i < size; ++i) {
      if ((static_cast<unsigned char>(at[i]) & 0xc0) != 0x80) return at;
    }
    // Not shorter ones at greater length, and neither halves of pairs nor what is beyond Unicode.
    const auto second = size > 1 ? static_cast<unsigned char>(at[1]) : 0;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
      return at;
    at += size;
  }
  return end;
}

// Puts events together, one after the other.
class Pairs {
 public:
  // `event`: with the members of a line.
  Result<void> add(const Json& event, int line) {
    if (!event.is_object()) return at_line(line, "expected an object (EDN: a map) for each event");
    const auto text = [&](const char* name) {
      const auto found = event.find(name);
      return found == event.end() ? std::string()
             : found->is_string() ? found->get<std::string>()
                                  : json_text(*found);
    };
    const std::string process = text("process"), type = text("type");
    if (process.empty()) return at_line(line, "expected 'process', which says whose event it is");
    if (process == "nemesis" || process == ":nemesis") {
      ++out_.left_out;
      return {};
    }
    const Json value = event.contains("value") ? event["value"] : Json();
    if (type == "invoke") {
      auto begun = invoke(process, text("f"), text("key"), value, line);
      if (begun) out_.calls.back().has_key = event.contains("key");
      return begun;
    }
    static const std::map<std::string, Outcome> kOutcomes = {
        {"ok", Outcome::kOk}, {"fail", Outcome::kFail}, {"info", Outcome::kInfo}};
    const auto outcome = kOutcomes.find(type);
    if (outcome == kOutcomes.end())
      return at_line(line, "'type': expected invoke, ok, fail or info, found '" + type + "'");
    auto ended = end(process, text("f"), outcome->second, value, line);
    if (!ended) return ended.error();
    return evidence(event, ended.value(), line);
  }

  History take() { return std::move(out_); }

 private:
  Result<void> invoke(const std::string& process, const std::string& f, const std::string& key,
                      const Json& value, int line) {
    if (f.empty()) return at_line(line, "expected 'f', the name of the operation");
    const auto [open, is_new] = open_.emplace(process, out_.calls.size());
    if (!is_new) {
      const Call& before = out_.calls[open->second];
      return at_line(line, "process " + process + " begins '" + f + "' while its '" + before.f +
                               "' of line " + std::to_string(before.line) +
                               " is open; expected ok, fail or info of it before");
    }
    if (dead_.contains(process))
      return at_line(line, "process " + process +
                               " goes on behind an info, whose operation may still take effect; "
                               "expected another process from there on");
    Call call;
    call.process = process;
    call.f = f;
    call.asked = value;
    call.key = key;
    call.call = now_++;
    call.line = line;
    out_.calls.push_back(std::move(call));
    return {};
  }

  // The number of the call that has ended.
  Result<size_t> end(const std::string& process, const std::string& f, Outcome outcome,
                     const Json& value, int line) {
    const auto open = open_.find(process);
    if (open == open_.end())
      return at_line(line,
                     "process " + process + " has no open operation; expected an invoke before");
    Call& call = out_.calls[open->second];
    if (!f.empty() && f != call.f)
      return at_line(line, "process " + process + " ends '" + f + "', and its open operation is '" +
                               call.f + "' of line " + std::to_string(call.line));
    call.answered = value;
    call.outcome = outcome;
    if (outcome == Outcome::kInfo) dead_.emplace(process, line);
    if (outcome != Outcome::kInfo) call.end = now_;
    ++now_;
    const size_t number = open->second;
    open_.erase(open);
    return number;
  }

  Result<void> evidence(const Json& event, size_t number, int line) {
    Call& call = out_.calls[number];
    if (call.outcome != Outcome::kInfo) return {};
    if (const auto reached = event.find("reached"); reached != event.end()) {
      if (!reached->is_boolean()) return at_line(line, "'reached': expected true or false");
      call.reached = reached->get<bool>();
    }
    if (const auto answer = event.find("answer"); answer != event.end()) call.seen_answer = *answer;
    return {};
  }

  History out_;
  std::map<std::string, size_t> open_;
  std::map<std::string, int> dead_;
  int64_t now_ = 0;
};

// What stands behind " - " of a line of the log: process, type, f and value between tabs. False: the line is none of an event.
Result<bool> read_log_line(std::string_view line, Json* event) {
  constexpr std::string_view kMark = " - ";
  const size_t mark = line.find(kMark);
  if (mark == std::string_view::npos || line.find(" :", mark) == line.find("\t:", mark))
    return false;
  line.remove_prefix(mark + kMark.size());
  const char* const names[] = {"process", "type", "f", "value"};
  *event = Json::object();
  for (const char* name : names) {
    auto value = read_edn(&line);
    if (!value) return value.error();
    if (!value.value()) break;
    (*event)[name] = std::move(*value.value());
  }
  return true;
}

Result<History> read_log(std::string_view text) {
  Pairs pairs;
  int line = 0;
  bool has_events = false;
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size());
    Json event;
    ++line;
    auto is_event = read_log_line(text.substr(0, size), &event);
    if (!is_event) return at_line(line, "expected " + is_event.error().message);
    has_events |= is_event.value();
    if (is_event.value()) {
      if (auto added = pairs.add(event, line); !added) return added.error();
    }
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  // A text of something else is no history without calls, which would be linearisable.
  if (!has_events)
    return at_line(
        1,
        "expected a history in JSON lines, in EDN or in Jepsen's log; no line is an event of one");
  return pairs.take();
}

// Of a line of JSON. Those of the last row are what others write besides, and say nothing here.
constexpr std::string_view kMembers[] = {
    "process", "type",    "f",      "value",
    "key",     "reached", "answer",  // as the documentation has them
    "time",    "index",   "error"};

// A value under a misspelt name would be none, and the history would mean something else.
Result<void> check_members(const Json& event, int line) {
  for (const auto& member : event.items()) {
    if (std::find(std::begin(kMembers), std::end(kMembers), member.key()) != std::end(kMembers))
      continue;
    const std::string_view near = nearest(member.key(), kMembers);
    std::string expected = near.empty() ? "expected" : "did you mean '" + std::string(near) + "'?";
    for (size_t i = 0; near.empty() && i < std::size(kMembers); ++i)
      expected += (i == 0                         ? " "
                   : i + 1 == std::size(kMembers) ? " or "
                                                  : ", ") +
                  std::string(kMembers[i]);
    return at_line(line, "an event has no member '" + member.key() + "'; " + expected);
  }
  return {};
}

Result<History> read_json_lines(std::string_view text) {
  Pairs pairs;
  int line = 0;
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, size);
    ++line;
    if (row.find_first_not_of(" \t\r") != std::string_view::npos) {
      if (is_too_deep(row))
        return at_line(line,
                       "expected JSON that is at most " + std::to_string(kDeepestValue) + " deep");
      const Json event = Json::parse(row, nullptr, false);
      if (event.is_discarded()) return at_line(line, "expected JSON");
      if (event.is_object()) {
        if (auto known = check_members(event, line); !known) return known.error();
      }
      if (auto added = pairs.add(event, line); !added) return added.error();
    }
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return pairs.take();
}

Result<History> read_edn_history(std::string_view text) {
  Lines lines(text);
  Pairs pairs;
  while (true) {
    // The place of a value is behind the blanks in front of it.
    skip_edn_blanks(&text);
    const int line = lines.at(text.data());
    // One vector or list of all maps.
    if (!text.empty() && (text.front() == '[' || text.front() == '(' || text.front() == ']' ||
                          text.front() == ')')) {
      text.remove_prefix(1);
      continue;
    }
    auto value = read_edn(&text);
    if (!value) return at_line(lines.at(text.data()), "expected " + value.error().message);
    if (!value.value()) return pairs.take();
    if (auto added = pairs.add(*value.value(), line); !added) return added.error();
  }
}

}  // namespace

bool is_too_deep(std::string_view json) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestValue) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

Result<History> read_history(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return at_line(1, "expected a history, found nothing");
  const std::string_view line = text.substr(first, text.find('\n', first) - first);
  const bool is_edn = line.starts_with('[') || line.starts_with('(') || line.starts_with(';') ||
                      line.starts_with('#') ||
                      (line.starts_with('{') && line.find(':') < line.find('"'));
  if (!is_edn && line.starts_with('{')) return read_json_lines(text);
  if (const char* const bad = end_of_utf8(text); bad != text.data() + text.size())
    return at_line(Lines(text).at(bad), "expected UTF-8");
  return is_edn ? read_edn_history(text) : read_log(text);
}

const char* outcome_name(Outcome outcome) {
  return outcome == Outcome::kOk ? "ok" : outcome == Outcome::kFail ? "fail" : "info";
}

std::string history_lines(const History& history) {
  std::vector<std::pair<int64_t, nlohmann::ordered_json>> events;
  for (const Call& call : history.calls) {
    nlohmann::ordered_json event = {
        {"process", call.process}, {"type", "invoke"}, {"f", call.f}, {"value", call.asked}};
    if (call.has_key) event["key"] = call.key;
    events.emplace_back(call.call, event);
    if (call.end == linear::kNever) continue;
    event["type"] = outcome_name(call.outcome);
    event["value"] = call.answered;
    events.emplace_back(call.end, std::move(event));
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [at, event] : events)
    out += event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  return out;
}

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<int64_t> whole_number(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX})
    return std::nullopt;
  return value.get<int64_t>();
}

}  // namespace filibuster::property
