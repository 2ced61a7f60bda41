#include "daemon/verbs/property/results.h"

#include <algorithm>

#include "core/text/shortened.h"
#include "core/version.h"
#include "daemon/property/history.h"
#include "daemon/property/program_json.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using Ordered = nlohmann::ordered_json;
using property::json_text;

constexpr size_t kShownRows = 10;   // of a list of faults
constexpr size_t kShownText = 300;  // bytes of what the application says, which may be a whole page
constexpr size_t kShownWords = 500;  // bytes of the sentence that has it

std::string shown_json(const nlohmann::json& value) {
  return shortened(json_text(value), kShownText);
}

std::string counted_text(uint64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string executed_text(const ExecutedItem& item,
                          const std::vector<property::ArmableFault>& faults) {
  if (item.item.is_fault()) return item_text(item.item, faults);
  std::string out = item.item.f + (item.asked.is_null() ? "" : " " + shown_json(item.asked));
  if (item.outcome == "ok") out += " \u2192 " + shown_json(item.answered);
  if (item.outcome != "ok")
    out += " \u2192 " + item.outcome + ": " + shortened(item.reason, kShownText);
  return out;
}

Ordered executed_json(const ExecutedProgram& program,
                      const std::vector<property::ArmableFault>& faults) {
  Ordered items = Ordered::array();
  for (const ExecutedItem& each : program.items) {
    Ordered row = property::program_json({{each.item}}, faults).front();
    row["asked"] = each.asked;
    row["process"] = each.process;
    row["outcome"] = each.outcome;
    row["answered"] = each.answered;
    row["reason"] = each.reason;
    row["expected"] = each.expected ? Ordered(*each.expected) : Ordered();
    row["injected"] = each.injected;
    items.push_back(std::move(row));
  }
  Ordered longest;
  if (program.longest)
    longest = {{"items", program.longest->items},
               {"state", program.longest->state},
               {"stuck", program.longest->stuck ? Ordered(*program.longest->stuck) : Ordered()}};
  return {{"execution", program.number},    {"items", items},
          {"history", program.history},     {"longest", longest},
          {"not_fired", program.not_fired}, {"output", program.output}};
}

Ordered schedules_json(const PropertyTest& test) {
  using Schedule = ExecutedProgram::Schedule;
  Ordered out = Ordered::object();
  for (const auto& [which, name] :
       {std::pair(Schedule::kHappened, "happened"), std::pair(Schedule::kImpossible, "impossible"),
        std::pair(Schedule::kUnmet, "unmet")}) {
    const auto found = test.schedules.find(which);
    out[name] = found == test.schedules.end() ? uint64_t{0} : found->second;
  }
  return out;
}

Ordered test_json(const PropertyTest& test) {
  Ordered faults = Ordered::array(), findings = Ordered::array();
  for (const property::ArmableFault& each : test.faults)
    faults.push_back({{"name", each.name},
                      {"edge", to_text(each.edge)},
                      {"fault", to_text(each.fault)},
                      {"weight", each.weight}});
  for (const PropertyFinding& each : test.findings) {
    findings.push_back({{"kind", each.shrunk.violation ? each.shrunk.violation->kind : ""},
                        {"text", each.shrunk.violation ? each.shrunk.violation->text : ""},
                        {"seed", each.seed},
                        {"number", each.program_number},
                        {"first", property::program_json(each.first, test.faults)},
                        {"program", property::program_json(each.program, test.faults)},
                        {"holds", property::holds_json(each.program.holds)},
                        {"shrunk", executed_json(each.shrunk, test.faults)},
                        {"steps", each.steps},
                        {"finished", each.finished},
                        {"replays", each.replays},
                        {"replays_alike", each.replays_alike},
                        {"counterexample", each.counterexample},
                        {"invented", each.invented}});
  }
  return {{"test", test.test},
          {"error", test.error},
          {"faults", faults},
          {"executed", test.executed},
          {"executions", test.executions},
          {"undecided", test.undecided},
          {"shrinking", test.shrinking},
          {"commands", test.commands},
          {"fired", test.fired},
          {"not_fired", test.not_fired},
          {"labels", test.labels},
          {"findings", findings},
          {"notes", test.notes},
          {"finished", test.finished},
          {"time_over", test.time_over},
          {"schedules", schedules_json(test)}};
}

std::string schedules_text(const PropertyTest& test) {
  using Schedule = ExecutedProgram::Schedule;
  const auto of = [&](Schedule which) {
    const auto found = test.schedules.find(which);
    return found == test.schedules.end() ? uint64_t{0} : found->second;
  };
  const uint64_t all = of(Schedule::kHappened) + of(Schedule::kImpossible) + of(Schedule::kUnmet);
  if (all == 0) return "";
  std::string out = "  " + counted_text(all, "schedule") + ": " +
                    std::to_string(of(Schedule::kHappened)) + " happened";
  if (of(Schedule::kImpossible) > 0)
    out += ", " + std::to_string(of(Schedule::kImpossible)) +
           " cannot (a command waits for one that stands still)";
  if (of(Schedule::kUnmet) > 0)
    out += ", " + std::to_string(of(Schedule::kUnmet)) + " not met (a call did not come)";
  return out + "\n";
}

std::string counts_text(const std::map<std::string, uint64_t>& counts) {
  std::string out;
  for (const auto& [name, count] : counts)
    out += (out.empty() ? "" : ", ") + name + " " + std::to_string(count);
  return out;
}

// The most frequent ones, a line each.
std::string lines_text(const std::string& title, const std::map<std::string, uint64_t>& counts) {
  if (counts.empty()) return "";
  std::vector<std::pair<uint64_t, std::string>> rows;
  for (const auto& [name, count] : counts) rows.emplace_back(count, name);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out = "  " + title + ":\n";
  for (size_t i = 0; i < rows.size() && i < kShownRows; ++i)
    out += "    " + std::to_string(rows[i].first) + " \u00d7 " + rows[i].second + "\n";
  if (rows.size() > kShownRows)
    out += "    and " + std::to_string(rows.size() - kShownRows) + " others (property.json)\n";
  return out;
}

// Commands at the same time stand behind one bracket.
std::string bracket_of(const std::vector<ExecutedItem>& items, size_t at) {
  const bool begins = !items[at].item.parallel;
  const bool ends = at + 1 == items.size() || !items[at + 1].item.parallel;
  if (begins && ends) return "";
  return begins ? "\u250c " : ends ? "\u2514 " : "\u2502 ";
}

// The place of a command in a list that begins with 1.
std::string place_of(const std::vector<ExecutedItem>& items, uint32_t number) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const ExecutedItem& each) {
    return !each.item.is_fault() && each.item.number == number;
  });
  return std::to_string(found - items.begin() + 1);
}

std::string longest_text(const LongestOrder& longest) {
  std::string out;
  for (const size_t item : longest.items)
    out += (out.empty() ? "" : ", ") + std::to_string(item + 1);
  out = "  the longest order that there is: " + (out.empty() ? "none" : out) +
        "; the state then is " + shown_json(longest.state);
  if (longest.stuck)
    out += ", where " + std::to_string(*longest.stuck + 1) + " cannot have its answer";
  return out + "\n";
}

std::string finding_text(const PropertyFinding& finding, const PropertyTest& test,
                         const std::string& root_option) {
  const ExecutedProgram& shrunk = finding.shrunk;
  std::string out =
      "\u2717 " + (shrunk.violation ? shortened(shrunk.violation->text, kShownWords) : "") + "\n";
  for (size_t i = 0; i < shrunk.items.size(); ++i) {
    const ExecutedItem& item = shrunk.items[i];
    out += "    " + std::to_string(i + 1) + ". " + bracket_of(shrunk.items, i) +
           executed_text(item, test.faults) + "\n";
    for (const std::string& each : item.injected) out += "         " + each + "\n";
    for (const property::Hold& hold : finding.program.holds) {
      if (!item.item.is_fault() && hold.command == item.item.number)
        out += "         stops before " + to_text(hold.edge) +
               (hold.occurrence == 1 ? "" : " (call " + std::to_string(hold.occurrence) + ")") +
               " until " + place_of(shrunk.items, hold.until) + " has ended or stops\n";
    }
    if (item.expected) out += "         the model says " + shown_json(*item.expected) + "\n";
  }
  if (shrunk.longest) out += longest_text(*shrunk.longest);
  for (const std::string& each : finding.invented)
    out += "  invented: " + each +
           " (the service was not seen to answer so; 'evidence' beside "
           "the fault says why it does)\n";
  if (!finding.counterexample.empty())
    out += "  again: filibuster replay" + root_option + " " + std::to_string(finding.number) + "\n";
  if (!shrunk.output.empty()) out += shrunk.output + "\n";
  if (finding.is_replay) return out;
  out += "  " + counted_text(finding.first.items.size(), "item") + " shrunk to " +
         std::to_string(finding.program.items.size()) + " in " +
         counted_text(finding.steps, "step") + (finding.finished ? "" : " (not finished)") +
         (finding.program_number == 0 ? std::string(", without any fault; ")
                                      : ", from program " + std::to_string(finding.program_number) +
                                            " of the seed " + std::to_string(finding.seed) + "; ") +
         (finding.replays == 0 ? std::string("not replayed")
          : finding.replays_alike == finding.replays
              ? "replayed " + std::to_string(finding.replays) + " times, each time the same"
              : "of " + std::to_string(finding.replays) + " replays " +
                    std::to_string(finding.replays_alike) + " failed in the same way") +
         "\n";
  return out;
}

}  // namespace

std::string property_json(const PropertyResults& results) {
  Ordered tests = Ordered::array();
  for (const PropertyTest& each : results.tests) tests.push_back(test_json(each));
  const Ordered json = {{"version", 1},
                        {"filibuster", kVersion},
                        {"session", results.session},
                        {"config", results.config_path},
                        {"working_directory", results.working_directory},
                        {"exit_code", results.exit_code},
                        {"error", results.error},
                        {"seed", results.seed},
                        {"tests", tests}};
  return redact_object(json.dump(2, ' ', false, Ordered::error_handler_t::replace));
}

std::string property_text(const PropertyResults& results) {
  std::string out;
  for (const PropertyTest& test : results.tests) {
    for (const PropertyFinding& each : test.findings)
      out += finding_text(each, test, results.root_option);
    if (!test.replay.empty()) {
      out += test.replay + "\n";
      continue;
    }
    out +=
        "test '" + test.test + "': " + counted_text(test.executed, "program") + " of the seed " +
        std::to_string(results.seed) +
        (test.executions > test.executed + 1 ? " in " + counted_text(test.executions, "execution")
                                             : "") +
        (test.findings.empty() ? ", no violation" : "") +
        (test.shrinking > 0 ? ", " + std::to_string(test.shrinking) + " more to shrink" : "") +
        "\n";
    if (!test.commands.empty()) out += "  commands: " + counts_text(test.commands) + "\n";
    if (!test.labels.empty()) out += "  of which: " + counts_text(test.labels) + "\n";
    out += lines_text("faults that fired", test.fired);
    out += lines_text("armed, and no call came", test.not_fired);
    out += schedules_text(test);
    if (test.undecided > 0)
      out += "  " + counted_text(test.undecided, "execution") +
             " not judged: the history has too many orders\n";
    if (test.time_over) out += "  the time was over\n";
    for (const std::string& note : test.notes) out += "  " + note + "\n";
  }
  if (!results.error.empty()) out += results.error + "\n";
  return redact(out);
}

}  // namespace filibuster
