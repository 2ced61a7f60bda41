#include "daemon/property/history.h"

#include <algorithm>
#include <map>

#include "daemon/property/edn.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

Error at_line(int line, const std::string& what) {
  return Error{std::to_string(line) + ": " + what};
}

int line_of(std::string_view whole, const char* place) {
  return 1 + static_cast<int>(std::count(whole.data(), place, '\n'));
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
                                  : found->dump();
    };
    const std::string process = text("process"), type = text("type");
    if (process.empty()) return at_line(line, "expected 'process', which says whose event it is");
    if (process == "nemesis" || process == ":nemesis") {
      ++out_.left_out;
      return {};
    }
    const Json value = event.contains("value") ? event["value"] : Json();
    if (type == "invoke") return invoke(process, text("f"), text("key"), value, line);
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
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size());
    Json event;
    ++line;
    auto is_event = read_log_line(text.substr(0, size), &event);
    if (!is_event) return at_line(line, "expected " + is_event.error().message);
    if (is_event.value()) {
      if (auto added = pairs.add(event, line); !added) return added.error();
    }
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return pairs.take();
}

Result<History> read_json_lines(std::string_view text) {
  Pairs pairs;
  int line = 0;
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, size);
    ++line;
    if (row.find_first_not_of(" \t\r") != std::string_view::npos) {
      const Json event = Json::parse(row, nullptr, false);
      if (event.is_discarded()) return at_line(line, "expected JSON");
      if (auto added = pairs.add(event, line); !added) return added.error();
    }
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return pairs.take();
}

Result<History> read_edn_history(std::string_view text) {
  const std::string_view whole = text;
  Pairs pairs;
  while (true) {
    // The place of a value is behind the blanks in front of it.
    skip_edn_blanks(&text);
    const int line = line_of(whole, text.data());
    // One vector or list of all maps.
    if (!text.empty() && (text.front() == '[' || text.front() == '(' || text.front() == ']' ||
                          text.front() == ')')) {
      text.remove_prefix(1);
      continue;
    }
    auto value = read_edn(&text);
    if (!value) return at_line(line_of(whole, text.data()), "expected " + value.error().message);
    if (!value.value()) return pairs.take();
    if (auto added = pairs.add(*value.value(), line); !added) return added.error();
  }
}

}  // namespace

Result<History> read_history(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return at_line(1, "expected a history, found nothing");
  const std::string_view line = text.substr(first, text.find('\n', first) - first);
  const bool is_edn = line.starts_with('[') || line.starts_with('(') || line.starts_with(';') ||
                      line.starts_with('#') ||
                      (line.starts_with('{') && line.find(':') < line.find('"'));
  if (is_edn) return read_edn_history(text);
  return line.starts_with('{') ? read_json_lines(text) : read_log(text);
}

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace filibuster::property
