// Which errors services were seen to answer with by themselves, and what had happened to the
// services that they asked: `filibuster analyze` makes the faults of their callers from it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/agents/execution_record.h"

namespace filibuster {

// What a service was told, or not, by one that it asked.
struct FailedCall {
  std::string service, method, path;
  std::string what;       // the fault, or how it ended by itself: "timeout", "503"
  bool injected = false;  // else it is an answer of that service itself
  bool operator==(const FailedCall&) const = default;
};

struct ObservedAnswer {
  std::string service, method, path;  // the path without its query
  Protocol protocol = Protocol::kHttp;  // kGrpc: `path` is that of a method; kRedis: of a key
  std::string answer;  // as a fault: "status:503", "grpc:UNAVAILABLE", "redis:LOADING"
  std::vector<FailedCall> under;      // of the first time; empty: with all calls answered well
};

class ObservedAnswers {
 public:
  // Of an execution that came as planned. True: there is something new.
  bool see(const ExecutionRecord& record);
  // Ordered by service, path, method and answer.
  std::vector<ObservedAnswer> all() const;
  // Rows beyond it are not kept.
  static constexpr size_t kMax = 1000;
  bool full() const { return rows_.size() >= kMax; }

  // Kept with the session, so that a resumed one knows them. What is not such a text is left out.
  std::string to_json() const;
  void add_json(std::string_view text);

 private:
  std::map<std::string, ObservedAnswer> rows_;
};

}  // namespace filibuster
