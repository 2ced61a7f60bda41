#include "daemon/page/data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/text/shell_word.h"
#include "daemon/lint/lint.h"
#include "daemon/model/call_name.h"
#include "daemon/model/environment_error.h"
#include "daemon/page/coverage_sources.h"
#include "daemon/page/source_excerpts.h"
#include "daemon/redact/redact.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/test_row.h"
#include "daemon/suite/failed_tests.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr size_t kFramesWithSource = 6;  // of each call stack, from the innermost on

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string hash(Hash128 value) {
  return value.is_zero() ? "" : to_hex(value);
}

// Texts that many rows share, each once.
class Texts {
 public:
  size_t id(const std::string& text) {
    const auto [place, added] = ids_.emplace(text, all_.size());
    if (added) all_.push_back(text);
    return place->second;
  }
  Json ids(const std::vector<std::string>& texts) {
    Json out = Json::array();
    for (const std::string& text : texts) out.push_back(id(text));
    return out;
  }
  Json take() { return std::move(all_); }

 private:
  std::unordered_map<std::string, size_t> ids_;
  Json all_ = Json::array();
};

// The calls of one test, each once: rows of trees and findings name them by their place.
class Calls {
 public:
  explicit Calls(Texts* texts) : texts_(*texts) {}

  size_t of(const InjectedFault& rpc) {
    const auto [place, added] = places_.emplace(hash(rpc.index), all_.size());
    if (added) {
      all_.push_back({{"index", hash(rpc.index)},
                      {"parent", hash(rpc.parent)},
                      {"caller", rpc.caller},
                      {"service", rpc.service},
                      {"name", call_name(rpc.method, rpc.path + rpc.query, rpc.protocol)},
                      {"protocol", protocol_name(rpc.protocol)},
                      {"count", rpc.count},
                      {"stack", frames(rpc.stack)},
                      {"path", rpc.service_path}});
    } else if (Json& path = all_[place->second]["path"]; path.empty()) {
      path = rpc.service_path;  // it came from a tree, whose rows do not have it
    }
    return place->second;
  }

  // Replaces what the rows of a tree share with those of others by the place of their call.
  Json tree(const std::string& text) {
    Json rows = Json::parse(text, nullptr, false);
    if (!rows.is_array()) return nullptr;
    Json out = Json::array();
    for (Json& row : rows) {
      const auto [place, added] = places_.emplace(row.value("index", ""), all_.size());
      if (added) {
        Json call = Json::object();
        for (const char* name :
             {"index", "parent", "caller", "service", "name", "protocol", "count"})
          call[name] = row[name];
        call["stack"] = frames(row["stack"].get<std::vector<std::string>>());
        call["path"] = Json::array();
        all_.push_back(std::move(call));
      }
      Json short_row{{"call", place->second},
                     {"parent", row["parent_row"]},
                     {"start", row["start"]},
                     {"end", row["end"]},
                     {"outcome", row["outcome"]}};
      // What is not there is false, 0 or "".
      for (const char* name :
           {"failed", "injected", "detail", "request", "answer", "size", "digest", "received"}) {
        const Json& value = row[name];
        const bool nothing = value.is_null() || value == false || value == 0 ||
                             (value.is_string() && value.get_ref<const std::string&>().empty());
        if (!nothing) short_row[name] = value;
      }
      if (const Json& cause = row["cause"]; cause == "none" || cause == "only-active")
        short_row["cause"] = cause;
      out.push_back(std::move(short_row));
    }
    return out;
  }

  Json take() { return std::move(all_); }
  const std::vector<std::string>& frames_with_source() const { return frames_with_source_; }

 private:
  Json frames(const std::vector<std::string>& stack) {
    for (size_t i = 0; i < std::min(stack.size(), kFramesWithSource); ++i)
      frames_with_source_.push_back(stack[i]);
    return texts_.ids(stack);
  }

  Texts& texts_;
  std::unordered_map<std::string, size_t> places_;
  Json all_ = Json::array();
  std::vector<std::string> frames_with_source_;
};

Json finding_row(const Finding& finding, Calls* calls, Texts* texts) {
  Json faults = Json::array();
  for (const InjectedFault& fault : finding.minimal) {
    Json row{{"call", calls->of(fault)},
             {"fault", fault.fault},
             {"text", fault_text(fault)},
             {"words", fault_in_words(fault.fault)}};
    if (!fault.key.empty()) row["key"] = fault.key;
    if (!fault.arguments.empty()) row["arguments"] = redact_object(fault.arguments);
    faults.push_back(std::move(row));
  }
  const std::string& file = finding.counterexample;
  Json failed = Json::array();
  const suite::OwnWords words = suite::own_words(finding.minimal_execution.output);
  for (const suite::FailedTest& test : words.failed)
    failed.push_back(
        {{"name", test.name}, {"said", test.said}, {"place", test.place}, {"source", test.source}});
  return {{"id", finding.id},
          {"number", finding.number},
          {"headline", headline(finding)},
          {"faults", std::move(faults)},
          {"executions", finding.executions},
          {"reproduced", finding.reproduced ? Json(*finding.reproduced) : Json(nullptr)},
          {"replay", file.empty() ? "" : "filibuster replay " + shell_word(file)},
          {"execution", finding.minimal_execution.number},
          {"verdict", verdict_name(finding.minimal_execution.verdict)},
          {"detail", finding.minimal_execution.detail},
          {"seen", finding.minimal_execution.seen},
          {"failed", std::move(failed)},
          {"recognised", words.recognised},
          {"output", texts->id(finding.minimal_execution.output)},
          {"seconds", finding.minimal_execution.seconds}};
}

// [call, fault, passed, failed, redundant, inconclusive, open, least faults, example, verdict, [like ...], anyway,
// [finding ...]]
Json cell_row(const PageCell& cell, const std::vector<uint32_t>& places) {
  return {places[cell.fault.first],
          cell.fault.second,
          cell.passed,
          cell.failed,
          cell.redundant,
          cell.inconclusive,
          cell.open,
          cell.least_faults,
          cell.example,
          verdict_name(cell.verdict),
          cell.like,
          cell.anyway,
          cell.findings};
}

Json outcome_rows(const PageTest& page) {
  Json out = Json::array();
  for (const ShownOutcome& outcome : page.outcomes) {
    out.push_back({{"text", outcome.text}, {"words", outcome.words}, {"failed", outcome.failed}});
    if (const std::string fault = fault_in_words(outcome.text); fault != outcome.text)
      out.back()["fault"] = fault;
  }
  return out;
}

Json lint_rows(const TestReport& test) {
  ExecutionRecord record;
  record.rpcs = test.reference;
  Json out = Json::array();
  std::vector<lint::Finding> findings = lint::lint_reference(record);
  lint::choose({}, &findings);
  for (const lint::Finding& finding : findings) {
    const lint::LintRow& lint = lint::row_of(finding.lint);
    Json sites = Json::array();
    for (const lint::Call& call : finding.calls) sites.push_back(call.place());
    out.push_back({{"lint", lint.name},
                   {"severity", lint::severity_name(finding.severity)},
                   {"text", finding.text},
                   {"help", lint.help},
                   {"call_sites", std::move(sites)}});
  }
  return out;
}

Json environment_rows(const SessionReport& report) {
  Json out = Json::array();
  for (const EnvironmentError& error : environment_errors(report)) {
    out.push_back({{"test", error.test},
                   {"what", error.what},
                   {"title", error.title},
                   {"lines", error.lines},
                   {"remedy", error.remedy}});
  }
  redact_texts(&out);
  return out;
}

// The place that each of PageTest::calls has in the document.
std::vector<uint32_t> places_of(const PageTest& page, Calls* calls) {
  std::vector<uint32_t> places;
  places.reserve(page.calls.size());
  for (const InjectedFault& call : page.calls)
    places.push_back(static_cast<uint32_t>(calls->of(call)));
  return places;
}

struct TestPart {
  Json summary;
  Json trees = Json::object();  // redacted when they were made
  std::vector<uint32_t> places;
};

TestPart test_part(const TestReport& test, SourceExcerpts* excerpts, Json* sources) {
  static const PageTest kNothing;
  const PageTest& page = test.page ? *test.page : kNothing;
  TestPart out;
  Texts texts;
  Calls calls(&texts);
  const Json reference = calls.tree(page_tree(test.reference));
  out.places = places_of(page, &calls);
  Json findings = Json::array(), matrix = Json::array();
  for (const Finding& finding : test.findings)
    findings.push_back(finding_row(finding, &calls, &texts));
  for (const auto& [number, text] : page.trees)
    out.trees[std::to_string(number)] = calls.tree(text);
  for (const PageCell& cell : page.cells) matrix.push_back(cell_row(cell, out.places));
  for (const std::string& frame : calls.frames_with_source()) {
    if (sources->contains(frame)) continue;
    if (const auto excerpt = excerpts->of(frame))
      (*sources)[frame] = {{"first", excerpt->first}, {"lines", excerpt->lines}};
  }
  out.summary = test_row(test);
  out.summary["findings"] = std::move(findings);
  out.summary["reference"] = reference;
  out.summary["matrix"] = std::move(matrix);
  out.summary["outcomes"] = outcome_rows(page);
  out.summary["lints"] = lint_rows(test);
  out.summary["executions_left_out"] = page.executions_left_out;
  out.summary["calls"] = calls.take();
  out.summary["texts"] = texts.take();
  return out;
}

class Column {
 public:
  explicit Column(std::string* out) : out_(*out) {}
  void add(uint64_t number) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += std::to_string(number);
  }

 private:
  std::string& out_;
  bool first_ = true;
};

// Columns of numbers: `faults` and `rpcs` have for each execution how many pairs follow, and the pairs.
void add_executions(const PageTest& page, const std::vector<uint32_t>& places, std::string* out) {
  const auto column = [&](const char* name, const auto& add) {
    *out += std::string("\"") + name + "\":[";
    Column numbers(out);
    for (const PageExecution& execution : page.executions) add(execution, &numbers);
    *out += ']';
  };
  const auto pairs = [&](const std::vector<PagePair>& rows, Column* numbers) {
    numbers->add(rows.size());
    for (const auto& [call, outcome] : rows) {
      numbers->add(places[call]);
      numbers->add(outcome);
    }
  };
  *out += '{';
  column("number", [](const auto& row, Column* numbers) { numbers->add(row.number); });
  *out += ',';
  column("verdict", [](const auto& row, Column* numbers) {
    numbers->add(static_cast<uint64_t>(row.verdict));
  });
  *out += ',';
  column("ms", [](const auto& row, Column* numbers) {
    numbers->add(static_cast<uint64_t>(std::max(row.seconds, 0.0f) * 1000));
  });
  *out += ',';
  column("faults", [&](const auto& row, Column* numbers) { pairs(row.faults, numbers); });
  *out += ',';
  column("rpcs", [&](const auto& row, Column* numbers) { pairs(row.rpcs, numbers); });
  *out += '}';
}

}  // namespace

PageData page_data(const SessionReport& report, const PageExtras& extras) {
  static const PageTest kNothing;
  PageData out;
  SourceExcerpts excerpts(extras.source_folders);
  Json tests = Json::array(), sources = Json::object(), verdicts = Json::array();
  for (uint8_t v = 0; v <= static_cast<uint8_t>(kLastVerdict); ++v)
    verdicts.push_back(verdict_name(static_cast<Verdict>(v)));
  std::vector<Json> trees;
  out.executions = "[";
  for (const TestReport& test : report.tests) {
    TestPart part = test_part(test, &excerpts, &sources);
    tests.push_back(std::move(part.summary));
    trees.push_back(std::move(part.trees));
    if (out.executions.size() > 1) out.executions += ',';
    add_executions(test.page ? *test.page : kNothing, part.places, &out.executions);
  }
  out.executions += "]";
  redact_texts(&tests);
  for (size_t i = 0; i < trees.size(); ++i) tests[i]["trees"] = std::move(trees[i]);
  Json coverage = nullptr;
  if (extras.coverage != nullptr) {
    coverage = coverage::to_row(*extras.coverage);
    coverage["sources"] = coverage_sources(*extras.coverage, &excerpts);
  }
  out.summary = dump({{"version", kVersion},
                      {"state", extras.running ? "running" : "done"},
                      {"session", report.session},
                      {"config", report.config_path},
                      {"exit_code", report.exit_code},
                      {"environment", environment_rows(report)},
                      {"verdicts", std::move(verdicts)},
                      {"tests", std::move(tests)},
                      {"coverage", std::move(coverage)},
                      {"sources", std::move(sources)}});
  return out;
}

}  // namespace filibuster
