// The programs of the user's that ask the application (docs/property.md, 'A client'), each in JSON lines.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/process/dialogue.h"
#include "daemon/property/history.h"

namespace filibuster {

// What a client says of a command.
struct Answered {
  property::Outcome outcome = property::Outcome::kInfo;
  nlohmann::json answer;  // of kOk
  std::string reason;     // of the others
};

class Clients {
 public:
  // A client that does not answer within `limit` is an error; so is one that is asked while `wake_fd` is readable.
  Clients(std::chrono::milliseconds limit, int wake_fd) : limit_(limit), wake_fd_(wake_fd) {}

  // Ends those that there are, and starts `number` new ones.
  Result<void> start(size_t number, const std::function<Result<Dialogue>(size_t)>& start_one);
  size_t size() const { return clients_.size(); }
  // The client that is this process, or an ancestor of it.
  std::optional<size_t> client_of(pid_t pid) const;

  // Different clients may be asked at the same time, by one thread each. `process`: the name under which the client asks; one whose command has an
  // unknown outcome gets another.
  Result<Answered> ask(size_t client, const std::string& process, const std::string& f,
                       const nlohmann::json& value);
  // The application is as it was at first.
  Result<void> reset();

 private:
  Result<nlohmann::json> exchange(size_t client, const nlohmann::json& question);

  const std::chrono::milliseconds limit_;
  const int wake_fd_;
  std::vector<Dialogue> clients_;
};

}  // namespace filibuster
