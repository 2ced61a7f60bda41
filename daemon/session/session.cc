#include "daemon/session/session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "daemon/base/fail_point.h"
#include "daemon/coverage/collector.h"
#include "daemon/process/pidfd.h"
#include "daemon/report/redact.h"
#include "daemon/session/application.h"
#include "daemon/session/lane_ports.h"
#include "daemon/session/linter.h"
#include "daemon/session/program_files.h"
#include "daemon/session/services.h"
#include "daemon/session/suites.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeptEvents = 20000;       // a client that is further behind misses some
// Executions may take a few milliseconds each. Events are gathered this long, so that the client gets
// several at once.
constexpr std::chrono::milliseconds kGather{25};
constexpr size_t kLongestSocketPath = 100;  // sockaddr_un has 108 bytes
constexpr int kExitNothing = 0, kExitFailures = 1, kExitEnvironment = 3;

uint32_t random_number() {
  std::random_device device;
  uint32_t number = 0;
  while (number == 0) number = device();
  return number;
}

std::string hexadecimal(uint32_t number) {
  char text[16];
  snprintf(text, sizeof text, "%08x", number);
  return text;
}

// The folder of the agents' socket: ROOT/agents. If that path is too long for a socket or has blanks
// or colons (they separate the entries of LD_PRELOAD), it is a temporary folder, removed at the end.
struct HubDirectory {
  std::string path;
  bool temporary = false;
  HubDirectory() = default;
  HubDirectory(const HubDirectory&) = delete;
  HubDirectory& operator=(const HubDirectory&) = delete;
  ~HubDirectory() {
    std::error_code ignored;
    if (temporary) fs::remove_all(path, ignored);
  }
  Result<void> make(const std::string& root) {
    path = root + "/agents";
    if (path.size() + strlen("/agent.sock") <= kLongestSocketPath &&
        path.find_first_of(" :") == std::string::npos) {
      return make_private_folder(path);
    }
    char name[] = "/tmp/filibuster-XXXXXX";
    if (mkdtemp(name) == nullptr) return Error{std::string("cannot make ") + name};
    path = name;
    temporary = true;
    return {};
  }
};

// A call site that calls while no request is open belongs to a background thread
// (core/protocol/lane_memory.h, SiteFlags). Once that was seen, its calls are never attributed to the
// only open request. So the services are left alone for a moment before the first execution; a stop
// ends the wait.
void watch_idle_services(int wake_fd) {
  constexpr int kWatchMs = 100;  // once per session; heartbeats of libraries come every 5 to 50 ms
  pollfd wake{wake_fd, POLLIN, 0};
  poll(&wake, 1, kWatchMs);
}

// What a changed port means for the user. It ends the note about that port.
const char* meaning_of_moved_port(SessionRequest::Mode mode) {
  switch (mode) {
    case SessionRequest::Mode::kRun:
      return "; where requests or answers carry it, what an interrupted exploration found holds no "
             "longer: --restart-session begins anew";
    case SessionRequest::Mode::kReplay:
      return "; where requests or answers carry it, the faults may not be met: replay again when that "
             "port is free";
    case SessionRequest::Mode::kTrace:
    case SessionRequest::Mode::kLint:
      break;
  }
  return "; where requests carry it, their execution indexes are others than before";
}

}  // namespace

Session::Session(SessionRequest request, DaemonContext context)
    : request_(std::move(request)), context_(std::move(context)) {
  id_ = hexadecimal(random_number());
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  done_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (request_.client_pid > 0) watcher_ = std::thread([this] { watch_client(); });
  worker_ = std::thread([this] { run(); });
}

Session::~Session() {
  stop();
  if (worker_.joinable()) worker_.join();
  if (watcher_.joinable()) watcher_.join();
  close(wake_fd_);
  close(done_fd_);
}

void Session::stop() {
  stopped_ = true;
  eventfd_write(wake_fd_, 1);
}

void Session::watch_client() {
  const int pidfd = pidfd_open(request_.client_pid, 0);
  const bool is_it =
      pidfd >= 0 && (request_.client_start_time == 0 ||
                     process_start_time(request_.client_pid) == request_.client_start_time);
  pollfd watched[2] = {{pidfd, POLLIN, 0}, {done_fd_, POLLIN, 0}};
  bool gone = !is_it;
  while (!gone && watched[1].revents == 0) {
    if (poll(watched, 2, -1) > 0) gone = watched[0].revents != 0;
  }
  if (pidfd >= 0) close(pidfd);
  if (!gone) return;
  stop();
  if (context_.on_client_gone) context_.on_client_gone();
}

void Session::tell(nlohmann::json event) {
  redact_texts(&event);
  const std::lock_guard lock(mutex_);
  event["n"] = first_event_ + events_.size();
  events_.push_back(std::move(event));
  if (events_.size() > 2 * kKeptEvents) {
    events_.erase(events_.begin(), events_.begin() + kKeptEvents);
    first_event_ += kKeptEvents;
  }
  changed_.notify_all();
}

Session::News Session::news(uint64_t after, std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  const auto end = [&] { return first_event_ + events_.size(); };
  changed_.wait_for(lock, wait, [&] { return end() > after || done_; });
  if (!done_ && end() > after)
    changed_.wait_until(lock, last_told_ + kGather, [&] { return done_.load(); });
  last_told_ = std::chrono::steady_clock::now();
  News out;
  for (uint64_t n = std::max(after, first_event_); n < end(); ++n) {
    out.events.push_back(events_[n - first_event_]);
  }
  out.next = std::max(after, end());
  out.done = done_;
  out.exit_code = exit_code_;
  return out;
}

std::string Session::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

std::string Session::sarif() const {
  const std::lock_guard lock(mutex_);
  return sarif_;
}

ExecutionRecord Session::trace() {
  std::shared_ptr<AgentHub> hub;
  std::shared_ptr<ServiceDescriptors> descriptors;
  {
    const std::lock_guard lock(mutex_);
    hub = hub_;
    descriptors = descriptors_;
  }
  if (hub) {
    ExecutionRecord running = hub->snapshot(StackLines::kOfAll);
    if (descriptors) descriptors->get()->read_arguments(&running);
    if (!running.rpcs.empty()) return running;
  }
  const std::lock_guard lock(mutex_);
  return last_;
}

Result<Session::Injected> Session::injected(const FaultQuery& query) {
  std::shared_ptr<AgentHub> hub;
  std::shared_ptr<ServiceDescriptors> descriptors;
  {
    const std::lock_guard lock(mutex_);
    hub = hub_;
    descriptors = descriptors_;
    if (questions_) questions_->asked(query);
  }
  Injected out;
  if (!hub) return out;
  if (auto known = descriptors->check_name(query.grpc); !known) return known.error();
  nlohmann::json wanted;
  if (!query.arguments.empty()) {
    auto question = descriptors->question(query.grpc, query.arguments);
    if (!question) return question.error();
    wanted = std::move(question).value();
  }
  // Tests ask this several times in every execution: what is not needed for an answer is not done.
  ExecutionRecord record = hub->snapshot(StackLines::kOfInjected);
  if (std::none_of(record.rpcs.begin(), record.rpcs.end(),
                   [](const RpcRecord& rpc) { return rpc.injected; })) {
    return out;
  }
  descriptors->get()->read_arguments(&record);
  const RpcsById rpcs = rpcs_by_id(record);
  for (const RpcRecord& rpc : record.rpcs) {
    if (!rpc.injected) continue;
    InjectedFault fault = describe_for_report(rpcs, rpc);
    fault.set_fault(rpc.fault);
    if (!asks_of(query, fault.service, fault.method, fault.path, fault.protocol)) continue;
    if (!query.fault.empty() && query.fault != fault.fault) continue;
    if (!wanted.is_null() && fault.protocol != Protocol::kGrpc) continue;
    if (!wanted.is_null()) {
      const auto request = nlohmann::json::parse(rpc.arguments, nullptr, false);
      if (!arguments_match(wanted, request)) {
        if (rpc.arguments_whole) continue;
        out.unknown = to_line(fault) + ": " +
                      (rpc.arguments_problem.empty() ? "its request is longer than what is recorded"
                                                     : rpc.arguments_problem);
        continue;
      }
    }
    out.faults.push_back(std::move(fault));
  }
  return out;
}

Result<std::string> Session::usable_preload(const std::string& hub_directory) const {
  if (access(context_.preload.c_str(), R_OK) != 0) {
    return Error{"libfilibuster.so is not at " + context_.preload +
                 "; build or install it, or set FILIBUSTER_PRELOAD"};
  }
  if (context_.preload.find_first_of(" :") == std::string::npos) return context_.preload;
  const std::string link = hub_directory + "/libfilibuster.so";
  std::error_code failed;
  fs::remove(link, failed);
  fs::create_symlink(context_.preload, link, failed);
  if (failed) return Error{"cannot link " + link + ": " + failed.message()};
  return link;
}

std::string Session::coverage_helpers() const {
  return fs::path(context_.preload).parent_path().string() + "/filibuster/coverage";
}

// Coverage data of an interrupted run are continued if the keys are equal: the programs and what is
// explored are the same.
std::string Session::coverage_key(const SessionLane& lane) const {
  std::string key;
  for (const TestConfig& test : request_.tests) {
    for (const auto& [path, digest] : program_files(request_.config, lane, test))
      key += path + " " + digest + "\n";
    key += session_digest(request_.config, request_.config_text, test.name) + "\n";
  }
  return key;
}

void Session::run() {
  SessionReport report;
  report.session = id_;
  report.config_path = request_.config.path;
  std::optional<Error> error;
  try {
    const auto worked = work(&report);
    if (!worked) error = worked.error();
  } catch (const std::exception& failure) {
    error = Error{std::string("the session failed: ") + failure.what()};
  }
  finish(std::move(report), error);
}

Result<void> Session::work(SessionReport* report) {
  const Config& config = request_.config;
  const EventSink sink = [this](nlohmann::json event) { tell(std::move(event)); };
  for (const char* folder : {"logs", "counterexamples", "sessions"}) {
    if (auto made = make_private_folder(context_.root + "/" + folder); !made) return made;
  }
  OwnedProcesses owned(context_.root);
  for (const std::string& ended : owned.end_leftovers()) {
    tell({{"type", "warning"}, {"text", "ended " + ended + ", left behind by an earlier daemon"}});
  }

  fail_point("session");

  HubDirectory directory;
  if (auto made = directory.make(context_.root); !made) return made;
  HubOptions options;
  options.directory = directory.path;
  options.session = random_number();
  options.index_parts = config.index_parts;
  options.frames = compile_frames(config.frames);
  options.fast_timeouts = config.fast_timeouts;
  options.library_commands = names_library_command(config);
  if (config.bounds.hang_limit) options.hang_limit = *config.bounds.hang_limit;
  options.application = config.application;
  options.takes_anyone = waits_for_services_by_hand(config);
  auto started = AgentHub::start(options);
  if (!started) return started.error();
  const std::shared_ptr<AgentHub> hub = std::move(started).value();

  SessionLane lane;
  lane.number = options.lane;
  lane.root = context_.root;
  lane.hub_address = hub->address();
  lane.api_url = context_.api_url;
  lane.api_port = context_.api_port;
  lane.token = context_.token;
  lane.wake_fd = wake_fd_;
  auto preload = usable_preload(directory.path);
  if (!preload) return preload.error();
  lane.preload = preload.value();
  LanePorts ports(config, request_.ports, meaning_of_moved_port(request_.mode), &lane);
  if (auto taken = ports.take(); !taken) return taken;
  ports_moved_ = ports.moved();
  for (const std::string& text : lane.port_notes) tell({{"type", "warning"}, {"text", text}});
  auto targets = lane_targets(config, lane);
  if (!targets) return targets.error();
  hub->add_targets(targets.value());
  const auto descriptors = std::make_shared<ServiceDescriptors>(
      config, lane.ports, request_.descriptors, request_.learnt_descriptors);
  auto masks = compile_masks(config.nondeterminism);
  if (!masks) return masks.error();
  hub->set_masks(*masks.value());
  {
    const std::lock_guard lock(mutex_);
    hub_ = hub;
    descriptors_ = descriptors;
  }

  auto tests = list_suites(config, lane, request_.tests, request_.only);
  if (!tests) return tests.error();
  request_.tests = std::move(tests).value();

  std::unique_ptr<coverage::Collector> collector;
  if (request_.coverage) {
    auto made = coverage::Collector::create(
        config, lane, {coverage_helpers(), coverage_key(lane), request_.restart});
    if (!made) return made.error();
    collector = std::move(made).value();
  }
  bool resumed = false;
  Services services(config, lane, &owned, sink, collector.get());
  const std::vector<std::string> preflight = services.preflight();
  for (const std::string& text : preflight) tell({{"type", "warning"}, {"text", text}});
  SessionCounters counters;
  LintMemory lint_memory;
  std::string not_explored;
  const auto explore = [&]() -> Result<void> {
    if (auto up = services.start_all(); !up) return up;
    fail_point("services");
    if (request_.mode != SessionRequest::Mode::kReplay) {
      const bool run = request_.mode == SessionRequest::Mode::kRun;
      const auto which = run ? LanePorts::Keep::kAll : LanePorts::Keep::kNewNames;
      if (auto kept = ports.keep(which); !kept) {
        tell({{"type", "warning"}, {"text", kept.error().message}});
      }
    }
    watch_idle_services(wake_fd_);
    for (const TestConfig& test : request_.tests) {
      {
        const std::lock_guard lock(mutex_);
        questions_.emplace(config);
      }
      const ExplorerContext context{config,
                                    request_.config_text,
                                    test,
                                    lane,
                                    hub.get(),
                                    &services,
                                    &owned,
                                    sink,
                                    &counters,
                                    [this, &descriptors](ExecutionRecord* record) {
                                      for (std::string& note : descriptors->learn(record))
                                        record->notes.push_back(std::move(note));
                                      const std::lock_guard lock(mutex_);
                                      questions_->saw(*record);
                                      last_ = *record;
                                    },
                                    descriptors.get(),
                                    preflight,
                                    request_.restart};
      Exploration exploration;
      if (request_.mode == SessionRequest::Mode::kLint) {
        Linting linting = Linter(context, request_.lint, &lint_memory).lint();
        exploration.report.test = test.name;
        exploration.report.counts.executed = linting.result.rpcs > 0 ? 1 : 0;
        exploration.error = std::move(linting.error);
        exploration.stopped = linting.stopped;
        lint_.tests.push_back(std::move(linting.result));
      } else {
        Explorer explorer(context);
        exploration = request_.mode == SessionRequest::Mode::kRun
                          ? explorer.explore()
                          : explorer.run_once(request_.faults);
      }
      // Questions that no RPC matched are named only if this session saw every RPC of the exploration.
      if (request_.mode == SessionRequest::Mode::kRun && exploration.report.finished &&
          !exploration.resumed) {
        const std::lock_guard lock(mutex_);
        for (std::string& note : questions_->unmatched())
          exploration.report.notes.push_back(std::move(note));
      }
      report->tests.push_back(std::move(exploration.report));
      resumed = resumed || exploration.resumed;
      if (exploration.stopped) return {};
      if (!exploration.error) continue;
      if (request_.tests.size() == 1) return *exploration.error;
      // The user is told at once; the other tests may still find something.
      tell({{"type", "warning"},
            {"text", "test '" + test.name + "' was not explored: " + exploration.error->message}});
      report->tests.back().notes.push_back("NOT explored: " + exploration.error->message);
      not_explored += (not_explored.empty() ? "'" : ", '") + test.name + "'";
    }
    if (not_explored.empty()) return {};
    return Error{"not every test could be explored: " + not_explored + " could not (see above)"};
  };
  const Result<void> result = explore();
  {
    const std::lock_guard lock(mutex_);
    hub_.reset();
  }
  fail_point("ended");
  services.stop_all();
  make_root_private(context_.root);  // services may have written what they measured
  const bool executed =
      std::any_of(report->tests.begin(), report->tests.end(),
                  [](const TestReport& test) { return test.counts.executed > 0; });
  if (collector && executed && !stopped_) {
    coverage_ = collector->collect();
    coverage_->session = id_;
    if (resumed && !collector->continued()) {
      coverage_->notes.push_back(
          "what was executed before the exploration was interrupted is not counted: that was "
          "without --coverage");
    }
    if (result.ok()) collector->finish();
  }
  if (!result.ok() && stopped_) return {};  // stopped while the services were starting
  return result;
}

std::string Session::summary(const SessionReport& report) const {
  std::string out;
  switch (request_.mode) {
    case SessionRequest::Mode::kRun:
      out = to_text(report);
      if (coverage_) out += "\n" + coverage::to_text(*coverage_);
      if (const std::string tested = tested_text(report); !tested.empty()) out += "\n" + tested;
      break;
    case SessionRequest::Mode::kLint:
      out = lint::to_text(lint_);
      break;
    case SessionRequest::Mode::kTrace:
      for (const TestReport& test : report.tests) {
        out += (request_.tests.size() > 1 ? test.test + ":\n" : "") +
               trace_text(test.reference, request_.representation, request_.config.index_parts);
        for (const Finding& finding : test.findings) {
          out += "\nthe test failed: " + finding.first.detail + "\n" + finding.first.output + "\n";
        }
        for (const Skipped& skipped : test.skipped) {
          out += "\nno conclusion: " + skipped.reason + "\n";
        }
        if (const std::string limits = limits_text(test); !limits.empty()) out += "\n" + limits;
      }
      break;
    case SessionRequest::Mode::kReplay:
      for (const TestReport& test : report.tests) {
        for (const Finding& finding : test.findings) {
          out += "reproduced: " + finding.first.detail +
                 "\nfaults: " + to_line(finding.first.faults) + "\n" + finding.first.output + "\n";
        }
        for (const Skipped& skipped : test.skipped) {
          out += "no conclusion: " + skipped.what + ": " + skipped.reason +
                 (ports_moved_ ? "\nIts ports are not those with which it was found (see above): where "
                                 "requests or answers carry one, that is why.\n"
                               : "\nIs the program as it was? A call that has moved is found again by its "
                                 "function and by what it asks for, unless others are like it: then "
                                 "explore again.\n");
        }
        if (test.findings.empty() && test.skipped.empty()) {
          out += "not reproduced: the test passed under " + to_line(request_.faults) + "\n";
        }
      }
      break;
  }
  if (stopped_ && request_.mode == SessionRequest::Mode::kRun) {
    out += "\nStopped. The same command continues where this one ended.\n";
    if (request_.coverage) {
      out += "Coverage: what was counted is kept; coverage.json is written when the same command, "
             "with --coverage, comes to the end.\n";
    }
  }
  return out;
}

void Session::finish(SessionReport report, const std::optional<Error>& error) {
  const bool linting = request_.mode == SessionRequest::Mode::kLint;
  const auto found = [](const auto& test) { return !test.findings.empty(); };
  const bool failures = linting ? std::any_of(lint_.tests.begin(), lint_.tests.end(), found)
                                : std::any_of(report.tests.begin(), report.tests.end(), found);
  bool no_conclusion =
      (request_.mode == SessionRequest::Mode::kReplay ||
       request_.mode == SessionRequest::Mode::kTrace) &&
      std::any_of(report.tests.begin(), report.tests.end(),
                  [](const TestReport& test) { return !test.skipped.empty(); });
  if (request_.mode == SessionRequest::Mode::kRun && !stopped_ && !error) {
    // 'Nothing found' would be a lie where nothing was tried.
    const bool any_explored =
        std::any_of(report.tests.begin(), report.tests.end(),
                    [](const TestReport& test) { return test.counts.executed > 1; });
    for (TestReport& test : report.tests) {
      if (test.counts.executed > 1 || test.counts.open > 0 || test.counts.beyond_bound > 0) continue;
      if (!test.nothing_to_explore.empty() && any_explored) continue;
      no_conclusion = true;
      const std::vector<FaultRule>& rules = request_.config.faults;
      const bool by_service = std::any_of(rules.begin(), rules.end(), [](const FaultRule& rule) {
        return !rule.service.empty() || !rule.caller.empty();
      });
      test.notes.push_back(
          "nothing was tested: no execution with a fault was concluded" +
          std::string(!test.without_cause.empty() ? "; why its RPCs were never faulted stands above"
                      : !test.skipped.empty()     ? "; see what was not explored"
                      : by_service ? "; is every service of the rules spelled as it is in `services`?"
                                   : ""));
    }
  }
  // Nor is 'nothing found' true if an execution had no conclusion, or an RPC could not be tested.
  report.allow_untested = request_.allow_untested;
  for (const TestReport& test : report.tests) {
    no_conclusion |= test.counts.abandoned > 0;
    no_conclusion |= !request_.allow_untested && !test.rpcs.untested.empty();
  }
  // What was found stands, whatever ended the session.
  report.exit_code = failures                             ? kExitFailures
                     : error || stopped_ || no_conclusion ? kExitEnvironment
                                                          : kExitNothing;
  lint_.session = id_;
  lint_.config_path = request_.config.path;
  lint_.directory = request_.config.directory;
  lint_.exit_code = report.exit_code;
  const bool writes = linting || request_.mode == SessionRequest::Mode::kRun;
  const std::string path = context_.root + (linting ? "/lint.json" : "/report.json");
  const std::string text = linting ? lint::to_json(lint_) : to_json(report);
  const std::string sarif = linting ? lint::to_sarif(lint_) : "";
  const std::string coverage_path = context_.root + "/coverage.json";
  fail_point("reporting");
  if (coverage_) {
    if (auto written = write_file(coverage_path, coverage::to_json(*coverage_)); !written) {
      tell({{"type", "warning"}, {"text", written.error().message}});
    }
  }
  if (writes) {
    if (auto written = write_file(path, text); !written) {
      tell({{"type", "warning"}, {"text", written.error().message}});
    }
  }
  {
    const std::lock_guard lock(mutex_);
    report_ = text;
    sarif_ = sarif;
    exit_code_ = report.exit_code;
  }
  if (error) {
    tell({{"type", "error"}, {"text", error->message}, {"exit_code", report.exit_code}});
  }
  const bool worth_telling = std::any_of(
      report.tests.begin(), report.tests.end(),
      [&](const TestReport& test) { return !error || test.counts.executed > 0; });
  tell({{"type", "done"},
        {"exit_code", report.exit_code},
        {"summary", worth_telling ? summary(report) : ""},
        {"report", writes ? path : ""},
        {"coverage", coverage_ ? coverage_path : ""}});
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  eventfd_write(done_fd_, 1);
}

}  // namespace filibuster
