// What an RPC of each protocol gets where the configuration names no faults.
#include "core/fault/attempts.h"
#include "core/fault/fault.h"
#include "core/resp/commands.h"

namespace filibuster {
namespace {

// "SET user:*, INCR visits" -> the flags that any of these commands has.
uint16_t flags_of_all(std::string_view commands) {
  uint16_t flags = 0;
  while (!commands.empty()) {
    const size_t end = commands.find(", ");
    const std::string_view one = commands.substr(0, end);
    commands = end == std::string_view::npos ? std::string_view() : commands.substr(end + 2);
    const resp::CommandProperties* row = resp::find_command(one.substr(0, one.find(' ')));
    if (row != nullptr) flags |= row->flags;
  }
  return flags;
}

}  // namespace

std::vector<FaultSpec> default_http_faults() {
  std::vector<FaultSpec> faults(5);
  faults[0].kind = FaultKind::kRefused;
  faults[1].kind = FaultKind::kTimeout;
  uint16_t status = 500;
  for (size_t i = 2; i < faults.size(); ++i, status = status == 500 ? 502 : 503) {
    faults[i].kind = FaultKind::kStatus;
    faults[i].status = status;
  }
  return faults;
}

std::vector<FaultSpec> default_grpc_faults() {
  std::vector<FaultSpec> faults;
  for (const auto code :
       {grpc::Code::kUnavailable, grpc::Code::kDeadlineExceeded, grpc::Code::kInternal,
        grpc::Code::kUnimplemented, grpc::Code::kUnknown}) {
    FaultSpec& fault = faults.emplace_back();
    fault.kind = FaultKind::kGrpc;
    fault.code = code;
  }
  return faults;
}

FaultSpec default_mutation_fault() {
  FaultSpec silence;
  silence.kind = FaultKind::kTimeout;
  silence.after_effect = true;
  AttemptSequence attempts;
  attempts.rules.push_back({std::move(silence), {1, 1, 1}});
  return make_attempts(std::move(attempts));
}

std::vector<FaultSpec> default_sealed_faults() {
  std::vector<FaultSpec> faults(3);
  faults[0].kind = FaultKind::kRefused;
  faults[1].kind = FaultKind::kTimeout;
  faults[2].kind = FaultKind::kReset;
  return faults;
}

std::vector<FaultSpec> default_redis_faults(std::string_view method, std::string_view resource) {
  const uint16_t flags = flags_of_all(method == "MULTI" ? resource : method);
  std::vector<FaultSpec> faults(2);
  faults[0].kind = FaultKind::kRefused;
  faults[1].kind = FaultKind::kTimeout;
  const auto add = [&faults](const char* code) {
    FaultSpec fault;
    fault.kind = FaultKind::kRedis;
    fault.reply = code;
    faults.push_back(std::move(fault));
  };
  add("LOADING");
  if ((flags & resp::kWrites) != 0) add("READONLY");
  if ((flags & resp::kAllocates) != 0) add("OOM");
  return faults;
}

}  // namespace filibuster
