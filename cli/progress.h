// Turns the daemon's progress events into text: on a terminal, one line that updates itself below the
// lines that stay; elsewhere plain lines, not more than a person wants to read. It does no I/O.
//
//   ProgressView view({.terminal = true, .columns = 80});
//   Output out = view.show(event, now);     // write out.progress to stderr, out.result to stdout
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace filibuster::cli {

// An event of docs/api.md. Members that it does not have keep their defaults.
struct ProgressEvent {
  std::string type, test, name, state, detail, text, headline, verdict, summary, report,
      counterexample, short_name, left_out, recording, at;
  std::vector<std::string> faults;
  uint64_t number = 0, first = 0, executed = 0, replaying = 0, scheduled = 0, open = 0, places = 0,
           places_tried = 0, planned = 0, rpcs = 0, findings = 0, items = 0, tried = 0;
  int64_t pid = 0;
  double seconds = 0, rate = 0, eta_seconds = -1, time_left = -1;  // < 0: not known
  bool resumed = false, watching = false, passed = true;
  int exit_code = 0;
};
// Never throws: members of a wrong type count as absent.
ProgressEvent parse_event(const nlohmann::json& event);

struct Output {
  std::string progress;  // for stderr
  std::string result;    // for stdout: findings and the summary
};

struct ViewOptions {
  bool terminal = false;
  bool quiet = false;  // only warnings, errors and the summary
  bool color = false;  // of the findings' lines, on stderr
  size_t columns = 80;
};

class ProgressView {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit ProgressView(ViewOptions options) : options_(options) {}
  // The terminal has so many now.
  void set_columns(size_t columns) { options_.columns = columns; }

  Output show(const ProgressEvent& event, Time now);
  // Both return what to write to stderr: a lasting line above the updating one ...
  std::string note(const std::string& text);
  // ... or what removes the updating line.
  std::string clear();

 private:
  Output lasting(const std::string& text, std::string result = "", bool red = false);
  Output execution(const ProgressEvent& event, Time now);
  std::string transient(const std::string& line);
  size_t room() const;

  ViewOptions options_;
  std::string line_;        // the updating line that is on the terminal now
  bool momentary_ = false;  // line_ is news that the next event makes stale
  bool replays_ = false;    // cases, on one process after the other
  uint64_t findings_ = 0;
  std::string plain_test_;  // the test, time and progress of the last plain line about an execution
  Time plain_time_{};
  double plain_fraction_ = 0;
};

// The summary for a terminal: its lines broken at blanks, and with `color` the headlines of tests and findings in other
// types. 0 columns: any number.
std::string on_terminal(const std::string& summary, size_t columns, bool color);
// "shop: 7 of 9 places, 24 executions, 1.7/s, 2 findings, 1 min 12 s left", "jobs: 12 of 100 programs, shrinking (3 items, 7 tried)". Where that has more columns (0: any number), parts
// are left out: the rate first, the places last.
std::string progress_line(const ProgressEvent& event, uint64_t findings, size_t columns);
// 0.042 -> "0.04 s", 75 -> "1 min 15 s", 4000 -> "1 h 6 min"
std::string duration_text(double seconds, bool whole_seconds = false);

}  // namespace filibuster::cli
