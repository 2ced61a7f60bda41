#include "daemon/verbs/property/clients.h"

#include <utility>

namespace filibuster {

using Json = nlohmann::json;
using property::json_text;

namespace {

constexpr std::pair<const char*, property::Outcome> kOutcomes[] = {
    {"ok", property::Outcome::kOk},
    {"fail", property::Outcome::kFail},
    {"info", property::Outcome::kInfo}};

}  // namespace

Result<void> Clients::start(size_t number,
                            const std::function<Result<Dialogue>(size_t)>& start_one) {
  clients_.clear();
  for (size_t i = 0; i < number; ++i) {
    auto client = start_one(i);
    if (!client) return Error{"the client: " + client.error().message};
    clients_.push_back(std::move(client).value());
  }
  return {};
}

std::optional<size_t> Clients::client_of(pid_t pid) const {
  for (; pid > 1; pid = parent_of_process(pid)) {
    for (size_t i = 0; i < clients_.size(); ++i) {
      if (clients_[i].pid() == pid) return i;
    }
  }
  return std::nullopt;
}

Result<Json> Clients::exchange(size_t client, const Json& question) {
  const std::string text = json_text(question);
  auto line = clients_[client].ask(text, limit_, wake_fd_);
  if (!line) return Error{"the client was asked " + text + ", and " + line.error().message};
  Json answer = Json::parse(line.value(), nullptr, false);
  const std::string said =
      "the client answered " + text + " with '" + line.value().substr(0, 500) + "'";
  if (!answer.is_object()) return Error{said + "; expected a JSON object in one line"};
  if (answer.contains("error"))
    return Error{"the client was asked " + text + ", and failed: " +
                 (answer["error"].is_string() ? answer["error"].get<std::string>()
                                              : json_text(answer["error"]))};
  for (const auto& [name, outcome] : kOutcomes) {
    if (answer.contains(name)) return answer;
  }
  return Error{said + R"(; expected {"ok": ANSWER}, {"fail": WHY} or {"info": WHY})"};
}

Result<Answered> Clients::ask(size_t client, const std::string& process, const std::string& f,
                              const Json& value) {
  const auto answer = exchange(client, {{"do", f}, {"value", value}, {"process", process}});
  if (!answer) return answer.error();
  for (const auto& [name, outcome] : kOutcomes) {
    const auto found = answer->find(name);
    if (found == answer->end()) continue;
    if (outcome == property::Outcome::kOk) return Answered{outcome, *found, ""};
    return Answered{outcome, Json(),
                    found->is_string() ? found->get<std::string>() : json_text(*found)};
  }
  return Answered{};
}

Result<void> Clients::reset() {
  const auto answer = exchange(0, {{"do", "reset"}});
  if (!answer) return answer.error();
  if (answer->contains("ok")) return {};
  return Error{"the client could not reset the application: " + json_text(answer.value())};
}

}  // namespace filibuster
