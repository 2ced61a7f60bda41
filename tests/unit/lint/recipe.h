// Executions written down by hand: who asked whom, in which order, with which answer.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/index/execution_index.h"
#include "daemon/lint/lint.h"

namespace filibuster::lint {

class Recipe {
 public:
  static constexpr uint64_t kMillisecond = 1'000'000;

  // The test's own request, answered with `answer` in the end.
  RpcRecord& from_test(const std::string& service, const std::string& request,
                       const std::string& answer = "{}") {
    return add("test", service, request, answer, 0);
  }
  // `caller` asks `service` while it serves `incoming`; one millisecond after the last request.
  RpcRecord& call(uint64_t incoming, const std::string& caller, const std::string& service,
                  const std::string& request, const std::string& answer = "{}", int line = 10) {
    RpcRecord& rpc = add(caller, service, request, answer, incoming);
    at(&rpc, caller + ".py", line);
    return rpc;
  }
  static void at(RpcRecord* rpc, const std::string& file, int line) {
    rpc->stack_text = {"/app/" + file + ":" + std::to_string(line) + " (handle)"};
    rpc->stack = hash_text(rpc->stack_text.front());
  }
  // A gRPC call, with the status of its answer: 0 is OK.
  static void grpc(RpcRecord* rpc, uint8_t status) {
    rpc->flags |= kRpcHttp2 | kRpcGrpc;
    rpc->grpc_status = status;
  }
  // A command to Redis, with the code of its error: "" is none.
  static void redis(RpcRecord* rpc, const std::string& code) {
    rpc->flags |= kRpcRedis;
    rpc->status = 0;
    rpc->code_space = code.empty() ? CodeSpace::kNone : CodeSpace::kRedis;
    rpc->code = code;
  }
  static void body(RpcRecord* rpc, const std::string& text) {
    rpc->body_sample = text;
    rpc->payload = http_payload_hash(rpc->target, hash_text(text));
  }

  ExecutionRecord record;

 private:
  RpcRecord& add(const std::string& caller, const std::string& service, const std::string& request,
                 const std::string& answer, uint64_t incoming) {
    record.rpcs.reserve(100);  // references stay
    RpcRecord& rpc = record.rpcs.emplace_back();
    rpc.rpc = record.rpcs.size();
    rpc.parent_rpc = incoming;
    rpc.caller = caller;
    rpc.service = service;
    const size_t blank = request.find(' ');
    rpc.method = request.substr(0, blank);
    rpc.target = request.substr(blank + 1);
    rpc.cause = incoming == 0 ? Cause::kEntry : Cause::kThread;
    rpc.issued_ns = rpc.rpc * 10 * kMillisecond;
    rpc.finished_ns = rpc.issued_ns + kMillisecond;
    rpc.open = false;
    rpc.outcome = RpcOutcome::kAnswered;
    rpc.status = 200;
    rpc.response_sample = answer;
    rpc.response_size = answer.size();
    rpc.response = hash_text(answer);
    rpc.index = Hash128{1, rpc.rpc};
    body(&rpc, "");
    return rpc;
  }
};

inline std::vector<Finding> found(const Recipe& recipe, Lint lint) {
  std::vector<Finding> out = lint_reference(recipe.record);
  std::erase_if(out, [&](const Finding& finding) { return finding.lint != lint; });
  return out;
}

}  // namespace filibuster::lint
