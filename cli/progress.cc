#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/wrap.h"

namespace filibuster::cli {
namespace {

using Json = nlohmann::json;

// Without a terminal, lines about executions come at most this often, or when a further tenth of the work
// is done.
constexpr std::chrono::seconds kPlainInterval{2};
constexpr double kPlainFraction = 0.1;

// Select graphic rendition (ECMA-48 §8.3.117).
const std::string kRed = "\x1b[1;31m", kBold = "\x1b[1m", kPlain = "\x1b[0m";

std::string text_in_event(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}
double number_of(const Json& event, const char* key, double absent) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number() ? found->get<double>() : absent;
}
uint64_t count_of(const Json& event, const char* key) {
  const double value = number_of(event, key, 0);
  return value > 0 && value < 9e15 ? static_cast<uint64_t>(value) : 0;
}
bool flag_of(const Json& event, const char* key, bool absent) {
  const auto found = event.find(key);
  return found != event.end() && found->is_boolean() ? found->get<bool>() : absent;
}

std::string printed(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string with_newline(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

const std::string& shown_name(const ProgressEvent& event) {
  return event.short_name.empty() ? event.test : event.short_name;
}

// A test that gets no faults says so at once, with the reason.
std::string reference_line(const ProgressEvent& event) {
  const std::string number = event.planned > 1 ? " (" + std::to_string(event.number) + " of " +
                                                     std::to_string(event.planned) + ")"
                                               : "";
  const std::string line = "reference execution of '" + shown_name(event) + "'" + number + ": " +
                           duration_text(event.seconds) + ", " + std::to_string(event.rpcs) +
                           (event.rpcs == 1 ? " RPC" : " RPCs");
  return line + (event.left_out.empty() ? "" : "; gets no faults: " + event.left_out);
}

double fraction_done(const ProgressEvent& event) {
  const double all = static_cast<double>(event.executed) + static_cast<double>(event.open);
  return all > 0 ? static_cast<double>(event.executed) / all : 0;
}

}  // namespace

ProgressEvent parse_event(const Json& event) {
  ProgressEvent out;
  if (!event.is_object()) return out;
  out.type = text_in_event(event, "type");
  out.test = text_in_event(event, "test");
  out.name = text_in_event(event, "name");
  out.state = text_in_event(event, "state");
  out.detail = text_in_event(event, "detail");
  out.text = text_in_event(event, "text");
  out.headline = text_in_event(event, "headline");
  out.verdict = text_in_event(event, "verdict");
  out.summary = text_in_event(event, "summary");
  out.report = text_in_event(event, "report");
  out.counterexample = text_in_event(event, "counterexample");
  out.short_name = text_in_event(event, "short_name");
  out.left_out = text_in_event(event, "left_out");
  out.recording = text_in_event(event, "recording");
  out.at = text_in_event(event, "at");
  out.number = count_of(event, "number");
  out.first = count_of(event, "first");
  out.replaying = count_of(event, "replaying");
  out.executed = count_of(event, "executed");
  out.scheduled = count_of(event, "scheduled");
  out.open = count_of(event, "open");
  out.places = count_of(event, "places");
  out.places_tried = count_of(event, "places_tried");
  out.planned = count_of(event, "planned");
  out.rpcs = count_of(event, "rpcs");
  out.findings = count_of(event, "findings");
  out.items = count_of(event, "items");
  out.tried = count_of(event, "tried");
  out.pid = static_cast<int64_t>(count_of(event, "pid"));
  out.seconds = number_of(event, "seconds", 0);
  out.rate = number_of(event, "rate", 0);
  out.eta_seconds = number_of(event, "eta_seconds", -1);
  out.time_left = number_of(event, "time_left", -1);
  out.resumed = flag_of(event, "resumed", false);
  out.watching = flag_of(event, "watching", false);
  out.passed = flag_of(event, "passed", true);
  out.exit_code = static_cast<int>(std::clamp(number_of(event, "exit_code", 0), 0.0, 255.0));
  if (const auto faults = event.find("faults"); faults != event.end() && faults->is_array()) {
    for (const Json& fault : *faults) {
      if (fault.is_string()) out.faults.push_back(fault.get<std::string>());
    }
  }
  return out;
}

std::string duration_text(double seconds, bool whole_seconds) {
  if (!(seconds >= 0)) return "?";
  if (whole_seconds && seconds < 59.5) return printed("%.0f s", seconds);
  if (seconds < 0.995) return printed("%.2f s", seconds);
  if (seconds < 9.95) return printed("%.1f s", seconds);
  if (seconds < 59.5) return printed("%.0f s", seconds);
  if (seconds > 1e7) return "very long";
  const long whole = std::lround(seconds);
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::string progress_line(const ProgressEvent& event, uint64_t findings, size_t columns) {
  // In the order in which they stand, with what is left out first where there is no room.
  struct Part {
    std::string text;
    int left_out;
  };
  std::vector<Part> parts;
  // Where all executions are planned before, how many of them are over says how far it is.
  const uint64_t all = event.planned > 0 ? event.planned : event.executed;
  const std::string executions =
      std::to_string(event.executed) + (event.planned > 0 ? " of " + std::to_string(all) : "") +
      (event.type == "program" ? " program" : " execution") + (all == 1 ? "" : "s");
  if (event.places > 0)
    parts.push_back({std::to_string(event.places_tried) + " of " + std::to_string(event.places) +
                         (event.places == 1 ? " place" : " places"),
                     6});
  parts.push_back({executions, 4});
  if (event.places == 0 && event.planned == 0)
    parts.push_back({std::to_string(event.open) + " open", 6});
  if (event.items > 0)
    parts.push_back({"shrinking (" + std::to_string(event.items) +
                         (event.items == 1 ? " item, " : " items, ") + std::to_string(event.tried) +
                         " tried)",
                     5});
  if (event.rate > 0)
    parts.push_back({printed(event.rate < 10 ? "%.1f" : "%.0f", event.rate) + "/s", 1});
  if (findings > 0)
    parts.push_back({std::to_string(findings) + (findings == 1 ? " finding" : " findings"), 5});
  const bool is_bounded = event.time_left >= 0;
  if (is_bounded || (event.open > 0 && event.eta_seconds >= 0))
    parts.push_back(
        {(is_bounded ? duration_text(event.time_left, true) : duration_text(event.eta_seconds)) +
             " left",
         3});
  const auto joined = [&] {
    std::string out;
    for (const Part& part : parts) out += (out.empty() ? "" : ", ") + part.text;
    return out;
  };
  std::string name = shown_name(event) + ": ";
  constexpr int kNameIsLeftOut = 2;
  for (int next = 1; columns > 0 && columns_of(name + joined()) > columns && next < 6; ++next) {
    if (next == kNameIsLeftOut) name.clear();
    std::erase_if(parts, [&](const Part& part) { return part.left_out == next; });
  }
  return columns == 0 ? name + joined() : first_words(name + joined(), columns);
}

std::string on_terminal(const std::string& summary, size_t columns, bool color) {
  std::string out;
  for (size_t at = 0; at < summary.size();) {
    const size_t end = std::min(summary.find('\n', at), summary.size());
    const std::string_view line = std::string_view(summary).substr(at, end - at);
    const bool finding = color && line.starts_with("  finding ");
    const bool test = color && line.starts_with("test \"");
    if (finding || test) out += finding ? kRed : kBold;
    out += wrapped(line, columns);
    if (finding || test) out += kPlain;
    if (end < summary.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

Output ProgressView::show(const ProgressEvent& event, Time now) {
  if (options_.quiet && event.type != "warning" && event.type != "error" && event.type != "done")
    return {};
  if (event.type == "session") {
    replays_ = event.replaying > 0;
    if (replays_)
      return lasting("replaying " + std::to_string(event.replaying) +
                     (event.replaying == 1 ? " case of '" : " cases of '") + event.recording +
                     "' alone, to see which are kept");
    if (!event.recording.empty())
      return lasting("recording '" + event.recording + "'" +
                     (event.at.empty() ? "" : " at " + event.at) +
                     (event.watching ? " until Ctrl-C" : ", while '" + event.test + "' runs"));
    if (event.watching) return lasting("watching until Ctrl-C");
    return lasting((event.resumed ? "continuing '" : "exploring '") + event.test + "'");
  }
  if (event.type == "service") {
    const std::string line = "service " + event.name + " " + event.state +
                             (event.pid > 0 ? " (pid " + std::to_string(event.pid) + ")" : "") +
                             (event.detail.empty() ? "" : ": " + event.detail);
    // This line is only of interest until the next event. Replays start a service again and again.
    const bool is_restarted = replays_ && (event.state == "ready" ||
                                           (event.state == "exited" && event.detail == "stopped"));
    if (event.state == "starting" || is_restarted) {
      if (!options_.terminal) return {};
      Output out{transient(line), ""};
      momentary_ = true;
      return out;
    }
    return lasting(line);
  }
  if (event.type == "reference") {
    return lasting(reference_line(event));
  }
  if (event.type == "execution") return execution(event, now);
  if (event.type == "program")
    return options_.terminal ? Output{transient(progress_line(event, 0, room())), ""} : Output{};
  if (event.type == "finding") {
    const bool known = event.first != 0 && event.first != event.number;
    if (!known) ++findings_;
    // Only the headline: the summary at the end shows the whole finding.
    const std::string line = "finding " + std::to_string(event.number) + ": " +
                             (known ? "as finding " + std::to_string(event.first) + ", " : "") +
                             event.headline;
    return lasting(line, "", options_.color);
  }
  if (event.type == "warning") return lasting("warning: " + event.text);
  if (event.type == "error") return lasting("error: " + event.text);
  if (event.type == "done") {
    Output out = lasting("", event.summary);
    line_.clear();
    return out;
  }
  return {};  // an event type of a later version
}

Output ProgressView::execution(const ProgressEvent& event, Time now) {
  // A resumed run counts earlier ones, too.
  const uint64_t findings = std::max(findings_, event.findings);
  if (options_.terminal) return {transient(progress_line(event, findings, room())), ""};
  const double fraction = fraction_done(event);
  const bool same = plain_test_ == event.test;
  if (same && now - plain_time_ < kPlainInterval && fraction - plain_fraction_ < kPlainFraction)
    return {};
  plain_test_ = event.test;
  plain_time_ = now;
  plain_fraction_ = fraction;
  std::string line = progress_line(event, findings, 0);
  if (!event.faults.empty()) {
    line += " | last: ";
    for (size_t i = 0; i < event.faults.size(); ++i)
      line += (i == 0 ? "" : " + ") + event.faults[i];
    const std::string verdict =
        event.verdict.empty() ? (event.passed ? "passed" : "failed") : event.verdict;
    line += " -> " + verdict + " in " + duration_text(event.seconds);
  }
  return {line + "\n", ""};
}

Output ProgressView::lasting(const std::string& text, std::string result, bool red) {
  const std::string before = momentary_ ? "" : line_;
  std::string progress = options_.terminal ? wrapped(text, options_.columns) : text;
  if (red) progress = kRed + progress + kPlain;
  Output out{clear() + with_newline(std::move(progress)), with_newline(std::move(result))};
  // With a result, the updating line only comes back with the next execution: written now, it would stand
  // before the result, which goes to the other stream.
  if (out.result.empty() && !before.empty()) out.progress += transient(before);
  return out;
}

std::string ProgressView::note(const std::string& text) {
  return lasting(text).progress;
}

std::string ProgressView::transient(const std::string& line) {
  line_ = first_words(line, room());
  momentary_ = false;
  return "\r" + line_ + "\x1b[K";
}

// One column stays free: some terminals wrap after the last one.
size_t ProgressView::room() const {
  return std::max<size_t>(options_.columns, 20) - 1;
}

std::string ProgressView::clear() {
  if (line_.empty()) return "";
  line_.clear();
  return "\r\x1b[K";
}

}  // namespace filibuster::cli
