#include "cli/progress.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace filibuster::cli {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

const ProgressView::Time kStart{};

ProgressEvent event(const char* json) {
  return parse_event(Json::parse(json));
}

ProgressEvent execution(uint64_t executed, uint64_t open) {
  ProgressEvent out = event(R"({"type": "execution", "test": "t", "rate": 41.2,
      "eta_seconds": 3, "faults": ["users -> movies: refused"], "verdict": "failed", "passed": false,
      "seconds": 0.042})");
  out.executed = executed;
  out.open = open;
  return out;
}

TEST(Durations, ReadAsAPersonSaysThem) {
  EXPECT_EQ(duration_text(0.042), "0.04 s");
  EXPECT_EQ(duration_text(1.25), "1.2 s");
  EXPECT_EQ(duration_text(42.4), "42 s");
  EXPECT_EQ(duration_text(75), "1 min 15 s");
  EXPECT_EQ(duration_text(3599.9), "1 h 0 min");
  EXPECT_EQ(duration_text(4000), "1 h 6 min");
  EXPECT_EQ(duration_text(1e300), "very long");
  EXPECT_EQ(duration_text(-1), "?");
}

// "t: 2 of 3 places, 8 executions, 41/s, 3.0 s left"
ProgressEvent execution_at_places(uint64_t executed, uint64_t open) {
  ProgressEvent out = execution(executed, open);
  out.places = 3;
  out.places_tried = 2;
  return out;
}

TEST(ProgressLine, SaysWhatIsKnown) {
  EXPECT_EQ(progress_line(execution_at_places(8, 3), 0, 0),
            "t: 2 of 3 places, 8 executions, 41/s, 3.0 s left");
  ProgressEvent last = execution(11, 0);
  last.rate = 2.5;
  EXPECT_EQ(progress_line(last, 1, 0), "t: 11 executions, 0 open, 2.5/s, 1 finding");
  EXPECT_EQ(progress_line(event(R"({"type": "execution"})"), 0, 0), ": 0 executions, 0 open");
}

TEST(ProgressLine, SaysWhenTheTimeIsOverWhereThatIsBounded) {
  ProgressEvent bounded = execution_at_places(24, 3);
  bounded.time_left = 72;
  EXPECT_EQ(progress_line(bounded, 2, 0),
            "t: 2 of 3 places, 24 executions, 41/s, 2 findings, 1 min 12 s left");
  bounded.time_left = 0.3;
  EXPECT_EQ(progress_line(bounded, 2, 0),
            "t: 2 of 3 places, 24 executions, 41/s, 2 findings, 0 s left");
  EXPECT_EQ(event(R"({"type": "execution", "time_left": null})").time_left, -1);
}

TEST(ProgressLine, SaysHowManyOfAPlanAreOver) {
  const ProgressEvent one =
      event(R"({"type": "execution", "test": "shop.test.js > pays", "short_name": "pays",
      "executed": 12, "planned": 340, "open": 328, "eta_seconds": 90})");
  EXPECT_EQ(progress_line(one, 1, 0), "pays: 12 of 340 executions, 1 finding, 1 min 30 s left");
}

TEST(ProgramsLine, ComesOnATerminalAlone) {
  ProgressEvent one = event(R"({"type": "program", "test": "jobs", "executed": 12, "planned": 100,
      "open": 88, "rate": 4.25, "eta_seconds": 20.7, "time_left": null})");
  EXPECT_EQ(progress_line(one, 0, 0), "jobs: 12 of 100 programs, 4.2/s, 21 s left");
  one.time_left = 8;
  EXPECT_EQ(progress_line(one, 0, 0), "jobs: 12 of 100 programs, 4.2/s, 8 s left");
  const ProgressEvent shrinking = event(R"({"type": "program", "test": "jobs", "executed": 12,
      "planned": 100, "open": 88, "items": 9, "tried": 31, "time_left": 75})");
  EXPECT_EQ(progress_line(shrinking, 0, 0),
            "jobs: 12 of 100 programs, shrinking (9 items, 31 tried), 1 min 15 s left");
  EXPECT_EQ(progress_line(shrinking, 0, 50), "12 of 100 programs, shrinking (9 items, 31 tried)");
  EXPECT_EQ(progress_line(shrinking, 0, 30), "shrinking (9 items, 31 tried)");
  ProgressView terminal({.terminal = true});
  EXPECT_EQ(terminal.show(one, kStart).progress,
            "\rjobs: 12 of 100 programs, 4.2/s, 8 s left\x1b[K");
  ProgressView plain({.terminal = false});
  EXPECT_EQ(plain.show(one, kStart).progress, "");
  ProgressView quiet({.terminal = true, .quiet = true});
  EXPECT_EQ(quiet.show(one, kStart).progress, "");
}

TEST(ProgressLine, LeavesOutWhatMattersLeastUntilItFits) {
  ProgressEvent one = execution_at_places(24, 3);
  one.test = "shop test";
  const std::string lines[] = {
      "shop test: 2 of 3 places, 24 executions, 41/s, 2 findings, 3.0 s left",
      "shop test: 2 of 3 places, 24 executions, 2 findings, 3.0 s left",
      "2 of 3 places, 24 executions, 2 findings, 3.0 s left",
      "2 of 3 places, 24 executions, 2 findings",
      "2 of 3 places, 2 findings",
      "2 of 3 places",
      "2 of 3"};
  for (size_t i = 0; i < std::size(lines); ++i) {
    EXPECT_EQ(progress_line(one, 2, lines[i].size()), lines[i]);
    if (i == 0) continue;
    EXPECT_EQ(progress_line(one, 2, lines[i - 1].size() - 1), lines[i]);
  }
}

TEST(Events, SurviveMembersOfAnyType) {
  const ProgressEvent odd =
      event(R"({"type": 5, "test": null, "executed": -1, "open": "x", "faults": [1],
      "passed": "no", "exit_code": 1e9, "rate": [], "pid": 1e300})");
  EXPECT_EQ(odd.type, "");
  EXPECT_EQ(odd.executed, 0u);
  EXPECT_TRUE(odd.faults.empty());
  EXPECT_EQ(odd.exit_code, 255);
  EXPECT_EQ(parse_event(Json::array()).type, "");
}

TEST(PlainView, TellsEventsAsLines) {
  ProgressView view({.terminal = false});
  const auto shown = [&](const char* json) { return view.show(event(json), kStart).progress; };
  EXPECT_EQ(shown(R"({"type": "session", "test": "t", "resumed": false})"), "exploring 't'\n");
  EXPECT_EQ(shown(R"({"type": "session", "test": "t", "resumed": true})"), "continuing 't'\n");
  EXPECT_EQ(shown(R"({"type": "service", "name": "users", "pid": 12, "state": "starting"})"), "");
  EXPECT_EQ(shown(R"({"type": "service", "name": "users", "pid": 12, "state": "ready"})"),
            "service users ready (pid 12)\n");
  EXPECT_EQ(
      shown(R"({"type": "service", "name": "users", "state": "exited", "detail": "SIGSEGV"})"),
      "service users exited: SIGSEGV\n");
  EXPECT_EQ(shown(R"({"type": "reference", "test": "t", "seconds": 0.12, "rpcs": 1})"),
            "reference execution of 't': 0.12 s, 1 RPC\n");
  EXPECT_EQ(shown(R"({"type": "reference", "test": "a.py::t", "short_name": "t", "number": 3,
      "planned": 80, "left_out": "it fails", "seconds": 0.12, "rpcs": 2})"),
            "reference execution of 't' (3 of 80): 0.12 s, 2 RPCs; gets no faults: it fails\n");
  EXPECT_EQ(shown(R"({"type": "warning", "text": "w"})"), "warning: w\n");
  EXPECT_EQ(shown(R"({"type": "error", "text": "e"})"), "error: e\n");
  EXPECT_EQ(shown(R"({"type": "of a later version"})"), "");
}

TEST(PlainView, AnExecutionLineSaysHowFarAndWhatWasLast) {
  ProgressView view({.terminal = false});
  EXPECT_EQ(view.show(execution(8, 3), kStart).progress,
            "t: 8 executions, 3 open, 41/s, 3.0 s left | last: users -> movies: refused "
            "-> failed "
            "in 0.04 s\n");
}

TEST(PlainView, ExecutionLinesComeEveryTwoSecondsOrEveryTenthOfTheWork) {
  ProgressView view({.terminal = false});
  const auto lines = [&](uint64_t executed, milliseconds at) {
    return view.show(execution(executed, 100 - executed), kStart + at).progress.empty() ? 0 : 1;
  };
  EXPECT_EQ(lines(1, milliseconds(0)), 1);
  EXPECT_EQ(lines(2, milliseconds(100)), 0);
  EXPECT_EQ(lines(10, milliseconds(1999)), 0);
  EXPECT_EQ(lines(11, milliseconds(1999)), 1);  // a tenth more
  EXPECT_EQ(lines(12, milliseconds(3998)), 0);
  EXPECT_EQ(lines(12, milliseconds(3999)), 1);  // two seconds later
}

TEST(PlainView, AFindingIsNewsAtOnceAndWholeInTheSummary) {
  ProgressView view({.terminal = false});
  const Output finding = view.show(
      event(R"({"type": "finding", "number": 7, "headline": "it fails under a -> b"})"), kStart);
  EXPECT_EQ(finding.progress, "finding 7: it fails under a -> b\n");
  EXPECT_EQ(finding.result, "");  // whole in the summary
  EXPECT_NE(view.show(execution(8, 3), kStart).progress.find(", 1 finding"), std::string::npos);
  EXPECT_EQ(view.show(event(R"({"type": "done", "summary": "all\n"})"), kStart).result, "all\n");
}

TEST(TerminalView, OneLineUpdatesItselfAndGivesWay) {
  ProgressView view({.terminal = true, .columns = 200});
  const std::string line = "\rt: 8 executions, 3 open, 41/s, 3.0 s left\x1b[K";
  EXPECT_EQ(view.show(execution(8, 3), kStart).progress, line);
  EXPECT_EQ(view.note("hello"), "\r\x1b[Khello\n" + line);
  const Output finding =
      view.show(event(R"({"type": "finding", "number": 1, "headline": "it fails"})"), kStart);
  // Above the line, which counts it from the next execution on.
  EXPECT_EQ(finding.progress, "\r\x1b[Kfinding 1: it fails\n" + line);
  EXPECT_EQ(finding.result, "");
  view.show(execution(9, 2), kStart);
  EXPECT_EQ(view.clear(), "\r\x1b[K");
  EXPECT_EQ(view.clear(), "");
}

TEST(TerminalView, ThatAServiceStartsIsNotSaidAgainAfterWhatFollows) {
  ProgressView view({.terminal = true, .columns = 200});
  const auto shown = [&](const char* json) { return view.show(event(json), kStart).progress; };
  const char* const starting = R"({"type": "service", "name": "users", "state": "starting"})";
  EXPECT_EQ(shown(starting), "\rservice users starting\x1b[K");
  EXPECT_EQ(shown(R"({"type": "service", "name": "users", "state": "ready"})"),
            "\r\x1b[Kservice users ready\n");
  shown(starting);
  EXPECT_EQ(shown(R"({"type": "error", "text": "e"})"), "\r\x1b[Kerror: e\n");
  shown(starting);  // a restart; the counts are what comes back
  const std::string counts = view.show(execution(8, 3), kStart).progress;
  EXPECT_EQ(shown(R"({"type": "warning", "text": "w"})"), "\r\x1b[Kwarning: w\n" + counts);
}

TEST(TerminalView, FindingsAreColoredOnlyWhereThatWasAskedFor) {
  const ProgressEvent found = event(R"({"type": "finding", "number": 1, "headline": "it fails"})");
  ProgressView plain({.terminal = true}), colored({.terminal = true, .color = true});
  EXPECT_EQ(plain.show(found, kStart).progress, "finding 1: it fails\n");
  EXPECT_EQ(colored.show(found, kStart).progress, "\x1b[1;31mfinding 1: it fails\x1b[0m\n");
  EXPECT_EQ(
      on_terminal("test \"t\": 1 finding\n\n  finding 1: it fails\n     | finding 1\n", 0, true),
      "\x1b[1mtest \"t\": 1 finding\x1b[0m\n\n"
      "\x1b[1;31m  finding 1: it fails\x1b[0m\n     | finding 1\n");
}

TEST(QuietView, SaysWarningsErrorsAndTheSummaryOnly) {
  ProgressView view({.quiet = true});
  for (const char* silent :
       {R"({"type": "session", "test": "t"})", R"({"type": "finding", "number": 1})",
        R"({"type": "service", "name": "a", "state": "ready"})", R"({"type": "reference"})"})
    EXPECT_EQ(view.show(event(silent), kStart).progress, "") << silent;
  EXPECT_EQ(view.show(execution(8, 3), kStart).progress, "");
  EXPECT_EQ(view.show(event(R"({"type": "warning", "text": "w"})"), kStart).progress,
            "warning: w\n");
  EXPECT_EQ(view.show(event(R"({"type": "done", "summary": "s"})"), kStart).result, "s\n");
}

TEST(TerminalView, TheLineIsCutToTheTerminalAtAWord) {
  ProgressView view({.terminal = true, .columns = 24});
  ProgressEvent long_name = execution(8, 3);
  long_name.test = "ääääääääääääääääääääääää";
  EXPECT_EQ(view.show(long_name, kStart).progress, "\r8 executions, 3 open\x1b[K");
  const char* const starting = R"({"type": "service", "name": "äääää", "state": "starting"})";
  view.set_columns(20);  // the window was made smaller
  EXPECT_EQ(view.show(event(starting), kStart).progress, "\rservice äääää\x1b[K");
}

TEST(PlainView, ReplaysStartAServiceAgainWithoutALine) {
  ProgressView view({.terminal = false, .columns = 80});
  const auto shown = [&](const char* text) { return view.show(event(text), kStart).progress; };
  const char* const ready = R"({"type": "service", "name": "a", "state": "ready", "pid": 7})";
  EXPECT_EQ(shown(ready), "service a ready (pid 7)\n");
  EXPECT_EQ(shown(R"({"type": "session", "recording": "a", "replaying": 2})"),
            "replaying 2 cases of 'a' alone, to see which are kept\n");
  EXPECT_EQ(shown(ready), "");
  EXPECT_EQ(shown(R"({"type": "service", "name": "a", "state": "exited", "detail": "stopped"})"),
            "");
  EXPECT_EQ(
      shown(R"({"type": "service", "name": "a", "state": "exited", "detail": "exit status 3"})"),
      "service a exited: exit status 3\n");
}

TEST(PlainView, ARecordingThatIsFollowedSaysWhereTheServiceListens) {
  ProgressView view({.terminal = false, .columns = 80});
  EXPECT_EQ(view.show(event(R"({"type": "session", "recording": "a", "watching": true,
                                "at": "127.0.0.1:4"})"),
                      kStart)
                .progress,
            "recording 'a' at 127.0.0.1:4 until Ctrl-C\n");
}

TEST(TerminalView, LinesThatStayBreakAtWords) {
  ProgressView view({.terminal = true, .color = true, .columns = 24});
  EXPECT_EQ(view.note("the daemon did not take the request"),
            "the daemon did not take\n  the request\n");
  EXPECT_EQ(
      view.show(event(R"({"type": "finding", "number": 1, "headline": "test_all fails"})"), kStart)
          .progress,
      "\x1b[1;31mfinding 1: test_all\n  fails\x1b[0m\n");
  EXPECT_EQ(on_terminal("test \"all of the shop\": 1 finding\n", 25, true),
            "\x1b[1mtest \"all of the shop\": 1\n  finding\x1b[0m\n");
  ProgressView plain({.terminal = false, .columns = 10});
  EXPECT_EQ(plain.note("the daemon did not take it"), "the daemon did not take it\n");
}

}  // namespace
}  // namespace filibuster::cli
