// What the test asks about its faults (GET /v1/fault-injected). A question with a misspelt name is
// always answered 'no', and the test then expects under every fault what it expects without any. So
// questions that no RPC of the exploration could have matched are named at its end.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

struct FaultQuery {
  std::string service, method, path, fault;  // empty: anything; path: a glob
  std::string grpc;                          // as in grpc_name.h
  std::string arguments;                     // a JSON object: fields of the request of a gRPC call
};

// True if the question means this RPC, whatever its fault and its arguments. `path`: without the query.
bool asks_of(const FaultQuery& query, std::string_view service, std::string_view method,
             std::string_view path, Protocol protocol);

// The questions of one test.
class Questions {
 public:
  explicit Questions(const Config& config);
  void asked(const FaultQuery& query);
  void saw(const ExecutionRecord& record);
  // "the test asked whether a fault was injected (service 'movie'), but no RPC ...", sorted.
  // `all`: nothing is left to be executed; else such an RPC may still come.
  std::vector<std::string> unmatched(bool all = true) const;

 private:
  using Question = std::tuple<std::string, std::string, std::string, std::string>;
  using Rpc = std::tuple<std::string, std::string, std::string, Protocol>;

  std::set<std::string> configured_;
  std::set<Question> questions_;  // service, method, path, grpc
  std::set<Rpc> rpcs_;            // service, method, path, protocol
  bool whole_ = true;             // false: rpcs_ is full, and may lack RPCs that were seen
};

}  // namespace filibuster
