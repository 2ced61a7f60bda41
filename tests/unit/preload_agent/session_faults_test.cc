// Faults that are planned, in a process of its own: with the request, at the connect, and not for what is late.
#include <cstdlib>
#include <fstream>

#include "preload/rpc/causality.h"
#include "tests/unit/preload_agent/session_fixture.h"

namespace filibuster::test::session {
namespace {

// The fault that is planned for GET /movies/1 by index; prints what it got.
void meets_a_fault() {
  const pl::RequestHead head = get("/bookings/1?x=2");
  pl::Incoming* incoming = receive(head);
  pl::OutgoingCall call = call_movies("/movies/1");
  check(call.faulted, "the plan holds its fault");
  char response[512];
  const size_t size = pl::plan_blob(call.plan, false, response, sizeof response);
  check(size > 12 && std::string_view(response, size).starts_with("HTTP/1.1 503"), "its response");
  pl::report_fault(call, FaultHow::kInjected, "");
  RpcFinished finished;
  finished.status = 503;
  finished.injected = 1;
  pl::outgoing_end(&call, finished);
  pl::incoming_end(incoming, 500);
}

void connects_then_calls() {
  const pl::RequestHead head = get("/bookings/1");
  pl::Incoming* incoming = receive(head);
  const sockaddr_in to = address_of(kMoviesPort);
  for (int i = 0; i < 2; ++i) {
    const pl::ConnectDecision decision = pl::connect_begin(generic(to), sizeof to);
    check(!decision.name.key.is_zero(), "the connect has a name");
    if (decision.refuse) continue;
    pl::connect_result(decision, generic(to), sizeof to, 0);
    pl::OutgoingCall call = call_movies("/movies/1", decision.name);
    answer(&call);
    break;
  }
  pl::incoming_end(incoming, 200);
}

// 127.0.0.2 is an address of the same name: it shares the refusal.
void tries_two_addresses() {
  const pl::RequestHead head = get("/bookings/1");
  pl::Incoming* incoming = receive(head);
  const sockaddr_in first = address_of(kMoviesPort);
  const sockaddr_in second = address_of(kMoviesPort, INADDR_LOOPBACK + 1);
  const pl::ConnectDecision one = pl::connect_begin(generic(first), sizeof first);
  const pl::ConnectDecision two = pl::connect_begin(generic(second), sizeof second);
  check(one.name.group == two.name.group && one.refuse == two.refuse, "both tries are one connect");
  pl::incoming_end(incoming, 200);
}

// Of the execution before, or of this one; planned or not.
void serves_what_is_late() {
  const bool late = std::getenv("FILIBUSTER_TEST_LATE") != nullptr;
  RpcContext context = own_context();
  if (late) --context.execution;
  const std::string field = field_of(context);
  const pl::RequestHead head = get("/bookings/1", field);
  pl::Incoming* incoming = receive(head);
  check(incoming != nullptr && incoming->late == late, "it says of which execution it is");
  const sockaddr_in to = address_of(kMoviesPort);
  const pl::ConnectDecision decision = pl::connect_begin(generic(to), sizeof to);
  check(decision.name.key.is_zero() == late, "nor is a refusal planned for it");
  pl::OutgoingCall call = call_movies("/movies/1");
  check(call.parent_path == context.path, "its cause");
  if (call.faulted) pl::report_fault(call, FaultHow::kInjected, "");
  std::ofstream(carrier()) << (call.faulted ? "faulted " : "passed ") << to_hex(call.index);
  answer(&call);
  pl::incoming_end(incoming, 200);
}

// Twice from one place; a connection is opened before the one of that number.
void opens_a_connection_for_one_of_two() {
  const int opens = std::atoi(std::getenv("FILIBUSTER_TEST_OPEN"));
  const pl::RequestHead head = get("/bookings/1");
  pl::Incoming* incoming = receive(head);
  const sockaddr_in to = address_of(kMoviesPort);
  for (int n = 1; n <= 2; ++n) {
    pl::ConnectDecision decision;
    if (n == opens) decision = pl::connect_begin(generic(to), sizeof to);
    if (decision.refuse) continue;
    pl::OutgoingCall call = call_movies("/movies/1", decision.name);
    if (call.faulted) pl::report_fault(call, FaultHow::kInjected, "");
    answer(&call);
  }
  pl::incoming_end(incoming, 200);
}

constexpr Scenario kFaultScenarios[] = {
    {"meets_a_fault", meets_a_fault},
    {"connects_then_calls", connects_then_calls},
    {"tries_two_addresses", tries_two_addresses},
    {"serves_what_is_late", serves_what_is_late},
    {"opens_a_connection_for_one_of_two", opens_a_connection_for_one_of_two},
};
__attribute__((init_priority(200))) const Scenarios g_fault_scenarios(kFaultScenarios);

TEST_F(Session, APlannedFaultMeetsItsRpc) {
  PlannedRpcFault none;
  none.index = key(1);
  none.fault = parse_fault("status:503").value();
  ASSERT_TRUE(hub_->begin_execution(++execution_, {none}).ok());
  // Its checks do not hold, which it also prints.
  EXPECT_GT(run("meets_a_fault", hub_->address(), "users"), 0) << "planned for another RPC";
  ASSERT_TRUE(hub_->wait_quiescent(milliseconds(5000)));
  const ExecutionRecord seen = hub_->end_execution();
  const RpcRecord* call = find(seen, "/movies/1");
  ASSERT_NE(call, nullptr);

  PlannedRpcFault planned = none;
  planned.index = call->index;
  const ExecutionRecord record = execute("meets_a_fault", {planned});
  EXPECT_TRUE(record.not_injected.empty());
  const RpcRecord* faulted = find(record, "/movies/1");
  ASSERT_NE(faulted, nullptr);
  EXPECT_TRUE(faulted->injected);
}

PlannedRpcFault refusal_of(const RpcRecord& rpc) {
  PlannedRpcFault planned;
  planned.index = rpc.index;
  planned.fault = parse_fault("refused").value();
  planned.connect_key = rpc.connect_key;
  planned.stack = rpc.stack;
  planned.service = rpc.service;
  planned.number = rpc.number;
  planned.service_number = rpc.service_number;
  planned.signature = rpc.signature;
  planned.parent = rpc.parent;
  planned.count = rpc.count;
  return planned;
}

TEST_F(Session, ARefusalIsInjectedAtTheConnectAndTheRetryIsTheNextInvocation) {
  const ExecutionRecord reference = execute("connects_then_calls");
  const RpcRecord* call = find(reference, "/movies/1");
  ASSERT_NE(call, nullptr);
  ASSERT_FALSE(call->connect_key.is_zero());
  const ExecutionRecord record = execute("connects_then_calls", {refusal_of(*call)});
  EXPECT_TRUE(record.not_injected.empty());
  ASSERT_EQ(record.rpcs.size(), 3u);  // entry, refused, retry
  const RpcRecord& refused = record.rpcs[1];
  EXPECT_TRUE(refused.injected);
  EXPECT_EQ(refused.index, call->index);
  EXPECT_EQ(refused.outcome, RpcOutcome::kRefused);
  EXPECT_EQ(refused.parent, call->parent);
  EXPECT_EQ(record.rpcs[2].count, 2u);
  EXPECT_NE(record.rpcs[2].index, call->index);
}

TEST_F(Session, AConnectIsRefusedOnlyWhereThePlannedRpcIsTheNextOfItsKind) {
  const auto refused_at_connect = [](const ExecutionRecord& record) {
    std::vector<uint32_t> counts;
    for (const RpcRecord& rpc : record.rpcs) {
      if ((rpc.flags & kRpcRefusedAtConnect) != 0) counts.push_back(rpc.count);
    }
    return counts;
  };
  ::setenv("FILIBUSTER_TEST_OPEN", "2", 1);
  const ExecutionRecord reference = execute("opens_a_connection_for_one_of_two");
  ASSERT_EQ(reference.rpcs.size(), 3u);
  const RpcRecord& second = reference.rpcs[2];
  ASSERT_EQ(second.count, 2u);
  ASSERT_FALSE(second.connect_key.is_zero());
  const std::vector<PlannedRpcFault> plan{refusal_of(second)};
  EXPECT_EQ(refused_at_connect(execute("opens_a_connection_for_one_of_two", plan)),
            (std::vector<uint32_t>{2}));
  // A pool that is cold this time: the same connect is the first one's.
  ::setenv("FILIBUSTER_TEST_OPEN", "1", 1);
  const ExecutionRecord other = execute("opens_a_connection_for_one_of_two", plan);
  EXPECT_TRUE(refused_at_connect(other).empty());
  ASSERT_EQ(other.rpcs.size(), 3u);
  EXPECT_FALSE(other.rpcs[1].injected);
  EXPECT_TRUE(other.rpcs[2].injected) << "with its request then";
}

TEST_F(Session, AddressesOfOneNameAreOneConnect) {
  execute("tries_two_addresses");
}

TEST_F(Session, ThePlanIsNotForWhatIsLate) {
  const std::string file = scratch_.path() + "/carrier";
  ASSERT_EQ(::setenv("FILIBUSTER_TEST_CARRIER", file.c_str(), 1), 0);
  const auto outcome = [&](const std::vector<PlannedRpcFault>& plan) {
    execute("serves_what_is_late", plan);
    std::string line;
    std::getline(std::ifstream(file), line);
    return line;
  };
  const ExecutionRecord reference = execute("serves_what_is_late");
  const RpcRecord* call = find(reference, "/movies/1");
  ASSERT_NE(call, nullptr);
  PlannedRpcFault planned;
  planned.index = call->index;
  planned.fault = parse_fault("status:503").value();
  const std::string met = outcome({planned});
  ASSERT_TRUE(met.starts_with("faulted ")) << met;
  execute("reports_its_listeners");  // in which nothing was counted
  ASSERT_EQ(::setenv("FILIBUSTER_TEST_LATE", "1", 1), 0);
  EXPECT_EQ(outcome({planned}), "passed " + met.substr(8)) << "the same one, of the one before";
  ::unsetenv("FILIBUSTER_TEST_LATE");
}

}  // namespace
}  // namespace filibuster::test::session
