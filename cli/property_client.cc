// The client of `filibuster property` that is configured: the daemon starts it like a client of the user's, so that its calls are the
// test's. The first line of its input is what it is to do, each further one a question (docs/property.md 'A client').
#include <httplib.h>

#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "cli/verb.h"
#include "daemon/property/history.h"
#include "daemon/property/http_commands.h"

namespace filibuster::cli {
namespace {

using Json = nlohmann::json;
using property::HttpCommand;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kResetAgain{20};
constexpr size_t kLongestBody = size_t{8} << 20;  // bytes; the answer to the daemon is one line

class PropertyClient {
 public:
  explicit PropertyClient(const Json& settings)
      : url_(settings.at("http").get<std::string>()),
        timeout_(settings.at("timeout_ms").get<int64_t>()) {
    const size_t path = url_.find('/', std::string("http://").size());
    if (path != std::string::npos) {
      prefix_ = url_.substr(path);
      while (prefix_.ends_with("/")) prefix_.pop_back();
      url_.resize(path);
    }
    const auto reads = settings.at("reads").get<std::set<std::string>>();
    for (const auto& [f, command] : settings.at("commands").items())
      commands_.emplace(f, HttpCommand(command, settings.at("headers"), reads.contains(f)));
    for (const Json& each : settings.at("reset"))
      resets_.emplace_back(each, settings.at("headers"), false);
  }

  Json answer(const Json& question) const {
    const std::string f = question.value("do", "");
    if (f == "reset") return reset();
    const auto command = commands_.find(f);
    if (command == commands_.end()) return {{"error", "there is no command '" + f + "'"}};
    return executed(command->second, question.value("value", Json()), question.value("process", ""))
        .said;
  }

 private:
  struct Executed {
    Json said;
    int status = 0;  // 0: there was no answer
  };

  // The application may still suffer from the last fault of the program before. A reset may be done twice.
  Json reset() const {
    const auto end = Clock::now() + timeout_;
    for (const HttpCommand& each : resets_) {
      Executed last = executed(each, Json(), "");
      while (!last.said.contains("ok")) {
        const bool may_pass = last.status == 0 || last.status >= 500;
        if (!may_pass || Clock::now() >= end) return last.said;
        std::this_thread::sleep_for(kResetAgain);
        last = executed(each, Json(), "");
      }
    }
    return {{"ok", nullptr}};
  }

  // On a connection of its own, once: whoever asks again what was perhaps done does it twice.
  Executed executed(const HttpCommand& command, const Json& value,
                    const std::string& process) const {
    const auto asked = command.request(value, process);
    if (!asked) return {Json{{"error", asked.error().message}}};
    httplib::Client client(url_);
    client.set_url_encode(false);
    client.set_connection_timeout(timeout_);
    client.set_read_timeout(timeout_);
    client.set_write_timeout(timeout_);
    httplib::Request request;
    request.method = asked->method;
    request.path = prefix_ + asked->path;
    // What is compressed or has a language of its own is asked for by who wants it.
    request.set_header("Accept-Encoding", "identity");
    for (const auto& [name, text] : asked->headers) {
      request.headers.erase(name);
      request.headers.emplace(name, text);
    }
    request.body = asked->body;
    // The limits of the connection are those of one byte.
    const auto end = Clock::now() + timeout_;
    std::string body, why;
    request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
      if (Clock::now() >= end) why = "no whole answer within " + limit();
      if (body.size() + size > kLongestBody) why = "an answer of more than 8 MiB";
      if (why.empty()) body.append(data, size);
      return why.empty();
    };
    const httplib::Result result = client.send(request);
    if (result) return {command.meaning(result->status, body), result->status};
    // Nothing has left where there was no connection.
    const bool sent = result.error() != httplib::Error::Connection &&
                      result.error() != httplib::Error::ConnectionTimeout;
    if (why.empty()) why = failure(result.error(), Clock::now() >= end);
    return {command.unanswered(why, sent)};
  }

  std::string limit() const { return std::to_string(timeout_.count()) + " ms"; }
  std::string failure(httplib::Error error, bool is_late) const {
    switch (error) {
      case httplib::Error::Connection:
      case httplib::Error::ConnectionTimeout:
        return "no connection";
      case httplib::Error::Read:
        return is_late ? "no answer within " + limit() : "the connection ended before its answer";
      case httplib::Error::Write:
        return "the connection ended before the request was sent";
      default:
        return httplib::to_string(error);
    }
  }

  std::string url_, prefix_;  // "http://127.0.0.1:80", and what stands before each path
  milliseconds timeout_;
  std::map<std::string, HttpCommand> commands_;
  std::vector<HttpCommand> resets_;
};

int answer_questions() {
  std::string line;
  if (!std::getline(std::cin, line)) return kNothingFound;
  const Json settings = Json::parse(line, nullptr, false);
  if (!settings.is_object())
    return complain(kUsage, "expected the settings of the client in the first line, as JSON");
  const PropertyClient client(settings);
  std::cout << R"({"ok": null})" << std::endl;
  while (std::getline(std::cin, line)) {
    const Json question = Json::parse(line, nullptr, false);
    const Json answer = question.is_object()
                            ? client.answer(question)
                            : Json{{"error", "the question is no JSON object: " + line}};
    std::cout << property::json_text(answer) << std::endl;
  }
  return kNothingFound;
}

}  // namespace

const Verb kPropertyClientVerb = {
    "property-client", "the client of `property` that is configured and not written", "", "",
    [](CLI::App&) -> Work { return [](const Invocation&) { return answer_questions(); }; }};

}  // namespace filibuster::cli
