#include "cli/session.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/Validators.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/page.h"
#include "cli/progress.h"
#include "cli/verb.h"
#include "cli/wrap.h"
#include "daemon/base/own_files.h"

namespace filibuster::cli {
namespace {

using Json = nlohmann::json;

constexpr int kPostTimeout = 60;      // seconds; the daemon answers before it starts services
constexpr int kProgressTimeout = 30;  // seconds; the daemon normally answers within one
constexpr int kMaxSilences = 3;       // unanswered requests in a row before this command gives up
constexpr int kEndTimeoutMs = 1000;   // from a daemon's lost connection to its end

volatile sig_atomic_t interrupts = 0;

void on_interrupt(int) {
  interrupts = interrupts + 1;
  if (interrupts < 2) return;
  // A daemon that was started here ends by itself when its client is gone.
  [[maybe_unused]] const ssize_t ignored = write(2, "\n", 1);
  _exit(kEnvironment);
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup stays nohup
  }
}

void put(FILE* stream, const std::string& text) {
  if (text.empty()) return;
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

// True: `fd` is a terminal, and nobody asked for plain text (https://no-color.org).
bool takes_color(int fd) {
  const char* const no_color = getenv("NO_COLOR");
  const char* const terminal = getenv("TERM");
  return isatty(fd) == 1 && (no_color == nullptr || *no_color == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

// Those that the terminal has now; 0: `fd` is none.
size_t terminal_columns(int fd) {
  winsize size{};
  if (isatty(fd) != 1) return 0;
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// A line that stays, on stderr.
void tell(const std::string& line) {
  put(stderr, wrapped(line, terminal_columns(2)) + "\n");
}

std::string string_member(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}
int int_member(const Json& json, const char* key, int absent) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<int>() : absent;
}

// Text may come from a file that somebody sent, and contain control sequences for a terminal.
std::string without_controls(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) c = '?';
  }
  return text;
}

// Prints why the daemon did not create the session; returns the exit code.
int refused(const Answer& answer, const SessionOptions& options) {
  const Json body = Json::parse(answer.body, nullptr, false);
  if (answer.status == 409) {
    return complain(kEnvironment,
                    "another session runs under this root; wait for its end, or give --root DIR");
  }
  const auto errors = body.is_object() ? body.find("errors") : body.end();
  if (answer.status != 400 || !body.is_object() || errors == body.end() || !errors->is_array()) {
    return complain(kEnvironment, "the daemon answered " + std::to_string(answer.status) + ": " +
                                      answer.body.substr(0, 500));
  }
  for (const Json& error : *errors) {
    if (!error.is_object()) continue;
    const std::string file = string_member(error, "file");
    const int line = int_member(error, "line", 0);
    std::string where = !file.empty()                     ? file
                        : !options.counterexample.empty() ? options.counterexample
                                                          : "command line";
    if (!file.empty() && line > 0) {
      where += ":" + std::to_string(line) + ":" + std::to_string(int_member(error, "column", 1));
    }
    put(stderr, without_controls(where + ": " + string_member(error, "message") + "\n"));
  }
  return kUsage;
}

constexpr std::string_view kRunMode = "run";

std::string to_go_on(bool resumes) {
  return resumes ? " to continue" : "; it begins anew";
}

int daemon_ended(const std::string& pid, bool resumes) {
  return complain(kEnvironment,
                  "daemon ended (pid " + pid + "); run the same command again" + to_go_on(resumes));
}

class Follower {
 public:
  // `mode`: of the session.
  Follower(const Daemon& daemon, const SessionOptions& options, std::string id,
           const std::string& mode)
      : daemon_(daemon),
        options_(options),
        id_(std::move(id)),
        resumes_(mode == kRunMode),
        records_(mode == "record"),
        view_({.terminal = isatty(2) == 1 && !options.json,
               .quiet = options.quiet,
               .color = takes_color(2)}) {}

  // report.html, once the daemon has written it; else "".
  const std::string& page() const { return page_; }

  int follow() {
    if (resumes_ && page_is_built() && !options_.quiet) say_live();
    while (true) {
      if (interrupts > 0 && !stopped_) stop();
      const Result<Answer> answer = daemon_.client().get(
          "/v1/sessions/" + id_ + "/progress?after=" + std::to_string(next_), kProgressTimeout);
      if (!answer || answer->status != 200) {
        if (const int code = silence(answer); code >= 0) return code;
        continue;
      }
      silences_ = 0;
      const Json body = Json::parse(answer->body, nullptr, false);
      if (!body.is_object()) return complain(kEnvironment, "the daemon's answer is not JSON");
      if (const auto events = body.find("events"); events != body.end() && events->is_array()) {
        for (const Json& event : *events) show(event);
      }
      next_ = body.contains("next") && body["next"].is_number_unsigned()
                  ? body["next"].get<uint64_t>()
                  : next_;
      if (string_member(body, "state") == "done")
        return ended(int_member(body, "exit_code", kEnvironment));
    }
  }

 private:
  void show(const Json& event) {
    if (string_member(event, "type") == "done") page_ = string_member(event, "page");
    if (options_.in_runner) return show_to_runner(event);
    if (options_.json) {
      put(stdout, event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
      return;
    }
    if (string_member(event, "type") == "calls") return show_calls(event);
    if (string_member(event, "type") == "principled") return show_principled(event);
    Json shown = event;
    for (const char* key : {"text", "summary", "headline", "detail"}) {
      if (shown.contains(key)) shown[key] = without_controls(string_member(event, key));
    }
    view_.set_columns(terminal_columns(2));
    const Output out = view_.show(parse_event(shown), std::chrono::steady_clock::now());
    put(stderr, out.progress);
    if (!options_.document)
      put(stdout, on_terminal(out.result, terminal_columns(1), takes_color(1)));
  }

  void show_principled(const Json& event) {
    if (options_.quiet || string_member(event, "do") != "end") return;
    const std::string kind = string_member(event, "kind");
    say(without_controls(string_member(event, "name") + ": " +
                         (kind.empty() ? "as stated" : kind)));
  }

  // What begins and ends, as the program of the test was told; warnings and errors go to stderr.
  static void show_to_runner(const Json& event) {
    if (string_member(event, "type") == "principled") {
      Json line = event;
      for (const char* member : {"type", "n", "test"}) line.erase(member);
      put(stdout, line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    } else if (const std::string text = string_member(event, "text"); !text.empty()) {
      put(stderr, without_controls(text) + "\n");
    }
  }

  // The table takes the place of the one before it on a terminal, and is not shown elsewhere: there,
  // the last one stands in the summary.
  void show_calls(const Json& event) {
    if (options_.quiet || isatty(2) != 1) return;
    constexpr const char* kHomeAndClear = "\x1b[H\x1b[J";  // ECMA-48 CUP and ED
    put(stderr,
        kHomeAndClear + without_controls(string_member(event, "text")) + "\n(Ctrl-C ends it)\n");
  }

  void say(const std::string& text) {
    view_.set_columns(terminal_columns(2));
    if (!options_.json && !options_.in_runner) put(stderr, view_.note(text));
  }

  void say_live() {
    const std::string address = daemon_.page_address();
    if (!options_.json) return say("live: " + address);
    put(stdout, Json({{"n", 0}, {"type", "live"}, {"address", address}}).dump() + "\n");
  }

  void stop() {
    stopped_ = true;
    say(options_.follow ? "ending (Ctrl-C again leaves at once)"
                        : "stopping after the running execution (Ctrl-C again leaves at once)");
    const Result<Answer> answer = daemon_.client().post("/v1/sessions/" + id_ + "/stop", "{}");
    if (!answer || answer->status >= 300) say("the daemon did not take the request to stop");
  }

  // The exit code if it is time to leave, -1 to ask again.
  int silence(const Result<Answer>& answer) {
    put(stderr, view_.clear());
    const std::string pid = std::to_string(daemon_.pid());
    if (daemon_.ended(kEndTimeoutMs)) {
      if (!records_) return daemon_ended(pid, resumes_);
      return complain(kEnvironment, "daemon ended (pid " + pid +
                                        "); what was recorded by then stands in its folder, and no "
                                        "replay has shown that it passes: record into another one");
    }
    if (answer.ok() && answer->status == 404)
      return complain(kEnvironment, "the daemon no longer has this session");
    if (++silences_ < kMaxSilences) return -1;
    return complain(kEnvironment, "the daemon (pid " + pid +
                                      ") does not answer; end it and run the same command again" +
                                      to_go_on(resumes_));
  }

  int ended(int exit_code) {
    put(stderr, view_.clear());
    if (!stopped_ || options_.follow) return exit_code;
    // The folder has a recording now.
    if (!options_.json)
      tell(records_ ? "interrupted: what was whole by then is recorded"
                    : "interrupted: run the same command again" + to_go_on(resumes_));
    return exit_code == kFailuresFound ? kFailuresFound : kEnvironment;
  }

  const Daemon& daemon_;
  const SessionOptions& options_;
  std::string id_;
  bool resumes_;  // running the same command again continues an interrupted session
  bool records_;
  ProgressView view_;
  std::string page_;
  uint64_t next_ = 0;
  bool stopped_ = false;
  int silences_ = 0;
};

// Warns about each --service that no RPC of the reference executions names. Otherwise a mistyped name,
// or a program without the library, would look like success.
void name_absent_services(const DaemonClient& client, const std::string& id,
                          const CommandLineConfiguration& line) {
  if (line.services.empty()) return;
  const Result<Answer> answer = client.get("/v1/sessions/" + id + "/report");
  if (!answer || answer->status != 200) return;
  const Json report = Json::parse(answer->body, nullptr, false);
  if (!report.is_object() || !report.contains("tests") || !report["tests"].is_array()) return;
  std::set<std::string> seen;
  for (const Json& test : report["tests"]) {
    if (!test.is_object()) continue;
    for (const char* list : {"reference", "call_sites"}) {
      for (const Json& rpc : test.value(list, Json::array())) {
        for (const char* key : {"caller", "service", "received_by"})
          seen.insert(string_member(rpc, key));
      }
    }
  }
  if (seen.empty()) return;  // nothing ran, and the error that says why was printed
  for (const std::string& text : line.services) {
    const std::string name = text.substr(0, text.find('='));
    if (seen.contains(name)) continue;
    std::string words = "warning: no RPC from or to service '" + name + "' was seen";
    if (name.size() + 1 >= text.size())
      words +=
          ": start it with LD_PRELOAD=" + preload_path() + " FILIBUSTER_SERVICE=" + name +
          ", from a folder of this application or with FILIBUSTER_APPLICATION (see filibuster(1))";
    tell(words);
  }
}

}  // namespace

bool is_interrupted() {
  return interrupts > 0;
}

void declare_common_options(CLI::App& app, SessionOptions* options) {
  app.add_option("--root", options->root,
                 "where sessions, results and the daemon's address are kept")
      ->type_name("DIR")
      ->capture_default_str();
  CLI::Option* const json =
      app.add_flag("--json", options->json, "progress as JSON lines on standard output");
  app.add_flag("-q,--quiet", options->quiet, "no progress: warnings, errors and the summary only")
      ->excludes(json);
}

void declare_bound_options(CLI::App& app, SessionOptions* options) {
  app.add_option("--max-executions", options->max_executions, "stop after N executions")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000'000}));
  app.add_option("--max-faults", options->max_faults, "at most N faults in one execution")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
}

void declare_lanes_option(CLI::App& app, SessionOptions* options, const std::string& what) {
  app.add_option("-j,--lanes", options->lanes, what)
      ->type_name("N|auto")
      ->check([](const std::string& text) -> std::string {
        int number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool good = error == std::errc() && end == text.data() + text.size() && number >= 1 &&
                          number <= 256;
        return text == "auto" || good ? "" : "expected a number from 1 to 256, or auto";
      });
}

void declare_index_options(CLI::App& app, SessionOptions* options) {
  app.add_option(
         "--index-without", options->index_without,
         "leave a part out of execution indexes: payload, stack, count or path (repeatable)")
      ->type_name("PART")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"payload", "stack", "count", "path"}));
  app.add_option_function<std::string>(
         "--signature",
         [options](const std::string& signature) {
           if (signature == "synchronous") options->index_without.emplace_back("payload");
         },
         "invocation signatures: asynchronous (default), or synchronous: --index-without payload")
      ->type_name("KIND")
      ->check(CLI::IsMember({"synchronous", "asynchronous"}));
}

void declare_source_options(CLI::App& app, SessionOptions* options) {
  CommandLineConfiguration* line = &options->command_line;
  app.add_option("-c,--config", options->config_file,
                 "the configuration (default, without '--': filibuster.json)")
      ->type_name("FILE");
  app.add_option(
         "--service", line->services,
         "a service and the shell command that starts it, with ${port:NAME} for a free port; "
         "NAME alone: somebody else starts it")
      ->type_name("NAME=COMMAND")
      ->allow_extra_args(false);
  app.add_option("--port", line->ports,
                 "the port of a --service that listens on a fixed one (repeatable)")
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
  app.add_option("--third-party", line->third_parties, "a service outside the application")
      ->type_name("NAME=HOST:PORT")
      ->allow_extra_args(false);
  // `attach` names them without an option.
  if (app.get_name() != "attach")
    app.add_option("--attach", line->attached,
                   "a service that runs already: NAME=pid:PID, NAME=port:PORT, NAME=cgroup:PATH or "
                   "NAME=name:PATTERN (repeatable)")
        ->type_name("NAME=WHAT")
        ->allow_extra_args(false);
  app.add_option(
         "--descriptors", line->descriptors,
         "what protoc --include_imports --descriptor_set_out wrote: arguments of gRPC calls "
         "are read with it (repeatable); adds to those of a configuration")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--test", options->tests, "only this test of the configuration (repeatable)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  declare_common_options(app, options);
}

Client this_client() {
  const char* application = getenv("FILIBUSTER_APPLICATION");
  const char* day = getenv("FILIBUSTER_TODAY");
  return {getpid(), process_start_time(getpid()), std::filesystem::current_path().string(),
          application == nullptr ? "" : application, day == nullptr ? "" : day};
}

int run_session(const SessionOptions& options, const nlohmann::ordered_json& request,
                AtEnd at_end) {
  catch_interrupts();
  std::error_code failed;
  const std::string root =
      std::filesystem::absolute(options.root, failed).lexically_normal().string();
  Result<std::unique_ptr<Daemon>> daemon = Daemon::join_or_start(failed ? options.root : root);
  if (!daemon) return complain(kEnvironment, daemon.error().message);
  if (interrupts > 0) return complain(kEnvironment, "interrupted before the session began");
  const DaemonClient& client = daemon.value()->client();
  const std::string body =
      request.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const Result<Answer> answer = client.post("/v1/sessions", body, kPostTimeout);
  const std::string mode = request.value("mode", "");
  if (!answer) {
    const std::string pid = std::to_string(daemon.value()->pid());
    return daemon.value()->ended(kEndTimeoutMs)
               ? daemon_ended(pid, mode == kRunMode)
               : complain(kEnvironment, "the daemon: " + answer.error().message);
  }
  if (answer->status != 201) return refused(answer.value(), options);
  const Json created = Json::parse(answer->body, nullptr, false);
  const std::string id = created.is_object() ? string_member(created, "id") : "";
  if (id.empty()) return complain(kEnvironment, "the daemon's answer names no session");
  Follower follower(*daemon.value(), options, id, mode);
  const int code = follower.follow();
  if (interrupts == 0 && !daemon.value()->ended(0))
    name_absent_services(client, id, options.command_line);
  if (!follower.page().empty() && !options.json)
    tell("page: " + page_address(follower.page()) + "  (filibuster open)");
  if (at_end && !daemon.value()->ended(0)) return at_end(*daemon.value(), id, code);
  return code;
}

}  // namespace filibuster::cli
