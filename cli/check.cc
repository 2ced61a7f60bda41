// `filibuster check`: is the history of a file linearisable (docs/check.md)?
#include <stdlib.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "cli/configuration.h"
#include "cli/output_file.h"
#include "cli/verb.h"
#include "core/text/nearest.h"
#include "daemon/base/own_files.h"
#include "daemon/config/config.h"
#include "daemon/page/file.h"
#include "daemon/property/history_document.h"
#include "daemon/property/linear_checks.h"
#include "daemon/property/linearisability.h"
#include "daemon/property/program_object.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;
using property::HistoryResults;

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kLongestHistory = size_t{1} << 30;  // bytes of a file

struct CheckVerbOptions {
  std::string file, model, initial, max_time, page;
  size_t max_memory = 2048;  // MiB
  size_t threads = std::max(1u, std::thread::hardware_concurrency());
  bool evidence = false, json = false, one_object = false;
};

bool is_among(const std::vector<std::string_view>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A command has a blank, a slash or a dot in it; the names of the models have none.
bool is_command(const std::string& model) {
  return model.find_first_of(" ./") != std::string::npos;
}

std::string no_such_model(const std::string& name) {
  std::vector<std::string_view> known = property::object_names();
  const std::vector<std::string_view>& checks = property::linear_check_names();
  known.insert(known.end(), checks.begin(), checks.end());
  std::string text = "--model: there is no model '" + name + "'";
  if (const std::string_view near = nearest(name, known); !near.empty())
    return text + "; did you mean '" + std::string(near) + "'?";
  text += "; expected";
  for (size_t i = 0; i < known.size(); ++i) text += (i == 0 ? " " : ", ") + std::string(known[i]);
  return text + ", or the command of a program";
}

// The log of a model's standard error; removed at the end.
class LogFile {
 public:
  LogFile() {
    std::string path = (fs::temp_directory_path() / "filibuster-model-XXXXXX").string();
    const int fd = mkstemp(path.data());
    if (fd < 0) return;
    close(fd);
    path_ = path;
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<std::shared_ptr<property::ModelProgram>> start_program(const std::string& command,
                                                              const LogFile& log) {
  SpawnOptions spawn;
  spawn.argv = {"/bin/sh", "-c", "exec " + command};
  for (char** each = environ; *each != nullptr; ++each) spawn.environment.emplace_back(*each);
  spawn.log_path = log.path();
  return property::ModelProgram::start(std::move(spawn));
}

// Error: with its exit code.
struct Failure {
  int code;
  std::string message;
};
std::optional<Failure> search(const CheckVerbOptions& options, const nlohmann::json& initial,
                              HistoryResults* results) {
  property::CheckOptions bounds;
  bounds.threads = options.threads;
  bounds.bytes = options.max_memory * kMiB;
  bounds.evidence = options.evidence;
  bounds.partition = !options.one_object;
  if (!options.max_time.empty()) {
    const auto time = parse_duration_text(options.max_time);
    if (!time) return Failure{kUsage, "--max-time: " + time.error().message};
    bounds.deadline = std::chrono::steady_clock::now() + time.value();
  }
  const LogFile log;
  std::shared_ptr<property::ModelProgram> program;
  property::ObjectMaker make = [&] { return property::make_object(options.model, initial); };
  if (is_command(options.model)) {
    if (!initial.is_null())
      return Failure{kUsage,
                     "--initial: a program says itself how it begins; expected a built-in model"};
    auto started = start_program(options.model, log);
    if (!started) return Failure{kUsage, "--model: " + started.error().message};
    program = std::move(started).value();
    make = [&]() -> Result<std::unique_ptr<property::Object>> {
      return property::make_program_object(program);
    };
  } else if (const auto object = make(); !object) {
    return Failure{kUsage, "--initial: " + object.error().message};
  }
  auto checked = check_history(*results->history, make, bounds);
  if (!checked && program && !program->problem().empty())
    return Failure{kUsage, "--model: " + checked.error().message};
  if (!checked) return Failure{kUsage, options.file + ":" + checked.error().message};
  if (program) {
    const std::string contradiction = program->contradiction();
    if (!contradiction.empty()) return Failure{kUsage, "--model: " + contradiction};
  }
  results->checked = std::move(checked).value();
  return std::nullopt;
}

int write_page(const std::string& path, const HistoryResults& results, const std::string& json) {
  const auto made = PageTemplate::load(preload_path());
  if (!made) return complain(kEnvironment, made.error().message);
  const Result<void> written = write_output(path, made->page_of(json, history_text(results)));
  if (!written) return complain(kEnvironment, "--page: " + written.error().message);
  return kNothingFound;
}

Result<std::string> read_input(const std::string& path) {
  if (path != "-") return read_file(path, kLongestHistory);
  std::string out;
  char buffer[65536];
  while (const size_t size = std::fread(buffer, 1, sizeof buffer, stdin)) out.append(buffer, size);
  return out;
}

int check(const CheckVerbOptions& options) {
  const bool in_one_pass = is_among(property::linear_check_names(), options.model);
  if (!in_one_pass && !is_among(property::object_names(), options.model) &&
      !is_command(options.model))
    return complain(kUsage, no_such_model(options.model));
  nlohmann::json initial;
  if (!options.initial.empty()) {
    initial = nlohmann::json::parse(options.initial, nullptr, false);
    if (initial.is_discarded()) return complain(kUsage, "--initial: expected JSON");
  }
  const auto text = read_input(options.file);
  if (!text) return complain(kUsage, text.error().message);
  const auto history = property::read_history(text.value());
  if (!history) return complain(kUsage, options.file + ":" + history.error().message);

  HistoryResults results;
  results.file = options.file;
  results.model = options.model;
  results.history = &history.value();
  results.in_one_pass = in_one_pass;
  if (in_one_pass) {
    auto problems = property::check_in_one_pass(options.model, history.value());
    if (!problems) return complain(kUsage, options.file + ":" + problems.error().message);
    results.problems = std::move(problems).value();
  } else if (const auto failure = search(options, initial, &results)) {
    return complain(failure->code, failure->message);
  }
  const std::string json =
      history_json(results).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string shown = options.json ? json + "\n" : history_text(results);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  const bool whole = std::fflush(stdout) == 0;
  const int page = options.page.empty() ? kNothingFound : write_page(options.page, results, json);
  switch (results.verdict()) {
    case linear::Verdict::kNot:
      return kFailuresFound;
    case linear::Verdict::kUnknown:
      return kEnvironment;
    case linear::Verdict::kLinearisable:
      break;
  }
  return whole ? page : kEnvironment;
}

Work declare_check(CLI::App& app) {
  auto options = std::make_shared<CheckVerbOptions>();
  app.add_option(
         "HISTORY", options->file,
         "a history in JSON lines, EDN (Jepsen, Knossos, Porcupine) or as Jepsen's log; '-' is standard input")
      ->required();
  app.add_option(
         "--model", options->model,
         "what the object is: register, cas-register, kv, multi-register, queue, set, list, bank, counter, lock, "
         "or the command of a program that says it; or a check in one pass: unique-ids, total-queue, set-full, "
         "counter-bounds, bank-totals")
      ->type_name("MODEL")
      ->required();
  app.add_option("--initial", options->initial, "the object's state before the first call")
      ->type_name("JSON");
  app.add_flag("--evidence", options->evidence,
               "believe what the history says of calls without an answer: 'reached', 'answer'");
  app.add_flag("--one-object", options->one_object,
               "check all keys of kv together, which takes longer and says the same");
  app.add_option("--max-time", options->max_time, "give up after this time (90s, 10m, 1h)")
      ->type_name("TIME");
  app.add_option("--max-memory", options->max_memory, "give up when the search takes more")
      ->type_name("MIB")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("-j,--jobs", options->threads, "check so many keys at once")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", options->json, "print the result as JSON");
  app.add_option("--page", options->page, "write a page that shows the history here")
      ->type_name("FILE");
  return [options](const Invocation&) { return check(*options); };
}

}  // namespace

const Verb kCheckVerb = {
    "check", "is the history of a file linearisable?",
    "filibuster check history.jsonl --model cas-register\n"
    "filibuster check history.edn --model kv --max-time 1m --page history.html\n"
    "filibuster check history.jsonl --model 'python3 model.py'",
    "", declare_check};

}  // namespace filibuster::cli
