#include "daemon/verbs/principled/observed.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/rpc/header_field.h"
#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"
#include "daemon/observe/observation.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;
using principled::Thrown;

// "reset", "refused", "timeout", "closed" of a call that got no answer.
std::string end_of(const RpcRecord& rpc) {
  switch (rpc.outcome) {
    case RpcOutcome::kRefused:
      return "refused";
    case RpcOutcome::kReset:
      return "reset";
    case RpcOutcome::kTimedOut:
      return "timeout";
    default:
      return "closed";
  }
}

Thrown outcome_of(const RpcRecord& rpc) {
  Thrown out;
  if (rpc.answered() && !rpc.answered_with_error()) return out;
  out.thrown = true;
  if (!rpc.answered()) {
    out.code = end_of(rpc);
    return out;
  }
  out.code = code_of(rpc).text;
  out.message = rpc.is_grpc() ? rpc.grpc_message : rpc.response_sample;
  return out;
}

// The body as far as it is known; of gRPC, which has none in words, nothing.
std::string answer_of(const RpcRecord& rpc) {
  if (rpc.is_grpc()) return "";
  return to_text(Thrown{true, std::to_string(rpc.status), rpc.response_sample});
}

stubs::Call call_of(const RpcRecord& rpc) {
  stubs::Call out;
  out.service = rpc.service;
  out.method = rpc.method;
  if (rpc.is_grpc()) {
    out.kind = stubs::Kind::kGrpc;
    out.path = rpc.target;
    out.arguments = Json::parse(rpc.arguments, nullptr, false);
    if (out.arguments.is_discarded()) {
      out.arguments = nullptr;
      out.problem =
          rpc.arguments_problem.empty() ? "its request is not known" : rpc.arguments_problem;
    }
    return out;
  }
  out.kind = rpc.is_redis() ? stubs::Kind::kRedis : stubs::Kind::kHttp;
  out.path = rpc.target;
  if (rpc.body_sample.empty()) return out;
  out.arguments = Json::parse(rpc.body_sample, nullptr, false);
  if (out.arguments.is_discarded()) out.arguments = rpc.body_sample;
  return out;
}

class Observer {
 public:
  explicit Observer(const ObservedFrom& from) : from_(from), rpcs_(rpcs_by_id(from.record)) {
    for (const stubs::CallNote& note : from.notes) {
      RpcContext context;
      if (decode_header_value(note.call.field, &context)) by_rpc_[context.rpc] = &note;
      if (note.call.kind == stubs::Kind::kRedis) of_redis_.push_back(&note);
    }
  }

  Observed observe() {
    Observed out;
    const RpcRecord* last = nullptr;
    for (const RpcRecord& rpc : from_.record.rpcs) {
      if (is_entry(rpc)) {
        out.has_entry = true;
        if (last == nullptr || rpc.issued_ns >= last->issued_ns) last = &rpc;
        continue;
      }
      if (is_test_call(rpc) || !is_below_entry(rpc)) continue;
      add_call(rpc, &out);
    }
    if (last != nullptr) {
      out.outcome = outcome_of(*last);
      if (!out.outcome.thrown) out.answer = answer_of(*last);
      out.service = last->service;
      out.method = call_name(*last, path_of(*last));
    }
    return out;
  }

 private:
  const ServiceConfig* service(const std::string& name) const {
    for (const ServiceConfig& each : from_.config.services) {
      if (each.name == name) return &each;
    }
    return nullptr;
  }

  // A call that the block has made itself to a service of the application.
  bool is_entry(const RpcRecord& rpc) const {
    if (!is_test_call(rpc) || rpc.issued_ns < from_.execute.begin_ns ||
        rpc.issued_ns > from_.execute.end_ns)
      return false;
    const ServiceConfig* const called = service(rpc.service);
    if (called != nullptr && !called->is_followed()) return false;
    return std::none_of(from_.intervals.begin(), from_.intervals.end(),
                        [&](const principled::Interval& each) {
                          return each.group.empty() && rpc.issued_ns >= each.begin_ns &&
                                 (each.end_ns == 0 || rpc.issued_ns <= each.end_ns);
                        });
  }

  bool is_below_entry(const RpcRecord& rpc) const {
    const RpcRecord* const root = root_of(rpcs_, rpc);
    return root != nullptr && is_entry(*root);
  }

  void add_call(const RpcRecord& rpc, Observed* out) {
    const ServiceConfig* const called = service(rpc.service);
    if (called == nullptr) {
      out->left_the_lane.push_back(describe_rpc(rpc));
      return;
    }
    ObservedCall call;
    call.rpc = describe_for_report(rpcs_, rpc);
    call.call.faulted = rpc.injected;
    call.call.stubbed = called->is_virtual;
    call.call.call = call_of(rpc);
    call.call.reached = !rpc.injected || keeps_reaching(rpc.fault);
    if (const stubs::CallNote* note = note_of(rpc, call.call.reached)) {
      // The stub has read the whole request.
      call.call.reached = true;
      call.call.call.path = note->call.path;
      call.call.call.arguments = note->call.arguments;
      call.call.call.problem = note->call.problem;
    }
    call.failed = rpc.failed();
    call.ending = ending_name(rpc);
    if (rpc.injected) call.fault = to_text(rpc.fault);
    if (rpc.injected && rpc.hang_limit.waited_on()) call.waited = to_text(rpc.hang_limit);
    FaultChoice choice = choose_faults(from_.config, rpc, root_is_known(rpcs_, rpc));
    call.faults = std::move(choice.faults);
    call.left_out = std::move(choice.left_out);
    out->calls.push_back(std::move(call));
  }

  // What the stub says of the call; nullptr: it has not come there, or there is no stub.
  const stubs::CallNote* note_of(const RpcRecord& rpc, bool reached) {
    const auto found = by_rpc_.find(rpc.rpc);
    if (found != by_rpc_.end()) return found->second;
    if (!rpc.is_redis() || !reached) return nullptr;
    // Commands carry no field of ours: the first one of this name that is left.
    const auto first = std::find_if(of_redis_.begin(), of_redis_.end(), [&](const auto* note) {
      return note->call.service == rpc.service && note->call.method == rpc.method;
    });
    if (first == of_redis_.end()) return nullptr;
    const stubs::CallNote* const out = *first;
    of_redis_.erase(first);
    return out;
  }

  // Does the server receive the request of a call with this fault?
  static bool keeps_reaching(const FaultSpec& fault) {
    return fault.after_effect || changes_answer(fault);
  }

  const ObservedFrom& from_;
  const RpcsById rpcs_;
  std::map<uint64_t, const stubs::CallNote*> by_rpc_;
  std::vector<const stubs::CallNote*> of_redis_;  // in their order
};

}  // namespace

std::vector<principled::DependencyCall> Observed::dependency_calls() const {
  std::vector<principled::DependencyCall> out;
  for (const ObservedCall& each : calls) out.push_back(each.call);
  return out;
}

Observed observe_execute(const ObservedFrom& from) {
  return Observer(from).observe();
}

principled::FaultedCall faulted_call(const ObservedCall& call, const FaultSpec& fault) {
  principled::FaultedCall out;
  out.seen = {call.call.call, to_text(fault)};
  out.rpc = call.rpc;
  out.rpc.set_fault(fault);
  switch (fault.kind) {
    case FaultKind::kGrpc:
      out.code = std::string(grpc::to_name(fault.code));
      out.message = fault.message;
      break;
    case FaultKind::kStatus:
      out.code = std::to_string(fault.status);
      out.message = fault.body;
      break;
    case FaultKind::kRedis:
      out.code = fault.reply;
      out.message = fault.message;
      break;
    case FaultKind::kRefused:
      out.code = "refused";
      break;
    case FaultKind::kTimeout:
      out.code = "timeout";
      break;
    default:
      out.code = "reset";
      break;
  }
  return out;
}

}  // namespace filibuster
