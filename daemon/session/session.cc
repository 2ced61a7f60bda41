#include "daemon/session/session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/base/fail_point.h"
#include "daemon/base/random.h"
#include "daemon/coverage/collector.h"
#include "daemon/explore/program_files.h"
#include "daemon/explore/stored_search.h"
#include "daemon/page/file.h"
#include "daemon/process/pidfd.h"
#include "daemon/report/text.h"
#include "daemon/session/suites.h"
#include "daemon/session/verb.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// What a live page is given to fetch the end of the session before the daemon ends.
constexpr std::chrono::milliseconds kLastLook{1500};

constexpr int kExitNothing = 0, kExitFailures = 1, kExitEnvironment = 3, kExitTimeOver = 4;

std::string hexadecimal(uint32_t number) {
  char text[16];
  snprintf(text, sizeof text, "%08x", number);
  return text;
}

// A call site that calls while no request is open belongs to a background thread
// (core/protocol/lane_memory.h, SiteFlags). Once that was seen, its calls are never attributed to the
// only open request. So the services are left alone for a moment between their readiness and the first
// execution; a stop ends the wait.
void watch_idle_services(std::chrono::steady_clock::time_point ready, int wake_fd) {
  constexpr std::chrono::milliseconds kWatch{100};  // heartbeats of libraries come every 5 to 50 ms
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(ready + kWatch -
                                                                 std::chrono::steady_clock::now());
  pollfd wake{wake_fd, POLLIN, 0};
  if (left.count() > 0) poll(&wake, 1, static_cast<int>(left.count()));
}

double seconds_until(Clock::time_point end) {
  return std::max(0.0, std::chrono::duration<double>(end - Clock::now()).count());
}

}  // namespace

Session::Session(SessionRequest request, DaemonContext context)
    : request_(std::move(request)), context_(std::move(context)) {
  id_ = hexadecimal(random_number());
  mode_ = request_.verb->make(request_);
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

const VerbNeeds& Session::needs() const {
  return request_.verb->needs();
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
  client_gone_ = true;
  stop();
  if (context_.on_client_gone) context_.on_client_gone();
}

std::string Session::report() const {
  const std::lock_guard lock(mutex_);
  return document_.text;
}

std::string Session::document(const std::string& format) const {
  const std::lock_guard lock(mutex_);
  const auto found = document_.others.find(format);
  return found == document_.others.end() ? "" : found->second;
}

ExecutionRecord Session::trace() {
  std::shared_ptr<AgentHub> hub;
  std::shared_ptr<Explorations> explorations;
  {
    const std::lock_guard lock(mutex_);
    hub = hub_;
    explorations = explorations_;
  }
  if (hub) {
    ExecutionRecord running = hub->snapshot(StackLines::kOfAll);
    const auto descriptors = explorations ? explorations->descriptors() : nullptr;
    if (descriptors) descriptors->get()->read_arguments(&running);
    if (!running.rpcs.empty()) return running;
  }
  return explorations ? explorations->last() : ExecutionRecord();
}

Result<Session::Injected> Session::injected(const FaultQuery& query, uint32_t lane) {
  std::shared_ptr<AgentHub> hub;
  std::shared_ptr<Explorations> explorations;
  {
    const std::lock_guard lock(mutex_);
    hub = hub_;
    if (const auto further = further_hubs_.find(lane); lane != 0)
      hub = further == further_hubs_.end() ? nullptr : further->second;
    explorations = explorations_;
  }
  const auto descriptors = explorations ? explorations->asked(lane, query) : nullptr;
  Injected out;
  if (!hub || !descriptors) return out;
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

std::string Session::coverage_helpers(const SessionLane& lane) {
  return fs::path(lane.preload).parent_path().string() + "/filibuster/coverage";
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
  report.working_directory = request_.working_directory;
  report.command_line = request_.command_line;
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
  began_ = Clock::now();
  for (const std::string& remark : request_.remarks) warn(remark);
  for (const char* folder : {"logs", "counterexamples", "sessions"}) {
    if (auto made = make_private_folder(context_.root + "/" + folder); !made) return made;
  }
  loader_.emplace(attach::Loader::Options{
      context_.preload, context_.root + "/logs/filibuster-bpf.log", context_.api_port});
  Result<void> result = act(report);
  while (result.ok() && may_go_on() && mode_->begins_another_act(&request_)) {
    if (stopped_) {
      eventfd_t ignored;
      eventfd_read(wake_fd_, &ignored);
      stopped_ = false;
    }
    result = act(report);
  }
  if (!result.ok() && stopped_) return {};  // stopped while the services were starting
  return result;
}

// The end of what was followed is not the end of the session.
bool Session::may_go_on() const {
  return !client_gone_ && (!stopped_ || request_.watches);
}

Result<void> Session::act(SessionReport* report) {
  const Config& config = request_.config;
  // The kernel tells no more than a part of what is read, so that whoever needs all of it has it go over the proxies.
  const bool only_watches = request_.watches && !needs().bytes;
  const Lane::Options options{config,         context_.root,     context_.api_url,
                              context_.token, context_.api_port, context_.preload,
                              wake_fd_,       request_.ports,    mode_->meaning_of_moved_port(),
                              &*loader_,
                              /*number=*/0,   only_watches,      request_.descriptors};
  auto made = Lane::make(options, [this](nlohmann::json event) { events_.tell(std::move(event)); });
  if (!made) return made.error();
  const std::unique_ptr<Lane> lane = std::move(made).value();
  ports_moved_ = lane->ports_moved();
  {
    const std::lock_guard lock(mutex_);
    hub_ = lane->shared_hub();
  }
  if (!request_.watches) {
    auto tests = list_suites(config, lane->place(), request_.tests, request_.only);
    if (!tests) return tests.error();
    request_.tests = std::move(tests).value();
    std::set<std::string> files;
    for (const TestConfig& test : request_.tests) files.insert(test.file);
    files.erase("");
    request_.config.retries.listed_files.assign(files.begin(), files.end());
  }

  auto collector = make_collector(lane->place());
  if (!collector) return collector.error();
  lane->add_services(collector->get());
  Result<void> result = mode_->before_services(lane.get());
  if (result.ok()) result = lane->start_services();
  if (result.ok()) {
    note_attached(lane->services().attached(), report);
    if (const auto which = mode_->keeps_ports()) lane->keep_ports(*which);
    const auto ready = std::chrono::steady_clock::now();
    further_lanes_ = make_further_lanes(options, wanted_lanes());
    if (!request_.config.services.empty()) watch_idle_services(ready, wake_fd_);
    result = explore_tests(lane.get(), report);
    further_lanes_.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    hub_.reset();
  }
  lane->stop_services();
  collect(collector->get(), *report, result.ok());
  return result;
}

void Session::note_attached(const std::vector<attach::FoundService>& attached,
                            SessionReport* report) {
  // A counterexample has to find the same services again, whose pids are of today.
  request_.config_text = attach::text_to_keep(request_.config_text, attached);
  for (const attach::FoundService& service : attached) {
    AttachedRow row{service.name, service.program, {}, false};
    for (const attach::FoundProcess& process : service.processes) row.pids.push_back(process.pid);
    row.started = std::any_of(
        request_.config.services.begin(), request_.config.services.end(),
        [&](const ServiceConfig& each) { return each.name == service.name && each.by_bpf; });
    report->attached.push_back(std::move(row));
  }
}

// As many as the user wants and the application allows.
uint32_t Session::wanted_lanes() {
  const uint32_t wanted =
      request_.lanes != 0 ? request_.lanes : std::max(1u, std::thread::hardware_concurrency());
  if (wanted == 1 || !needs().lanes) return 1;
  const std::string why =
      request_.coverage ? "coverage is measured on one" : why_one_lane(request_.config);
  if (why.empty()) return wanted;
  // Who says 'auto' wants what is possible.
  if (request_.lanes != 0) warn("-j " + std::to_string(wanted) + ": one lane is used: " + why);
  return 1;
}

std::unique_ptr<LaneSet> Session::make_further_lanes(const Lane::Options& options, uint32_t lanes) {
  if (lanes < 2) return nullptr;
  std::string shared;
  for (const std::string& name : shared_between_lanes(request_.config))
    shared += (shared.empty() ? "" : ", ") + name;
  if (!shared.empty())
    warn(std::to_string(lanes) + " lanes share what is started once (" + shared +
         "): findings hold only if executions on it do not disturb one another");
  lanes_ = lanes;
  return std::make_unique<LaneSet>(
      options, lanes, [this](nlohmann::json event) { events_.tell(std::move(event)); },
      [this](uint32_t lane, std::shared_ptr<AgentHub> hub) {
        const std::lock_guard lock(mutex_);
        if (hub)
          further_hubs_[lane] = std::move(hub);
        else
          further_hubs_.erase(lane);
      });
}

// What the last report of this root and the changed files point to.
Suspects Session::suspects() {
  Suspects out;
  for (const std::string& file : request_.changed_files) out.add_file(file);
  const std::string earlier = context_.root + "/report.json";
  if (auto read = out.read_report(earlier); !read) {
    warn("the earlier report " + earlier +
         " does not say what to try first: " + read.error().message);
  }
  return out;
}

Result<void> Session::explore_tests(Lane* lane, SessionReport* report) {
  Explorations::Options options;
  options.request = &request_;
  options.mode = mode_.get();
  options.further = further_lanes_.get();
  options.lanes = lanes_;
  if (request_.config.bounds.max_time.count() > 0 && needs().deadline) {
    options.end = began_ + request_.config.bounds.max_time;
    underway_.set_end(*options.end);
  }
  options.underway = &underway_;
  options.blocks = &blocks_;
  options.sink = [this, end = options.end](nlohmann::json event) {
    const std::string type = event.value("type", "");
    if (type == "execution" || type == "program")
      event["time_left"] = end ? nlohmann::json(seconds_until(*end)) : nlohmann::json();
    events_.tell(std::move(event));
  };
  // With and without a bound, so that both go through the same executions in the same order.
  if (needs().suspects) options.suspects = suspects();
  options.page_is_wanted = [this] { return live_page_.wanted(); };
  options.show = [this, report](std::vector<TestReport> tests) {
    SessionReport so_far = *report;
    so_far.tests = std::move(tests);
    PageExtras extras = page_extras();
    extras.running = true;
    live_page_.put(page_data(so_far, extras).summary);
  };
  const auto explorations = std::make_shared<Explorations>(std::move(options));
  {
    const std::lock_guard lock(mutex_);
    explorations_ = explorations;
  }
  // The report that the live page shows is not changed while tests run.
  std::vector<TestReport> tests;
  Result<void> explored = explorations->run(lane, &tests);
  const std::vector<std::string> notes = attached_notes(report->attached);
  for (TestReport& test : tests) test.notes.insert(test.notes.begin(), notes.begin(), notes.end());
  std::move(tests.begin(), tests.end(), std::back_inserter(report->tests));
  resumed_ = explorations->resumed();
  return explored;
}

// Null: coverage is not measured.
Result<std::unique_ptr<coverage::Collector>> Session::make_collector(
    const SessionLane& lane) const {
  if (!request_.coverage) return std::unique_ptr<coverage::Collector>();
  return coverage::Collector::create(
      request_.config, lane, {coverage_helpers(lane), coverage_key(lane), request_.restart});
}

void Session::collect(coverage::Collector* collector, const SessionReport& report,
                      bool to_the_end) {
  const bool executed =
      std::any_of(report.tests.begin(), report.tests.end(),
                  [](const TestReport& test) { return test.counts.executed > 0; });
  if (collector == nullptr || !executed || stopped_) return;
  coverage_ = collector->collect();
  coverage_->session = id_;
  if (resumed_ && !collector->continued()) {
    coverage_->notes.push_back(
        "what was executed before the exploration was interrupted is not counted: that was "
        "without --coverage");
  }
  if (to_the_end) collector->finish();
}

// Returns the path of the document; "": it is not written. `*is_in_root`: it is, with what belongs to it,
// where it was wanted, or nothing was.
std::string Session::write(const Document& document, bool* is_in_root) {
  fail_point("reporting");
  if (coverage_) {
    if (auto written = write_file(context_.root + "/coverage.json", coverage::to_json(*coverage_));
        !written) {
      warn(written.error().message);
    }
  }
  *is_in_root = true;
  if (document.name.empty()) return "";
  WrittenDocuments written{context_.root + "/" + document.name, ""};
  if (needs().documents) {
    written = write_documents(context_.root, document.others);
  } else if (auto done = write_file(written.report, document.text); !done) {
    written.problem = done.error().message;
  }
  *is_in_root = written.problem.empty();
  if (!*is_in_root) warn(written.problem);
  return written.report;
}

PageExtras Session::page_extras() const {
  PageExtras extras;
  extras.coverage = coverage_ ? &*coverage_ : nullptr;
  const Config& config = request_.config;
  extras.source_folders.push_back(config.directory);
  for (const ServiceConfig& service : config.services)
    extras.source_folders.push_back(lane_directory(config, service.directory));
  for (const TestConfig& test : config.tests)
    extras.source_folders.push_back(lane_directory(config, test.directory));
  return extras;
}

std::string Session::write_page(const SessionReport& report) {
  const auto page = PageTemplate::load(context_.preload);
  if (!page) {
    warn(page.error().message);
    return "";
  }
  const PageData data = page_data(report, page_extras());
  live_page_.put(data.summary, data.executions);
  std::string path = context_.root + "/report.html";
  if (auto written = write_file(path, page->page(data, report)); !written) {
    warn(written.error().message + "; the findings stand in report.json and in the summary");
    return "";
  }
  return path;
}

std::string Session::write_page(const Document::Page& page) {
  const auto made = PageTemplate::load(context_.preload);
  std::string path = context_.root + "/" + page.name;
  const Result<void> written =
      made ? write_file(path, made->page_of(page.json, page.plain)) : Result<void>(made.error());
  if (!written) warn(written.error().message);
  return written ? path : "";
}

void Session::finish(SessionReport report, const std::optional<Error>& error) {
  const SessionEnd end{stopped_, error.has_value(), ports_moved_,
                       coverage_ ? &*coverage_ : nullptr};
  const Outcome outcome = mode_->judge(&report, end);
  const bool is_cut_short = stopped_ && !request_.watches;  // what is followed has no other end
  // What was found stands, whatever ended the session.
  report.exit_code = outcome.failures                                 ? kExitFailures
                     : error || is_cut_short || outcome.no_conclusion ? kExitEnvironment
                     : outcome.time_over                              ? kExitTimeOver
                                                                      : kExitNothing;
  if (error) report.error = error->message;
  const Document document = mode_->document(report);
  bool is_in_root = false;
  const std::string path = write(document, &is_in_root);
  const std::string page = needs().page                 ? write_page(report)
                           : document.page.name.empty() ? ""
                                                        : write_page(document.page);
  // Whoever waits for the report of a run must not take its absence for a pass.
  if (needs().documents && !is_in_root && !outcome.failures) report.exit_code = kExitEnvironment;
  {
    const std::lock_guard lock(mutex_);
    document_ = document;
  }
  if (error) {
    events_.tell({{"type", "error"}, {"text", error->message}, {"exit_code", report.exit_code}});
  }
  const bool worth_telling =
      std::any_of(report.tests.begin(), report.tests.end(),
                  [&](const TestReport& test) { return !error || test.counts.executed > 0; });
  events_.tell({{"type", "done"},
                {"exit_code", report.exit_code},
                {"summary", worth_telling ? mode_->summary(report, end) : ""},
                {"report", path},
                {"page", page},
                {"coverage", coverage_ ? context_.root + "/coverage.json" : ""}});
  if (!page.empty() && needs().page) live_page_.wait_until_fetched(kLastLook);
  events_.end(report.exit_code);
  eventfd_write(done_fd_, 1);
}

}  // namespace filibuster
