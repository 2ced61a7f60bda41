// `filibuster accept`: writes findings of the last report into the baseline (docs/ci.md).
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/configuration.h"
#include "cli/findings.h"
#include "cli/output_file.h"
#include "cli/verb.h"
#include "daemon/config/config.h"
#include "daemon/report/baseline.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;

struct Accept {
  std::vector<std::string> findings;  // find_finding
  std::string because, until, config_file = "filibuster.json", baseline, root = ".filibuster";
};

int complain_all(const std::vector<ConfigError>& errors) {
  for (const ConfigError& error : errors) {
    std::string where = error.file;
    if (error.line > 0)
      where += ":" + std::to_string(error.line) + ":" + std::to_string(error.column);
    std::fprintf(stderr, "%s: %s\n", where.c_str(), error.message.c_str());
  }
  return kUsage;
}

// The path of the baseline: `--baseline`, else that of the configuration.
Result<std::string> baseline_path(const Accept& options) {
  if (!options.baseline.empty()) return fs::absolute(options.baseline).lexically_normal().string();
  const Result<std::string> text = read_file(options.config_file);
  if (!text)
    return Error{
        text.error().message +
        " (expected the configuration, which names the baseline; or give --baseline FILE)"};
  const std::string directory = fs::absolute(options.config_file).parent_path().string();
  ParsedConfig parsed = parse_config(text.value(), options.config_file, directory);
  if (!parsed.errors.empty()) {
    const ConfigError& first = parsed.errors.front();
    return Error{first.file + ":" + std::to_string(first.line) + ":" +
                 std::to_string(first.column) + ": " + first.message};
  }
  if (parsed.config.baseline.empty()) {
    return Error{options.config_file +
                 " names no baseline; write \"baseline\": \"accepted.json\" into it, "
                 "or give --baseline FILE"};
  }
  return parsed.config.baseline;
}

int accept_findings(const Accept& options) {
  const char* pretended = std::getenv("FILIBUSTER_TODAY");
  const std::string day = today(pretended == nullptr ? "" : pretended);
  if (!is_date(day)) return complain(kUsage, "FILIBUSTER_TODAY: expected a day such as 2026-12-31");
  if (!is_date(options.until))
    return complain(kUsage, "--until " + options.until + ": expected a day such as 2026-12-31");
  if (options.until < day)
    return complain(kUsage,
                    "--until " + options.until + ": that day is over (today is " + day + ")");
  if (options.because.find_first_not_of(" \t\r\n") == std::string::npos)
    return complain(kUsage,
                    "--because: expected the reason, for those who read the baseline later");
  const Result<std::string> path = baseline_path(options);
  if (!path) return complain(kUsage, path.error().message);
  ParsedBaseline parsed = read_baseline(path.value());
  if (!parsed.errors.empty()) return complain_all(parsed.errors);
  const Result<nlohmann::json> report = last_report(options.root);
  if (!report) return complain(kUsage, report.error().message);
  std::string told;
  for (const std::string& wanted : options.findings) {
    const Result<NamedFinding> found = find_finding(report.value(), wanted, options.root);
    if (!found) return complain(kUsage, found.error().message);
    const Acceptance row{found->id, found->test, found->what, options.because, options.until};
    const bool again = accept(row, &parsed.baseline);
    told += "accepted until " + options.until + (again ? " (it was accepted already)" : "") + ": " +
            row.finding + "  " + row.what + "\n";
  }
  if (auto written = replace_file(path.value(), to_text(parsed.baseline)); !written)
    return complain(kEnvironment, written.error().message);
  std::fputs((told + "written to " + path.value() + "\n").c_str(), stdout);
  return kNothingFound;
}

Work declare_accept(CLI::App& app) {
  auto options = std::make_shared<Accept>();
  app.add_option(
         "FINDING", options->findings,
         "the number of a finding, its id, or the file of its counterexample, as the last report "
         "has it (repeatable)")
      ->required()
      ->type_name("");
  app.add_option("--because", options->because,
                 "why it is accepted, for those who read the baseline")
      ->required()
      ->type_name("REASON");
  app.add_option("--until", options->until,
                 "the last day on which it is accepted: YYYY-MM-DD (UTC)")
      ->required()
      ->type_name("DATE");
  app.add_option("-c,--config", options->config_file,
                 "the configuration, whose 'baseline' is written")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--baseline", options->baseline, "write this file in place of the configuration's")
      ->type_name("FILE");
  app.add_option("--root", options->root, "where the report is")
      ->type_name("DIR")
      ->capture_default_str();
  return [options](const Invocation&) { return accept_findings(*options); };
}

}  // namespace

const Verb kAcceptVerb = {
    "accept", "accept a finding for a while: runs do not fail for it until then",
    "  filibuster accept 3 --because 'the new client has a timeout' --until 2026-12-31\n"
    "\nThe configuration names the file: \"baseline\": \"accepted.json\" (docs/ci.md).\n"
    "\nExit status: 0 written, 2 usage, or no such finding, 3 the file cannot be written.\n",
    "", declare_accept};

}  // namespace filibuster::cli
