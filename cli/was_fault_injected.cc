#include <CLI/App.hpp>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/daemon_client.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

struct Question {
  std::string service, method, path, grpc, fault;
  std::vector<std::string> arguments;  // NAME=VALUE
};

// {"code": "DAILY", "cart": {"id": "c1"}} for code=DAILY and cart.id=c1; "" for none.
Result<std::string> arguments_of(const std::vector<std::string>& texts) {
  nlohmann::json out = nlohmann::json::object();
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Error{"--argument " + text + ": expected NAME=VALUE, for example code=DAILY"};
    nlohmann::json* place = &out;
    std::istringstream names(text.substr(0, equals));
    for (std::string name; std::getline(names, name, '.');) {
      if (!place->is_object() && !place->is_null())
        return Error{"--argument " + text + ": another one gives '" + name + "' a value"};
      place = &(*place)[name];
    }
    *place = text.substr(equals + 1);
  }
  return out.empty() ? std::string() : out.dump();
}

// The error message of the daemon, or the answer's text if it has none.
std::string refusal(const nlohmann::json& body, const std::string& text) {
  try {
    return body.at("errors").at(0).at("message").get<std::string>();
  } catch (const nlohmann::json::exception&) {
    return "the daemon refused the question: " + text;
  }
}

int ask(const Question& question) {
  const char* const url = std::getenv("FILIBUSTER_URL");
  const char* const token = std::getenv("FILIBUSTER_TOKEN");
  Result<std::string> arguments = arguments_of(question.arguments);
  if (!arguments) return complain(kUsage, arguments.error().message);
  if (url == nullptr || *url == '\0') {
    return complain(kEnvironment, "not under filibuster: FILIBUSTER_URL is not set");
  }
  std::string query =
      query_argument("service", question.service) + query_argument("method", question.method) +
      query_argument("path", question.path) + query_argument("grpc", question.grpc) +
      query_argument("arguments", arguments.value()) + query_argument("fault", question.fault);
  if (!query.empty()) query[0] = '?';
  const Result<Answer> answer =
      DaemonClient(url, token == nullptr ? "" : token).get("/v1/fault-injected" + query, 30);
  if (!answer) return complain(kEnvironment, answer.error().message);
  const auto body = nlohmann::json::parse(answer->body, nullptr, false);
  if (answer->status == 400) return complain(kUsage, refusal(body, answer->body));
  if (answer->status == 409) return complain(kEnvironment, refusal(body, answer->body));
  if (answer->status != 200 || !body.is_object() || !body.contains("injected") ||
      !body["injected"].is_boolean()) {
    return complain(kEnvironment, "the daemon answered " + std::to_string(answer->status));
  }
  return body["injected"].get<bool>() ? 0 : 1;
}

Work declare_was_fault_injected(CLI::App& app) {
  auto question = std::make_shared<Question>();
  app.add_option("--service", question->service, "the service that was called")->type_name("NAME");
  app.add_option("--method", question->method, "the method of the request, of gRPC too")
      ->type_name("METHOD");
  app.add_option("--path", question->path, "the path of the request; * and ? match")
      ->type_name("PATH");
  app.add_option("--grpc", question->grpc,
                 "the gRPC method, as in shop.CartService/GetCart, or its service; * and ? match")
      ->type_name("NAME");
  app.add_option("--argument", question->arguments,
                 "a field of the request of a gRPC method and its value, as in code=DAILY or "
                 "cart.id=c1 (repeatable; needs server reflection in the service, or "
                 "'descriptors' in the configuration)")
      ->type_name("NAME=VALUE");
  app.add_option("--fault", question->fault,
                 "the fault: refused, status:503, grpc:UNAVAILABLE, ...")
      ->type_name("FAULT");
  return [question](const Invocation&) { return ask(*question); };
}

}  // namespace

const Verb kWasFaultInjectedVerb = {
    "was-fault-injected", "in a test: was a fault injected in the running execution?",
    "  if filibuster was-fault-injected --service bookings; then expect=503; else expect=200; fi\n"
    "\nExit status: 0 yes, 1 no, 2 usage, 3 not under filibuster or not known; filibuster(1) has the\n"
    "table.\n",
    "", declare_was_fault_injected};

}  // namespace filibuster::cli
