#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

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

// The first `columns` characters of a UTF-8 text.
std::string cut(const std::string& text, int columns) {
  int seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (++seen > columns) return text.substr(0, i);
  }
  return text;
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
  out.number = count_of(event, "number");
  out.first = count_of(event, "first");
  out.executed = count_of(event, "executed");
  out.scheduled = count_of(event, "scheduled");
  out.open = count_of(event, "open");
  out.redundant = count_of(event, "redundant");
  out.rpcs = count_of(event, "rpcs");
  out.findings = count_of(event, "findings");
  out.pid = static_cast<int64_t>(count_of(event, "pid"));
  out.seconds = number_of(event, "seconds", 0);
  out.rate = number_of(event, "rate", 0);
  out.eta_seconds = number_of(event, "eta_seconds", -1);
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

std::string duration_text(double seconds) {
  if (!(seconds >= 0)) return "?";
  if (seconds < 0.995) return printed("%.2f s", seconds);
  if (seconds < 9.95) return printed("%.1f s", seconds);
  if (seconds < 59.5) return printed("%.0f s", seconds);
  if (seconds > 1e7) return "very long";
  const long whole = std::lround(seconds);
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::string counts_text(const ProgressEvent& event) {
  std::string text = std::to_string(event.executed) + " executed, " + std::to_string(event.open) +
                     " open, " + std::to_string(event.redundant) + " redundant";
  if (event.rate > 0) text += ", " + printed(event.rate < 10 ? "%.1f" : "%.0f", event.rate) + "/s";
  if (event.open > 0 && event.eta_seconds >= 0)
    text += ", " + duration_text(event.eta_seconds) + " left";
  return text;
}

std::string painted(const std::string& summary) {
  std::string out;
  for (size_t at = 0; at < summary.size();) {
    const size_t end = std::min(summary.find('\n', at), summary.size());
    const std::string_view line = std::string_view(summary).substr(at, end - at);
    const bool finding = line.starts_with("  finding ");
    const bool test = line.starts_with("test \"");
    if (finding || test) out += finding ? kRed : kBold;
    out += line;
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
    if (event.watching) return lasting("watching until Ctrl-C");
    return lasting((event.resumed ? "continuing '" : "exploring '") + event.test + "'");
  }
  if (event.type == "service") {
    const std::string line = "service " + event.name + " " + event.state +
                             (event.pid > 0 ? " (pid " + std::to_string(event.pid) + ")" : "") +
                             (event.detail.empty() ? "" : ": " + event.detail);
    // This line is only of interest until the next event.
    if (event.state == "starting") {
      if (!options_.terminal) return {};
      Output out{transient(line), ""};
      momentary_ = true;
      return out;
    }
    return lasting(line);
  }
  if (event.type == "reference") {
    return lasting("reference execution of '" + event.test + "': " + duration_text(event.seconds) +
                   ", " + std::to_string(event.rpcs) + (event.rpcs == 1 ? " RPC" : " RPCs"));
  }
  if (event.type == "execution") return execution(event, now);
  if (event.type == "finding") {
    const bool known = event.first != 0 && event.first != event.number;
    if (!known) ++findings_;
    // Only the headline: the summary at the end shows the whole finding.
    const std::string line = "finding " + std::to_string(event.number) + ": " +
                             (known ? "as finding " + std::to_string(event.first) + ", " : "") +
                             event.headline;
    return lasting(options_.color ? kRed + line + kPlain : line);
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
  const std::string found =
      findings == 0 ? ""
                    : ", " + std::to_string(findings) + (findings == 1 ? " finding" : " findings");
  const std::string counts = event.test + ": " + counts_text(event) + found;
  if (options_.terminal) return {transient(counts), ""};
  const double fraction = fraction_done(event);
  const bool same = plain_test_ == event.test;
  if (same && now - plain_time_ < kPlainInterval && fraction - plain_fraction_ < kPlainFraction)
    return {};
  plain_test_ = event.test;
  plain_time_ = now;
  plain_fraction_ = fraction;
  std::string line = counts;
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

Output ProgressView::lasting(std::string progress, std::string result) {
  const std::string before = momentary_ ? "" : line_;
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
  // One column stays free: some terminals wrap after the last one.
  line_ = cut(line, std::max(options_.columns, 20) - 1);
  momentary_ = false;
  return "\r" + line_ + "\x1b[K";
}

std::string ProgressView::clear() {
  if (line_.empty()) return "";
  line_.clear();
  return "\r\x1b[K";
}

}  // namespace filibuster::cli
