#include "daemon/coverage/collector.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "daemon/process/preflight.h"
#include "daemon/process/process.h"

extern char** environ;

namespace filibuster::coverage {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr Phase kPhases[] = {Phase::kWithoutFaults, Phase::kUnderFaults};
constexpr milliseconds kToolLimit{600000};
constexpr milliseconds kKillLimit{5000};
constexpr int kToolLines = 10;        // of the output of a tool that failed
constexpr size_t kMostProblems = 10;  // of one service

constexpr const char* kDebianPackages = "/usr/lib/python3/dist-packages";
constexpr const char* kJars = "/usr/share/java/";
// The first has JaCoCo's agent in it, as one jar; the others are what its report needs.
constexpr const char* kJacocoJars[] = {"org.jacoco.agent.jar", "org.jacoco.core.jar", "asm.jar",
                                       "asm-commons.jar", "asm-tree.jar"};

// Classes of the JDK that the agent would look at. (It leaves alone what the boot loader loads.)
constexpr const char* kJdkClasses = "sun.*:com.sun.*:jdk.*";

// Variables that would make a tool of ours a service of the application, or would change what it does.
constexpr std::string_view kNotForTools[] = {
    "FILIBUSTER_",       "LD_PRELOAD=", "JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "NODE_OPTIONS=",
    "NODE_V8_COVERAGE=", "PYTHONPATH=", "PYTHONHOME=",        "GCOV_PREFIX"};

std::vector<std::string> tool_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (std::none_of(std::begin(kNotForTools), std::end(kNotForTools),
                     [&](std::string_view name) { return text.starts_with(name); })) {
      out.emplace_back(text);
    }
  }
  return out;
}

// Is this data of coverage.py, V8, JaCoCo or gcov? (Other files beside it are written at the start.)
bool is_counted_data(std::string_view name) {
  return name.starts_with("data.") || name.starts_with("coverage-") || name == "jacoco.exec" ||
         name.ends_with(".gcda");
}

// Error: what the tool wrote last.
Result<void> run_tool(const std::vector<std::string>& argv, const std::string& log,
                      std::vector<std::string> environment, int wake_fd) {
  SpawnOptions options;
  options.argv = argv;
  options.environment = std::move(environment);
  options.log_path = log;
  auto process = Process::spawn(options);
  if (!process) return process.error();
  const auto status = process->wait(kToolLimit, wake_fd);
  if (!status) {
    process->kill_group(SIGKILL);
    process->wait(kKillLimit);
    return Error{argv[0] + " did not end"};
  }
  if (status->success()) return {};
  return Error{argv[0] + ": " + to_text(*status) + "\n" + last_lines(log, kToolLines)};
}

const char* folder_of(Phase phase) {
  return phase == Phase::kWithoutFaults ? "without-faults" : "under-faults";
}

// Files below a folder whose names end with `suffix`, in order.
std::vector<std::string> files_below(const std::string& folder, std::string_view suffix) {
  std::vector<std::string> out;
  std::error_code failed;
  for (auto at = fs::recursive_directory_iterator(folder, failed);
       !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    const std::string path = at->path().string();
    if (path.ends_with(suffix)) out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// `text` as a quoted word of NODE_OPTIONS or JAVA_TOOL_OPTIONS.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void put_first(std::vector<std::string>* environment, const char* name, const std::string& value,
               const char* separator) {
  const std::string before = get_variable(*environment, name);
  set_variable(environment, name, before.empty() ? value : value + separator + before);
}

}  // namespace

Collector::Collector(const Config& config, const SessionLane& lane, CollectorOptions options)
    : config_(config), lane_(lane), options_(std::move(options)), root_(lane.root + "/coverage") {
  const char* path = getenv("PATH");
  path_variable_ = path == nullptr ? "/usr/bin:/bin" : path;
}

Result<std::unique_ptr<Collector>> Collector::create(const Config& config, const SessionLane& lane,
                                                     CollectorOptions options) {
  std::unique_ptr<Collector> out(new Collector(config, lane, std::move(options)));
  const auto known = read_file(out->root_ + "/interrupted");
  out->continued_ = !out->options_.restart && known.ok() && known.value() == out->options_.key;
  std::error_code failed;
  if (!out->continued_) fs::remove_all(out->root_, failed);
  if (auto made = make_private_folder(out->root_); !made) return made.error();
  if (auto found = out->find_services(); !found) return found.error();
  if (auto there = out->need_tools(); !there) return there.error();
  if (auto written = write_file(out->root_ + "/interrupted", out->options_.key); !written) {
    return written.error();
  }
  if (auto begun = out->begin(Phase::kWithoutFaults); !begun) return begun.error();
  return out;
}

Result<void> Collector::find_services() {
  for (const ServiceConfig& config : config_.services) {
    if (!config.is_followed()) continue;
    Service service{&config, lane_directory(config_, config.directory), "", {}, {}};
    if (config.command.empty()) {
      service.unmeasured = config.runs_already() ? "it is attached" : "it is started by hand";
    } else {
      const auto argv = lane_command(lane_, config.command);
      if (!argv) return Error{"service '" + config.name + "': " + argv.error().message};
      service.program = look_at_program(argv.value(), service.directory, path_variable_);
      service.unmeasured = service.program.reason;
    }
    services_.push_back(std::move(service));
  }
  return {};
}

// The tool that is missing, and how to install it; empty: nothing is missing.
std::string Collector::missing_tool(const Service& service, Language language) const {
  std::error_code ignored;
  switch (language) {
    case Language::kPython: {
      if (fs::exists(std::string(kDebianPackages) + "/coverage/__init__.py", ignored)) return "";
      const std::string python = service.program.certain
                                     ? service.program.program
                                     : find_program("python3", "", path_variable_);
      if (!python.empty() && run_tool({python, "-c", "import coverage"}, root_ + "/tool.log",
                                      tool_environment(), lane_.wake_fd)) {
        return "";
      }
      return "coverage.py (apt-get install python3-coverage)";
    }
    case Language::kNode:
      return find_program("node", "", path_variable_).empty() ? "node (apt-get install nodejs)"
                                                              : "";
    case Language::kNative:
      return find_program("gcov", "", path_variable_).empty() ? "gcov (apt-get install gcc)" : "";
    case Language::kJava: {
      for (const char* jar : kJacocoJars) {
        if (!fs::exists(std::string(kJars) + jar, ignored)) {
          return "JaCoCo (apt-get install libjacoco-java)";
        }
      }
      return find_program("java", "", path_variable_).empty()
                 ? "java (apt-get install openjdk-17-jre-headless)"
                 : "";
    }
  }
  return "";
}

// Where it is not known what a service runs, the tools that are there are used, and none is demanded.
Result<void> Collector::need_tools() {
  std::map<std::string, std::string> missing;  // tool -> services
  bool java = false;
  for (Service& service : services_) {
    if (!service.unmeasured.empty()) continue;
    for (auto at = service.program.languages.begin(); at != service.program.languages.end();) {
      const std::string tool = missing_tool(service, *at);
      if (tool.empty()) {
        java = java || *at == Language::kJava;
        ++at;
        continue;
      }
      if (service.program.certain) {
        std::string& names = missing[tool];
        names += (names.empty() ? "'" : ", '") + service.config->name + "'";
      }
      at = service.program.languages.erase(at);
    }
  }
  std::string text;
  for (const auto& [tool, names] : missing) {
    text += (text.empty() ? "" : "; ") + tool + " for service " + names;
  }
  if (!text.empty()) return Error{"--coverage needs " + text};
  return java ? take_java_agent() : Result<void>();
}

// The command of our JacocoReport.
std::vector<std::string> Collector::jacoco(const std::vector<std::string>& arguments) const {
  std::string classpath = options_.helpers + "/jacoco_report.jar";
  for (const char* jar : kJacocoJars) classpath += ":" + (kJars + std::string(jar));
  std::vector<std::string> out{find_program("java", "", path_variable_), "-cp", classpath,
                               "JacocoReport"};
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

Result<void> Collector::take_java_agent() {
  const std::string agent = root_ + "/jacocoagent.jar";
  // The agent's options are separated by commas; a blank separates the JVM's.
  if (root_.find_first_of(",\"'") != std::string::npos) {
    return Error{"--coverage of a JVM cannot write below " + root_ +
                 ": its path has a comma or a quote; give another --root"};
  }
  return run_tool(jacoco({"agent", std::string(kJars) + kJacocoJars[0], agent}),
                  root_ + "/tool.log", tool_environment(), lane_.wake_fd);
}

std::string Collector::folder(const Service& service, Phase phase) const {
  return root_ + "/" + service.config->name + "/" + folder_of(phase);
}

Result<void> Collector::begin(Phase phase) {
  phase_ = phase;
  for (const Service& service : services_) {
    for (const Language language : service.program.languages) {
      if (auto made = make_private_folder(folder(service, phase) + "/" + row_of(language).folder);
          !made) {
        return made;
      }
    }
  }
  return {};
}

void Collector::prepare(const std::string& name, std::vector<std::string>* environment) {
  const auto service = std::find_if(services_.begin(), services_.end(),
                                    [&](const Service& each) { return each.config->name == name; });
  if (service == services_.end() || !service->unmeasured.empty()) return;
  service->prepared = fs::file_time_type::clock::now();
  for (const Language language : service->program.languages) {
    const std::string data = folder(*service, phase_) + "/" + row_of(language).folder;
    switch (language) {
      case Language::kPython:
        set_variable(environment, "FILIBUSTER_COVERAGE_PYTHON", data);
        put_first(environment, "PYTHONPATH", options_.helpers + "/python", ":");
        break;
      case Language::kNode:
        set_variable(environment, "NODE_V8_COVERAGE", data);
        put_first(environment, "NODE_OPTIONS",
                  "--require " + quoted(options_.helpers + "/node_flush.cjs"), " ");
        break;
      case Language::kJava:
        put_first(environment, "JAVA_TOOL_OPTIONS",
                  quoted("-javaagent:" + root_ + "/jacocoagent.jar=destfile=" + data +
                         "/jacoco.exec,append=true,classdumpdir=" + data +
                         "/classes,excludes=" + kJdkClasses),
                  " ");
        break;
      case Language::kNative: {
        set_variable(environment, "GCOV_PREFIX", data);
        set_variable(environment, "GCOV_PREFIX_STRIP", "0");
        // It comes after our own library, since it only waits for the end.
        const std::string before = get_variable(*environment, "LD_PRELOAD");
        set_variable(environment, "LD_PRELOAD",
                     (before.empty() ? "" : before + ":") + options_.helpers + "/gcov_flush.so");
        break;
      }
    }
  }
}

void Collector::note_lost(const std::string& name, const std::string& how) {
  for (Service& service : services_) {
    if (service.config->name == name && service.unmeasured.empty()) ++service.lost[how];
  }
}

void Collector::note_exited(const std::string& name, const std::string& how) {
  const auto service = std::find_if(services_.begin(), services_.end(),
                                    [&](const Service& each) { return each.config->name == name; });
  if (service == services_.end()) return;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder(*service, phase_), failed), end;
       !failed && at != end; at.increment(failed)) {
    std::error_code gone;
    if (is_counted_data(at->path().filename().string()) && at->file_size(gone) > 0 && !gone &&
        at->last_write_time(gone) >= service->prepared && !gone) {
      return;
    }
  }
  note_lost(name, how + " without writing what it counted");
}

Result<ToolAnswer> Collector::run_helper(std::vector<std::string> argv,
                                         const std::string& output) const {
  const std::string log = root_ + "/tool.log";
  if (auto ran = run_tool(argv, log, tool_environment(), lane_.wake_fd); !ran) return ran.error();
  const auto text = read_file(output);
  if (!text) return text.error();
  return read_answer(text.value());
}

// gcov finds the notes of the compiler (.gcno) beside the data.
Result<ToolAnswer> Collector::read_native(const std::string& data) const {
  ToolAnswer out;
  const std::string gcov = find_program("gcov", "", path_variable_);
  for (const std::string& path : files_below(data, ".gcda")) {
    const std::string stem = path.substr(0, path.size() - strlen(".gcda"));
    const std::string notes = stem.substr(data.size()) + ".gcno";
    std::error_code failed;
    if (!fs::exists(notes, failed)) {
      out.problems.push_back(notes + ", which the compiler wrote, is not there any more");
      continue;
    }
    fs::remove(stem + ".gcno", failed);
    fs::create_symlink(notes, stem + ".gcno", failed);
    const std::string log = root_ + "/gcov.json";
    // What gcov complains about does not belong into its answer.
    if (auto ran = run_tool({"/bin/sh", "-c", "exec \"$0\" --json-format --stdout \"$1\" 2>\"$2\"",
                             gcov, path, root_ + "/tool.log"},
                            log, tool_environment(), lane_.wake_fd);
        !ran) {
      out.problems.push_back("gcov failed for " + notes + ": " +
                             last_lines(root_ + "/tool.log", 1));
      continue;
    }
    const auto text = read_file(log);
    if (!text) return text.error();
    auto answer = read_gcov(text.value());
    if (!answer) {
      out.problems.push_back(answer.error().message + " " + last_lines(root_ + "/tool.log", 1));
      continue;
    }
    merge(answer->files, &out.files);
  }
  return out;
}

Result<ToolAnswer> Collector::read(const Service& service, Phase phase, Language language) const {
  const std::string data = folder(service, phase) + "/" + row_of(language).folder;
  const std::string output = data + "/lines.json";
  std::error_code failed;
  fs::remove(output, failed);
  switch (language) {
    case Language::kPython: {
      if (files_below(data, "").empty()) return ToolAnswer{};
      const auto interpreter = read_file(data + "/interpreter");
      const std::string python = interpreter.ok() && !interpreter.value().empty()
                                     ? interpreter.value()
                                     : find_program("python3", "", path_variable_);
      return run_helper({python, options_.helpers + "/python_report.py", data, output}, output);
    }
    case Language::kNode:
      if (files_below(data, ".json").empty()) return ToolAnswer{};
      return run_helper({find_program("node", "", path_variable_), "--no-warnings",
                         "--expose-internals", options_.helpers + "/node_report.cjs", data, output},
                        output);
    case Language::kNative:
      return read_native(data);
    case Language::kJava: {
      if (!fs::exists(data + "/jacoco.exec", failed)) return ToolAnswer{};
      std::vector<std::string> arguments{"report", data + "/classes", data + "/jacoco.exec", output,
                                         service.directory};
      if (config_.directory != service.directory) arguments.push_back(config_.directory);
      return run_helper(jacoco(arguments), output);
    }
  }
  return ToolAnswer{};
}

ServiceReport Collector::collect(const Service& service) const {
  ServiceReport out;
  out.service = service.config->name;
  out.reason = service.unmeasured;
  if (!out.reason.empty()) return out;
  Files sets[std::size(kPhases)];
  std::set<std::string> problems;
  for (const Language language : service.program.languages) {
    bool any = false;
    for (size_t i = 0; i < std::size(kPhases); ++i) {
      auto answer = read(service, kPhases[i], language);
      if (!answer) {
        problems.insert(answer.error().message);
        continue;
      }
      any = any || !answer->files.empty();
      merge(answer->files, &sets[i]);
      problems.insert(answer->problems.begin(), answer->problems.end());
    }
    if (any) out.tools.emplace_back(row_of(language).tool);
  }
  out.files = compare(sets[0], sets[1], config_.directory);
  for (const std::string& problem : problems) {
    if (out.notes.size() == kMostProblems) {
      out.notes.push_back("and " + std::to_string(problems.size() - kMostProblems) + " more");
      break;
    }
    out.notes.push_back(problem);
  }
  for (const auto& [how, times] : service.lost) {
    out.notes.push_back(std::to_string(times) + (times == 1 ? " process " : " processes ") + how +
                        ": what only " + (times == 1 ? "it" : "they") + " reached is not counted");
  }
  if (out.files.empty()) {
    out.reason = "its processes left no data when they ended";
    if (service.program.languages.contains(Language::kPython)) {
      out.reason += " (is Python started with -I, -E or -S?)";
    }
    if (service.program.languages.contains(Language::kNative)) {
      out.reason += " (a stripped or static program must end by itself)";
    }
  }
  return out;
}

Report Collector::collect() const {
  Report out;
  out.config_path = config_.path;
  for (const Service& service : services_) out.services.push_back(collect(service));
  return out;
}

void Collector::finish() const {
  std::error_code ignored;
  fs::remove(root_ + "/interrupted", ignored);
}

}  // namespace filibuster::coverage
