// What the test asks about its faults (GET /v1/fault-injected). A name that is spelled wrong is
// answered 'no' for ever, and the test then expects of every fault what it expects of none:
// questions that no RPC of the exploration could ever have been meant by are named at its end.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "daemon/agents/execution_record.h"
#include "daemon/config/config.h"

namespace filibuster {

struct FaultQuery {
  std::string service, method, path, fault;  // empty: anything; path: a glob
  std::string grpc;                          // as in grpc_name.h
  std::string arguments;                     // a JSON object: fields of the request of a gRPC call
};

// Is an RPC meant by the question, whatever its fault and its arguments? `path`: without the query.
bool asks_of(const FaultQuery& query, std::string_view service, std::string_view method,
             std::string_view path, Protocol protocol);

// Of one test.
class Questions {
 public:
  explicit Questions(const Config& config);
  void asked(const FaultQuery& query);
  void saw(const ExecutionRecord& record);
  // "the test asked about service 'movie', ...", in the order of their texts.
  std::vector<std::string> unmatched() const;

 private:
  using Question = std::tuple<std::string, std::string, std::string, std::string>;
  using Rpc = std::tuple<std::string, std::string, std::string, Protocol>;

  std::set<std::string> configured_;
  std::set<Question> questions_;  // service, method, path, grpc
  std::set<Rpc> rpcs_;            // service, method, path, protocol
  bool whole_ = true;             // rpcs_ has not met its bound
};

}  // namespace filibuster
