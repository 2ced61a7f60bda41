#include "daemon/api/server.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <mutex>

#include "core/index/execution_index.h"
#include "core/text/json_depth.h"
#include "daemon/api/http_server.h"
#include "daemon/api/session_request.h"
#include "daemon/api/waiting_room.h"
#include "daemon/base/process_table.h"
#include "daemon/base/random.h"
#include "daemon/model/call_name.h"
#include "daemon/model/grpc_name.h"
#include "daemon/observe/rpc_row.h"
#include "daemon/page/file.h"
#include "daemon/redact/redact.h"
#include "daemon/report/tree_text.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::milliseconds kNewsWait{1000};
// From the whole head of a request to the end of its answer. Whoever has the token may be slow.
constexpr std::chrono::milliseconds kStrangerLimit{5'000}, kLimit{20'000};

// How long a user is known to have a process of this daemon, and how often that is searched: 20 times a second.
constexpr std::chrono::milliseconds kUserLimit{1'000}, kSearchPeriod{1'000};
constexpr size_t kSearches = 20;

// The lane whose token the request carries; nullopt: none.
std::optional<uint32_t> lane_of(const httplib::Request& request, const std::string& token) {
  const std::string given = request.get_header_value("Authorization");
  constexpr std::string_view kBearer = "Bearer ";
  if (!given.starts_with(kBearer)) return std::nullopt;
  return lane_of_token(std::string_view(given).substr(kBearer.size()), token);
}

// What the head of a request asks for. It only chooses the threads that answer it: whether the request is answered is
// decided when it is read.
RequestKind kind_of(std::string_view head, const std::string& token) {
  constexpr std::string_view kBearer = "Bearer ";
  bool is_known = false;
  for (size_t at = head.find(kBearer); at != std::string_view::npos && !is_known;
       at = head.find(kBearer, at)) {
    at += kBearer.size();
    is_known =
        lane_of_token(head.substr(at, head.find_first_of("\r\n", at) - at), token).has_value();
  }
  if (!is_known) return RequestKind::kStranger;
  const std::string_view path = head.substr(0, head.find_first_of("?\r"));
  if (!path.starts_with("GET /v1/sessions/")) return RequestKind::kQuestion;
  return path.find("/progress") != std::string_view::npos ? RequestKind::kProgress
                                                          : RequestKind::kPage;
}

// The user that `sudo` started this daemon for; -1: none. Such a user opens the page in a browser of their own.
uid_t user_of_sudo() {
  const char* const text = geteuid() == 0 ? getenv("SUDO_UID") : nullptr;
  uid_t uid = 0;
  if (text == nullptr) return static_cast<uid_t>(-1);
  const char* const end = text + strlen(text);
  const auto [at, error] = std::from_chars(text, end, uid);
  return error == std::errc() && at == end ? uid : static_cast<uid_t>(-1);
}

// True for a name that can only mean this machine, with or without a port ("127.0.0.1:8000"). This
// refuses DNS rebinding: a page whose own name was bound to 127.0.0.1 after it was loaded sends that name.
bool is_loopback_host(std::string host) {
  std::transform(host.begin(), host.end(), host.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (!host.starts_with(name)) continue;
    const std::string_view rest = std::string_view(host).substr(name.size());
    if (rest.empty()) return true;
    const char* const end = rest.data() + rest.size();
    uint16_t port = 0;
    const auto [at, error] = std::from_chars(rest.data() + 1, end, port);
    return rest[0] == ':' && error == std::errc() && at == end && port != 0;
  }
  return false;
}

// Why the request is refused, because it may come from a web page instead of a program of this machine;
// "": nothing says so. Browsers say from which page a request comes.
std::string foreign(const httplib::Request& request) {
  const std::string host = request.get_header_value("Host");
  if (request.get_header_value_count("Host") != 1 || !is_loopback_host(host))
    return "its Host is not this machine: expected 127.0.0.1 or localhost";
  if (request.has_header("Origin") && request.get_header_value("Origin") != "http://" + host)
    return "it comes from a page of another origin";
  const std::string site = request.get_header_value("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none")
    return "it comes from a page of another site";
  return "";
}

void answer(httplib::Response& response, int status, Json json) {
  redact_texts(&json);
  response.status = status;
  response.set_content(dump_json(json), "application/json");
}

void answer_error(httplib::Response& response, int status, const std::string& message) {
  answer(response, status, {{"errors", Json::array({{{"message", message}}})}});
}

Json to_json_row(const InjectedFault& fault) {
  return {{"fault", fault.fault},
          {"caller", fault.caller},
          {"service", fault.service},
          {"method", fault.method},
          {"path", fault.path},
          {"call_site", fault.call_site},
          {"count", fault.count},
          {"index", to_hex(fault.index)},
          {"message", fault.message},
          {"protocol", protocol_name(fault.protocol)},
          {"grpc", grpc_name(fault.method, fault.path, fault.protocol)},
          {"arguments", Json::parse(redact_object(fault.arguments))}};
}

// Error: the question is malformed, so that no fault could ever match it. The test would take 'no' for
// an answer.
Result<FaultQuery> read_query(const httplib::Request& request) {
  FaultQuery query{request.get_param_value("service"), request.get_param_value("method"),
                   request.get_param_value("path"),    request.get_param_value("fault"),
                   request.get_param_value("grpc"),    request.get_param_value("arguments")};
  if (!query.fault.empty()) {
    const auto fault = parse_fault_text(query.fault);
    if (!fault) return fault.error();
    query.fault = to_text(fault.value());
  }
  if (!query.grpc.empty()) {
    const std::string problem = grpc_name_problem(query.grpc);
    if (!problem.empty()) {
      return Error{"'" + query.grpc + "' is no name of a gRPC method: " + problem +
                   "; expected package.Service/Method or package.Service"};
    }
  }
  return query;
}

}  // namespace

struct ApiServer::State {
  DaemonContext context;
  Shutdown shutdown;
  HttpServer server;
  std::optional<PageTemplate> page;  // nullopt: `page_problem` says why
  std::string page_problem;
  std::mutex mutex;
  std::shared_ptr<Session> session;  // the running session, or the last one

  std::shared_ptr<Session> current() {
    const std::lock_guard lock(mutex);
    return session;
  }
  std::shared_ptr<Session> named(const httplib::Request& request, httplib::Response& response) {
    auto found = current();
    if (found && found->id() == request.matches[1].str()) return found;
    answer_error(response, 404, "there is no session '" + request.matches[1].str() + "'");
    return nullptr;
  }
  void create(const httplib::Request& request, httplib::Response& response);
  void routes();
  // Some tests and services change their user. Called by one thread.
  bool admits(uid_t uid) {
    if (uid == user_of_sudo()) return true;
    const auto now = std::chrono::steady_clock::now();
    if (uid == admitted && now - admitted_at < kUserLimit) return true;
    // The search of processes takes a moment, which no flood of another user may take again and again.
    while (!searches.empty() && now - searches.front() >= kSearchPeriod) searches.pop_front();
    if (searches.size() >= kSearches) return false;
    searches.push_back(now);
    if (!has_descendant_of(uid)) return false;
    admitted = uid;
    admitted_at = now;
    return true;
  }
  uid_t admitted = static_cast<uid_t>(-1);
  std::chrono::steady_clock::time_point admitted_at;
  std::deque<std::chrono::steady_clock::time_point> searches;  // the last ones
  std::unique_ptr<WaitingRoom> room;  // the last member: it ends before what its threads use
};

void ApiServer::State::create(const httplib::Request& request, httplib::Response& response) {
  RequestDraft parsed = parse_session_request(request.body);
  if (!parsed.errors.empty()) {
    Json errors = Json::array();
    for (const ConfigError& error : parsed.errors) {
      errors.push_back({{"file", error.file},
                        {"line", error.line},
                        {"column", error.column},
                        {"message", error.message}});
    }
    return answer(response, 400, {{"errors", errors}});
  }
  std::vector<std::string> tests;
  for (const TestConfig& test : parsed.request.tests) tests.push_back(test.name);
  std::shared_ptr<Session> old, created;
  {
    const std::lock_guard lock(mutex);
    if (session && session->running()) {
      return answer_error(response, 409, "session " + session->id() + " is running");
    }
    old = std::exchange(session, nullptr);  // destroyed outside the lock
    created = std::make_shared<Session>(std::move(parsed.request), context);
    session = created;
  }
  answer(response, 201, {{"id", created->id()}, {"tests", tests}});
}

void ApiServer::State::routes() {
  using httplib::Request;
  using httplib::Response;
  server.set_pre_routing_handler([this](const Request& request, Response& response) {
    if (const std::string why = foreign(request); !why.empty()) {
      answer_error(response, 403, "the request is refused: " + why);
      return httplib::Server::HandlerResponse::Handled;
    }
    // The page holds no data. Its script reads the token from the address, whose fragment no browser sends.
    if (request.method == "GET" && request.path == "/")
      return httplib::Server::HandlerResponse::Unhandled;
    if (lane_of(request, context.token)) {
      return httplib::Server::HandlerResponse::Unhandled;
    }
    answer_error(response, 401, "the token is missing or wrong (it stands in daemon.json)");
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_exception_handler([](const Request&, Response& response, std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& failure) {
      answer_error(response, 500, failure.what());
    } catch (...) {
      answer_error(response, 500, "unknown failure");
    }
  });
  // The library tries patterns in their order. This one is first, since tests ask in every execution.
  server.Get("/v1/fault-injected", [this](const Request& request, Response& response) {
    const auto query = read_query(request);
    if (!query) return answer_error(response, 400, query.error().message);
    Json rows = Json::array();
    if (const auto running = current()) {
      const auto found =
          running->injected(query.value(), lane_of(request, context.token).value_or(0));
      if (!found) return answer_error(response, 400, found.error().message);
      for (const InjectedFault& fault : found->faults) rows.push_back(to_json_row(fault));
      if (rows.empty() && !found->unknown.empty()) {
        return answer_error(response, 409,
                            "the arguments of a faulted call are not known: " + found->unknown);
      }
    }
    answer(response, 200, {{"injected", !rows.empty()}, {"faults", rows}});
  });
  server.Get("/v1/status", [this](const Request&, Response& response) {
    const auto running = current();
    answer(response, 200,
           {{"version", 1},
            {"session", running && running->running() ? Json(running->id()) : Json(nullptr)}});
  });
  server.Post("/v1/sessions",
              [this](const Request& request, Response& response) { create(request, response); });
  server.Get(R"(/v1/sessions/([0-9a-f]+)/progress)",
             [this](const Request& request, Response& response) {
               const auto session_named = named(request, response);
               if (!session_named) return;
               uint64_t after = 0;
               const std::string text = request.get_param_value("after");
               std::from_chars(text.data(), text.data() + text.size(), after);
               const EventLog::News news = session_named->news(after, kNewsWait);
               Json tries = Json::array();
               for (const Underway::Row& row : session_named->underway().rows())
                 tries.push_back({{"test", redact(row.test)}, {"what", redact(row.what)}});
               const auto left = session_named->underway().seconds_left();
               answer(response, 200,
                      {{"events", news.events},
                       {"next", news.next},
                       {"tries", std::move(tries)},
                       {"seconds_left", left ? Json(*left) : Json(nullptr)},
                       {"state", news.done ? "done" : "running"},
                       {"exit_code", news.done ? Json(news.exit_code) : Json(nullptr)}});
             });
  server.Post(R"(/v1/sessions/([0-9a-f]+)/stop)",
              [this](const Request& request, Response& response) {
                const auto session_named = named(request, response);
                if (!session_named) return;
                session_named->stop();
                answer(response, 200, Json::object());
              });
  server.Get(
      R"(/v1/sessions/([0-9a-f]+)/report)", [this](const Request& request, Response& response) {
        const auto session_named = named(request, response);
        if (!session_named) return;
        const std::string report = session_named->report();
        if (report.empty()) return answer_error(response, 404, "the session still runs");
        const std::string format = request.get_param_value("format");
        if (format.empty() || format == "json")
          return response.set_content(report, "application/json");
        const std::string document = session_named->document(format);
        if (document.empty())
          return answer_error(response, 404, "the session has no report as '" + format + "'");
        response.set_content(document, std::string(media_type(format)));
      });
  server.Get("/", [this](const Request&, Response& response) {
    if (!page) return answer_error(response, 404, page_problem);
    response.set_header("Content-Security-Policy", page->live_policy());
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("Cache-Control", "no-store");
    response.set_content(page->live_page(), "text/html; charset=utf-8");
  });
  server.Get(R"(/v1/sessions/([0-9a-f]+)/page)",
             [this](const Request& request, Response& response) {
               const auto session_named = named(request, response);
               if (!session_named) return;
               uint64_t after = 0;
               const std::string text = request.get_param_value("after");
               std::from_chars(text.data(), text.data() + text.size(), after);
               const LivePage::Version version = session_named->live_page().fetch(after, kNewsWait);
               response.set_header("Filibuster-Version", std::to_string(version.number));
               if (version.summary.empty()) {
                 response.status = 204;
                 return;
               }
               response.set_content(version.summary, "application/json");
             });
  server.Get(R"(/v1/sessions/([0-9a-f]+)/executions)",
             [this](const Request& request, Response& response) {
               const auto session_named = named(request, response);
               if (!session_named) return;
               response.set_content(session_named->live_page().executions(), "application/json");
             });
  server.Get("/v1/trace", [this](const Request&, Response& response) {
    const auto running = current();
    const ExecutionRecord record = running ? running->trace() : ExecutionRecord{};
    Json rows = Json::array();
    for (const RpcRecord& rpc : record.rpcs) rows.push_back(rpc_row(rpc));
    answer(response, 200,
           {{"version", 1},
            {"execution", record.execution},
            {"text", tree_text(record.rpcs)},
            {"rpcs", rows}});
  });
  server.Post("/v1/blocks", [this](const Request& request, Response& response) {
    if (is_nested_too_deep(request.body))
      return answer_error(response, 400, "the request is nested too deep");
    const Json said = Json::parse(request.body, nullptr, false);
    if (said.is_discarded()) return answer_error(response, 400, "the request is no JSON");
    const auto running = current();
    if (!running) return answer_error(response, 409, "no session runs");
    const auto next = running->blocks().post(said, kNewsWait);
    if (!next) return answer_error(response, 409, next.error().message);
    // Not redacted: the program is the test, and needs what it is told as it is.
    response.set_content(dump_json(next.value()), "application/json");
  });
  server.Post("/v1/shutdown", [this](const Request&, Response& response) {
    answer(response, 200, Json::object());
    shutdown();
  });
}

ApiServer::ApiServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<ApiServer>> ApiServer::start(DaemonContext context, Shutdown shutdown) {
  auto state = std::make_unique<State>();
  state->context = std::move(context);
  state->shutdown = std::move(shutdown);
  state->context.token = random_hexadecimal();
  if (auto page = PageTemplate::load(state->context.preload)) {
    state->page = std::move(page).value();
  } else {
    state->page_problem = page.error().message;
  }
  state->routes();
  WaitingRoom::Options options;
  options.kind = [raw = state.get()](std::string_view head) {
    return kind_of(head, raw->context.token);
  };
  options.serve = [raw = state.get()](Connection* connection, RequestKind kind) {
    const bool is_stranger = kind == RequestKind::kStranger;
    return raw->server.serve(connection, /*is_last=*/is_stranger,
                             is_stranger ? kStrangerLimit : kLimit);
  };
  options.admits = [raw = state.get()](uid_t uid) { return raw->admits(uid); };
  options.warn = [](const std::string& text) { std::cerr << "filibusterd: " << text << std::endl; };
  auto room = WaitingRoom::open(std::move(options));
  if (!room) return room.error();
  state->context.api_port = room.value()->port();
  state->context.api_url = "http://127.0.0.1:" + std::to_string(room.value()->port());
  state->room = std::move(room).value();
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(state)));
}

ApiServer::~ApiServer() {
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(state_->mutex);
    session = std::exchange(state_->session, nullptr);
  }
  if (session) session->stop();
  // Whoever waits for news gets the end of the session before the server goes.
  while (session && session->running()) session->news(UINT64_MAX, kNewsWait);
  state_->room.reset();
}

const std::string& ApiServer::url() const {
  return state_->context.api_url;
}
const std::string& ApiServer::token() const {
  return state_->context.token;
}

}  // namespace filibuster
