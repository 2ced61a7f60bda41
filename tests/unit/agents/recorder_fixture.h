// A recorder that is fed with the events of three processes.
#pragma once

#include "core/index/execution_index.h"
#include "daemon/agents/recorder.h"
#include "tests/unit/agents/fake_agent.h"

namespace filibuster::test {

inline const EventSource kTest{1, 11, "test"};
inline const EventSource kUsers{2, 12, "users"};
inline const EventSource kMovies{3, 13, "movies"};

class RecorderTest : public ::testing::Test {
 protected:
  void begin(uint32_t execution, const std::vector<PlannedRpcFault>& plan = {}) {
    execution_ = execution;
    recorder_.begin(execution, plan, recorder_.expand(plan), 1);
  }
  template <typename Event>
  void emit(const EventSource& source, EventType type, const Event& event) {
    emit(source, type, event, execution_);
  }
  template <typename Event>
  void emit(const EventSource& source, EventType type, const Event& event, uint32_t execution) {
    std::vector<uint8_t> bytes(kMaxEvent);
    const size_t size = encode(event, bytes.data(), bytes.size());
    const EventHead head{static_cast<uint16_t>(type), execution, ++now_};
    EXPECT_TRUE(recorder_.event(source, head, {bytes.data(), size}));
  }
  static uint64_t id(const EventSource& source, uint32_t number) {
    return uint64_t{source.agent} << 32 | number;
  }
  static RpcIssued rpc(uint64_t id, uint64_t parent, const Hash128& parent_path, uint64_t signature,
                       std::string_view service, std::string_view target) {
    RpcIssued event;
    event.rpc = id;
    event.parent_rpc = parent;
    event.parent_path = parent_path;
    event.signature = key(signature);
    event.count = 1;
    event.index = extend_path(parent_path, event.signature, 1, kIndexAll);
    event.service = service;
    event.method = "GET";
    event.target = target;
    event.stack_text = "F users.py:31 get_bookings\nF app.py:2 main";
    return event;
  }
  static PlannedRpcFault planned(const Hash128& index, std::string_view fault) {
    PlannedRpcFault out;
    out.index = index;
    out.fault = parse_fault(fault).value();
    return out;
  }
  // Of an RPC that the test causes by itself.
  static RpcFinalized finalization(uint64_t rpc_id, const Hash128& signature, uint32_t count = 1) {
    RpcFinalized event;
    event.rpc = rpc_id;
    event.signature = signature;
    event.index = extend_path({}, signature, count, kIndexAll);
    return event;
  }
  void receive(const EventSource& source, uint64_t rpc_id, uint16_t flags = 0) {
    RpcReceived event;
    event.rpc = rpc_id;
    event.flags = flags;
    emit(source, EventType::kRpcReceived, event);
  }
  // The test calls users, which receives it and calls movies for it.
  struct CallThroughUsers {
    RpcIssued cause, call;
  };
  CallThroughUsers call_through_users() {
    const RpcIssued cause = rpc(id(kTest, 1), 0, {}, 5, "users", "/users/1");
    emit(kTest, EventType::kRpcIssued, cause);
    receive(kUsers, cause.rpc);
    const RpcIssued call = rpc(id(kUsers, 1), cause.rpc, cause.index, 6, "movies", "/movies");
    emit(kUsers, EventType::kRpcIssued, call);
    return {cause, call};
  }
  void finish(const EventSource& source, uint64_t rpc_id, bool injected = false) {
    RpcFinished event;
    event.rpc = rpc_id;
    event.status = 200;
    event.injected = injected ? 1 : 0;
    emit(source, EventType::kRpcFinished, event);
  }
  void fire(const EventSource& source, uint64_t rpc_id, uint32_t entry,
            FaultHow how = FaultHow::kInjected) {
    FaultFired event;
    event.how = static_cast<uint8_t>(how);
    event.rpc = rpc_id;
    event.plan_entry = entry;
    emit(source, EventType::kFaultFired, event);
  }

  Recorder recorder_{kIndexAll};
  uint32_t execution_ = 0;
  uint64_t now_ = 100;
};

}  // namespace filibuster::test
