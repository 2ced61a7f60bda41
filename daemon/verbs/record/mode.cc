// `filibuster record`: the requests that a service gets while other programs use it become cases (docs/record.md).
#include <poll.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "daemon/process/ports.h"
#include "daemon/record/environment.h"
#include "daemon/record/recording.h"
#include "daemon/redact/rules.h"
#include "daemon/replay/alone.h"
#include "daemon/report/json.h"
#include "daemon/report/text.h"
#include "daemon/report/words.h"
#include "daemon/verbs/record/admission_act.h"
#include "daemon/verbs/record/request.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;

// The services start in it, so that what they ask while they start is seen. Requests in it are no cases.
constexpr uint32_t kStartup = 1;
constexpr milliseconds kLook{200};
constexpr milliseconds kLongestTraffic = std::chrono::hours(24);
// Whom the recording tells what it has to say, once somebody listens. It does so from its own thread.
class Ear {
 public:
  void listen(EventSink sink, SessionCounters* counters) {
    const std::lock_guard lock(mutex_);
    sink_ = std::move(sink);
    counters_ = counters;
  }
  // Another execution begins, so that the tables of the agents are empty again. What is open goes on.
  void turn_over(AgentHub* hub) {
    const std::lock_guard lock(mutex_);
    if (counters_ != nullptr) hub->next_execution(counters_->next_execution++);
  }
  void warn(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (sink_) sink_({{"type", "warning"}, {"text", text}});
  }

 private:
  std::mutex mutex_;
  EventSink sink_;
  SessionCounters* counters_ = nullptr;
};

class RecordMode final : public Mode {
 public:
  explicit RecordMode(const SessionRequest& request) : request_(request) {}

  std::optional<LanePorts::Keep> keeps_ports() const override {
    return admission_ ? std::nullopt : Mode::keeps_ports();
  }
  Result<void> before_services(Lane* lane) override;
  bool begins_another_act(SessionRequest* request) override;
  Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) override;
  void stopped() override { finish(); }

  Outcome judge(SessionReport*, const SessionEnd&) const override {
    // Where the services did not start, nobody has ended it yet.
    finish();
    Outcome out;
    out.no_conclusion = !recording_ || seen().counts.whole == 0 || !seen().problem.empty() ||
                        (own().admits && !can_start()) ||
                        (admission_ && (!admission_->is_done() || admission_->size() == 0));
    return out;
  }
  Document document(const SessionReport& report) override { return {"", to_json(report), {}}; }
  std::string summary(const SessionReport& report, const SessionEnd&) const override;

 private:
  const RecordRequest& own() const { return request_.own_as<RecordRequest>(); }
  const record::Recording::Summary& seen() const { return recording_->summary(); }
  Result<void> run(SessionContext* session, Lane* lane, TestConfig test, Exploration* out);
  Result<void> watch(SessionContext* session, Lane* lane);
  void finish() const;
  const ServiceConfig* recorded_service() const;
  bool can_start() const;
  std::string not_replayed(uint64_t cases) const;
  std::string addresses(const PortMap& ports) const;

  const SessionRequest& request_;
  const std::shared_ptr<Ear> ear_ = std::make_shared<Ear>();
  std::unique_ptr<record::Recording> recording_;
  std::unique_ptr<AdmissionAct> admission_;  // null: what is recorded runs, or nothing is replayed
  bool starts_ = false;                      // the execution of the start runs
  size_t explored_ = 0;
};

// nullptr: there is none.
const ServiceConfig* RecordMode::recorded_service() const {
  const std::vector<ServiceConfig>& services = request_.config.services;
  const auto found = std::find_if(services.begin(), services.end(), [&](const ServiceConfig& each) {
    return each.name == own().service;
  });
  return found == services.end() ? nullptr : &*found;
}

// What runs already cannot be asked for its replays, since its neighbours are not those of the cases.
bool RecordMode::can_start() const {
  const ServiceConfig* service = recorded_service();
  return service != nullptr && !service->command.empty();
}

bool takes_part(const AgentHub& hub, const std::string& service) {
  const std::vector<AgentRecord> agents = hub.agents();
  return std::any_of(agents.begin(), agents.end(),
                     [&](const AgentRecord& each) { return each.service == service; });
}

// The name of the port of the service; "": it is its first one.
std::function<std::string(uint16_t)> port_names(const ServiceConfig& service,
                                                const PortMap& ports) {
  std::map<uint16_t, std::string> names;
  for (const auto& [name, fixed] : service.ports) {
    const auto port = ports.find(name);
    const bool first = name == service.ports.begin()->first;
    if (port != ports.end() && !first) names.emplace(port->second, name);
  }
  return [names](uint16_t port) {
    const auto found = names.find(port);
    return found == names.end() ? std::string() : found->second;
  };
}

// Where whoever uses the service finds it: "127.0.0.1:40123", or each port with its name.
std::string RecordMode::addresses(const PortMap& ports) const {
  const ServiceConfig* service = recorded_service();
  std::string out;
  if (service == nullptr) return out;
  for (const auto& [name, fixed] : service->ports) {
    const auto port = ports.find(name);
    if (port == ports.end()) continue;
    out += (out.empty() ? "" : ", ") + ("127.0.0.1:" + std::to_string(port->second)) +
           (service->ports.size() > 1 ? " (" + name + ")" : "");
  }
  return out;
}

bool RecordMode::begins_another_act(SessionRequest* request) {
  if (admission_ || !own().admits || !recording_ || !can_start()) return false;
  finish();
  if (seen().counts.whole == 0 || !seen().problem.empty()) return false;
  admission_ = std::make_unique<AdmissionAct>(own().folder, own().most_cases, own().most_bytes,
                                              recording_->redactor());
  if (!admission_->load()) return false;
  replay::leave_alone(own().service, replay::parts_of(request->config, own().service, own().mocked),
                      &request->config);
  request->tests = request->config.tests;
  request->only.clear();
  request->watches = false;
  return true;
}

Result<void> RecordMode::before_services(Lane* lane) {
  if (admission_) return admission_->before_services(lane);
  const Config& config = request_.config;
  const ServiceConfig* service = recorded_service();
  if (service == nullptr) return Error{"there is no service " + own().service};
  record::Recording::Options options;
  options.folder = own().folder;
  options.set.service = service->name;
  options.set.builds = builds_of(config, lane->place(), *service);
  // What somebody else has started has the environment of somebody else.
  if (can_start()) {
    options.set.environment = record::recorded_environment(*service);
    if (!service->is_attached()) options.set.host.emplace().name = record::host_name();
  }
  options.set.redacted = record::Redactor::rules();
  options.set.redact = config.redact;
  for (const std::string_view each : cases::kMatchedAtFirst)
    options.set.match_headers.emplace_back(each);
  options.set.masks = config.nondeterminism;
  options.parts = replay::parts_of(config, service->name, own().mocked);
  options.most_bytes = own().most_bytes;
  for (const ServiceConfig& each : config.services) {
    if (each.ignored && !options.parts.contains(each.name))
      options.set.not_followed.push_back("to " + each.name + ": not interposed");
  }
  options.startup_execution = kStartup;
  options.sample = own().sample;
  options.port_name = port_names(*service, lane->place().ports);
  options.turn_over = [ear = ear_, hub = lane->shared_hub()] { ear->turn_over(hub.get()); };
  options.warn = [ear = ear_](const std::string& text) { ear->warn(text); };
  auto started = record::Recording::start(lane->shared_hub(), std::move(options));
  if (!started) return started.error();
  recording_ = std::move(started).value();
  starts_ = true;
  lane->follow_draws();
  return lane->hub().begin_execution(kStartup, {});
}

Exploration RecordMode::explore(SessionContext* session, Lane* lane, const TestConfig& test) {
  Exploration out;
  out.report.test = test.name;
  out.report.finished = true;
  if (admission_) {
    if (auto done = admission_->run(session, lane, test); !done) out.error = done.error();
    out.report.counts.executed = 1;
    out.stopped = !out.error && !admission_->is_done();
    return out;
  }
  if (starts_) lane->hub().end_execution();
  starts_ = false;
  session->counters.next_execution =
      std::max(session->counters.next_execution.load(), kStartup + 1);
  ear_->listen(session->sink, &session->counters);
  session->sink({{"type", "session"},
                 {"test", test.name},
                 {"resumed", false},
                 {"watching", request_.watches},
                 {"recording", own().service},
                 {"at", request_.watches ? addresses(lane->place().ports) : ""}});
  auto done = request_.watches ? watch(session, lane) : run(session, lane, test, &out);
  if (!done) out.error = done.error();
  if (const ServiceConfig* service = recorded_service();
      service != nullptr && service->is_by_hand() && !takes_part(lane->hub(), service->name))
    out.report.notes.push_back(
        "no process of " + service->name +
        " has taken part: it was not started with the library, or belongs to another application "
        "(docs/configuration.md, 'Services that somebody else starts')");
  out.report.counts.executed = 1;
  if (++explored_ == request_.tests.size() || out.stopped || out.error) finish();
  return out;
}

Result<void> RecordMode::run(SessionContext* session, Lane* lane, TestConfig test,
                             Exploration* out) {
  const bool is_bounded = own().duration.count() > 0;
  if (is_bounded || !test.timeout) test.timeout = is_bounded ? own().duration : kLongestTraffic;
  auto made = TestRun::make(session, lane, test, session->config);
  if (!made) return made.error();
  auto executed = made.value()->execute_once({}, TestStarter::Start::kPlain);
  if (!executed) return executed.error();
  ExecutionResult& result = executed->result;
  session->on_record(&result.record);
  out->stopped = result.stopped;
  out->report.reference = std::move(result.record.rpcs);
  out->report.reference_seconds = result.seconds;
  if (result.exit && !result.exit->success())
    out->report.notes.push_back("the traffic '" + test.name + "' ended with " +
                                to_text(*result.exit) + "; what it caused is recorded" +
                                quoted_output(executed->output));
  if (result.timed_out && !is_bounded)
    out->report.notes.push_back("the traffic '" + test.name + "' was ended at its time limit");
  for (const ServiceEnd& end : result.ended)
    out->report.notes.push_back("service '" + end.name + "' ended while it was recorded");
  return {};
}

// Whoever uses the service does so until the user ends it, or the time is over.
Result<void> RecordMode::watch(SessionContext* session, Lane* lane) {
  using Clock = std::chrono::steady_clock;
  AgentHub& hub = lane->hub();
  if (auto begun = hub.begin_execution(session->counters.next_execution++, {}); !begun)
    return begun;
  const auto end = Clock::now() + (own().duration.count() > 0 ? own().duration : kLongestTraffic);
  Result<void> result;
  for (bool ends = false; !ends && result.ok();) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
    pollfd woken{lane->place().wake_fd, POLLIN, 0};
    ends =
        left.count() <= 0 || poll(&woken, 1, static_cast<int>(std::min(kLook, left).count())) > 0;
    lane->services().take_ended({});
    result = lane->services().check_attached();
  }
  hub.end_execution();
  return result;
}

void RecordMode::finish() const {
  if (recording_) recording_->finish();
}

std::string count_text(uint64_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

std::string RecordMode::summary(const SessionReport& report, const SessionEnd&) const {
  if (!recording_) return "";
  const record::Recording::Summary& all = seen();
  const uint64_t different = all.counts.whole - all.counts.equal;
  std::string out = "recorded " + count_text(different, "case", "cases") + " of " + own().service +
                    " into " + own().folder;
  if (all.counts.equal > 0)
    out += "; " + count_text(all.counts.equal, "more was equal to one of them",
                             "more were equal to one of them");
  out += "\n";
  if (all.counts.whole + all.counts.partial == 0 && all.untold_requests == 0 && all.not_taken == 0)
    out += "no request came to " + own().service +
           " while it was recorded: the traffic finds its port in $PORT_" +
           port_variable(own().service) + "\n";
  for (const auto& [route, number] : all.counts.by_route)
    out += "  " + route + ": " + std::to_string(number) + "\n";
  if (all.counts.without_room > 0)
    out += count_text(all.counts.without_room, "more was left out, since its case is new",
                      "more were left out, since their cases are new") +
           " and would make the folder larger than --max-size\n";
  if (all.not_taken > 0)
    out += count_text(all.not_taken, "request was", "requests were") + " left out (--sample)\n";
  if (all.counts.partial > 0) {
    out += count_text(all.counts.partial, "case is not whole, and stands",
                      "cases are not whole, and stand") +
           " under partial/:\n";
    for (const auto& [reason, number] : all.counts.by_reason)
      out += "  " + std::to_string(number) + ": " + reason + "\n";
  }
  out += "of the process itself: " + count_text(all.process_calls, "call", "calls") + ", " +
         count_text(all.openings, "command that sets up connections",
                    "commands that set up connections") +
         "\n";
  if (all.partial_process_calls > 0)
    out += count_text(all.partial_process_calls, "call of the process is",
                      "calls of the process are") +
           " not whole, and left out\n";
  if (all.calls_without_case > 0)
    out += count_text(all.calls_without_case, "call belongs", "calls belong") +
           " to no case: what caused them is not known, or was over\n";
  if (all.lost > 0)
    out += count_text(all.lost, "record was", "records were") +
           " lost, since more came than was read\n";
  if (all.untold_requests > 0)
    out += count_text(all.untold_requests, "request was", "requests were") +
           " told by no agent, and are no cases\n";
  for (const std::string& each : all.not_followed) out += "not followed: " + each + "\n";
  for (const TestReport& test : report.tests) {
    for (const std::string& note : test.notes) out += note + "\n";
  }
  if (!all.problem.empty()) out += "the recording ended early: " + all.problem + "\n";
  if (admission_) {
    out += admission_->summary();
  } else if (own().admits && different > 0 && all.problem.empty()) {
    out += not_replayed(different);
  }
  return out;
}

std::string RecordMode::not_replayed(uint64_t cases) const {
  std::string out = cases == 1 ? "this case has not been replayed"
                               : "these " + std::to_string(cases) + " cases have not been replayed";
  std::string with;
  if (!can_start()) {
    out += ", since " + own().service + " runs already, and was not started here";
    with = " --service " + own().service + "='COMMAND'";
  }
  return out + ": `filibuster verify " + own().folder + with + "` shows " +
         (cases == 1 ? "whether it passes" : "which of them pass") +
         ". What varies is not known, and not masked" +
         (can_start() ? ": record again to have it found out" : "") + "\n";
}

}  // namespace

std::unique_ptr<Mode> make_record_mode(const SessionRequest& request) {
  return std::make_unique<RecordMode>(request);
}

}  // namespace filibuster
