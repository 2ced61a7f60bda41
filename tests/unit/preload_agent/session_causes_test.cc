// What a process files its calls under: fields of others and of itself, open requests, bodies that come later.
#include <cstdlib>
#include <fstream>

#include "preload/rpc/causality.h"
#include "tests/unit/preload_agent/session_fixture.h"

namespace filibuster::test::session {
namespace {

void meets_fields_of_others() {
  const RpcContext own = own_context();
  check(call_movies("/movies/1", {}, field_of(own)).parent_path == own.path, "a control");
  RpcContext others[3] = {own, own, own};
  ++others[0].session;
  ++others[1].lane;
  ++others[2].execution;  // one to come
  for (const RpcContext& other : others) {
    const std::string field = field_of(other);
    const pl::RequestHead head = get("/bookings/1", field);
    pl::Incoming* incoming = receive(head);
    check(incoming != nullptr && incoming->entry, "served as a request without a field");
    pl::incoming_end(incoming, 200);
    RuntimeField of_helper;
    of_helper.cause_known = of_helper.has_cause = true;
    of_helper.cause = other;
    std::string carried(kRuntimeValueSize, '\0');
    encode_runtime_value(of_helper, carried.data());
    for (const std::string& forwarded : {field, carried}) {
      pl::OutgoingCall call = call_movies("/movies/2", {}, forwarded);
      check(call.active && call.parent_path != other.path, "no proof of a cause");
      check(call.overwrite_header, "overruled");
      answer(&call);
    }
  }
}

void forged_fields_are_ignored() {
  const pl::RequestHead head = get("/bookings/1", "1-damaged");
  pl::Incoming* incoming = receive(head);
  check(incoming != nullptr, "it is served as a request without a field");
  pl::incoming_end(incoming, 200);
}

// As many as the environment says, by an event loop; then one call.
void calls_while_some_are_open() {
  std::vector<pl::Incoming*> open;
  const pl::RequestHead head = get("/bookings/1");
  const int number = std::atoi(std::getenv("FILIBUSTER_TEST_OPEN"));
  check(pl::attached(), "a session");
  while (open.size() < static_cast<size_t>(number)) open.push_back(receive(head, true));
  pl::OutgoingCall call = call_movies("/movies/1");
  answer(&call);
  for (pl::Incoming* incoming : open) pl::incoming_end(incoming, 200);
}

void forwards_the_field() {
  const pl::RequestHead head = get("/bookings/1");
  pl::Incoming* incoming = receive(head, true);
  pl::OutgoingCall first = call_movies("/movies/1");
  pl::OutgoingCall second = call_movies("/movies/2", {}, header_value(first));
  check(second.overwrite_header && !second.insert_header, "its value is replaced in place");
  check(second.parent_path == first.index, "it proves its cause");
  answer(&second);
  answer(&first);
  pl::incoming_end(incoming, 200);
}

void calls_between_executions() {
  check(pl::attached() && !pl::executing(), "a session, no execution");
  pl::OutgoingCall call = call_movies("/movies/1");
  check(!call.active && call.insert_header, "no RPC of an execution, and it says so");
  check(!call_movies("/movies/1", {}, header_value(call)).insert_header, "one field is enough");
  std::ofstream(carrier()) << header_value(call);
}

void receives_what_was_sent_before() {
  std::string value;
  std::getline(std::ifstream(carrier()), value);
  const pl::RequestHead head = get("/movies/1", value);
  pl::Incoming* incoming = receive(head);
  check(incoming != nullptr && incoming->late && !incoming->entry, "no entry of this execution");
  pl::OutgoingCall call = call_movies("/movies/2");
  check(call.active && (call.flags & kRpcLate) != 0 && !call.faulted, "nor what it causes");
  answer(&call);
  pl::incoming_end(incoming, 200);
}

pl::RequestHead post_of_five_bytes(const char* target) {
  pl::RequestHead head = get(target);
  head.method = "POST";
  head.has_body = true;
  head.body_size = 5;
  return head;
}

void body_comes_later() {
  const pl::RequestHead head = post_of_five_bytes("/bookings");
  pl::Incoming* incoming = receive(head);
  pl::incoming_body_complete(incoming, hash_text("hello"), 5);
  pl::OutgoingInfo info;
  info.head = &head;
  info.body_complete = false;
  info.peer = "10.0.0.1:80";
  pl::OutgoingCall call;
  pl::outgoing_begin(info, &call);
  check((call.flags & kRpcPreliminary) != 0 && !call.insert_header, "preliminary, a third party");
  const Hash128 before = call.index;
  pl::outgoing_body_complete(&call, hash_text("hello"));
  check(call.index != before, "the payload takes part");
  answer(&call);
  pl::incoming_end(incoming, 201);
}

void calls_before_and_after_its_body() {
  const pl::RequestHead head = post_of_five_bytes("/bookings");
  pl::Incoming* incoming = receive(head);
  for (const bool body_is_there : {false, true}) {
    if (body_is_there) pl::incoming_body_complete(incoming, hash_text("hello"), 5);
    pl::OutgoingCall call = call_movies("/movies/1");
    check(call.active && call.count == (body_is_there ? 2 : 1), "counted under one request");
    answer(&call);
  }
  pl::incoming_end(incoming, 201);
}

constexpr Scenario kCauseScenarios[] = {
    {"meets_fields_of_others", meets_fields_of_others},
    {"forged_fields_are_ignored", forged_fields_are_ignored},
    {"calls_while_some_are_open", calls_while_some_are_open},
    {"forwards_the_field", forwards_the_field},
    {"calls_between_executions", calls_between_executions},
    {"receives_what_was_sent_before", receives_what_was_sent_before},
    {"body_comes_later", body_comes_later},
    {"calls_before_and_after_its_body", calls_before_and_after_its_body},
};
__attribute__((init_priority(200))) const Scenarios g_cause_scenarios(kCauseScenarios);

TEST_F(Session, ADamagedFieldIsSaidAndIgnored) {
  const ExecutionRecord record = execute("forged_fields_are_ignored");
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(record.rpcs[0].cause, Cause::kEntry);
  ASSERT_EQ(record.notes.size(), 1u);
  EXPECT_NE(record.notes[0].find("damaged"), std::string::npos);
  EXPECT_EQ(record.damaged_fields, 1u);
  EXPECT_EQ(execute("reports_its_listeners").damaged_fields, 0u) << "of the execution before";
}

TEST_F(Session, AFieldOfAnotherSessionOrLaneOrOfAnExecutionToComeIsDamaged) {
  const ExecutionRecord record = execute("meets_fields_of_others");
  EXPECT_EQ(record.damaged_fields, 9u);
}

TEST_F(Session, AForwardedFieldProvesTheCause) {
  const ExecutionRecord record = execute("forwards_the_field");
  const RpcRecord* first = find(record, "/movies/1");
  const RpcRecord* second = find(record, "/movies/2");
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(first->cause, Cause::kOnlyActive) << "an event loop: the thread proves nothing";
  EXPECT_EQ(second->cause, Cause::kHeader);
  EXPECT_EQ(second->parent_rpc, first->rpc);
}

TEST_F(Session, ConcurrencyUnderAFaultDoesNotBarACallSiteForTheSession) {
  const auto cause_with = [this](const char* open, bool faults) {
    PlannedRpcFault elsewhere;
    elsewhere.index = key(1);
    elsewhere.fault = parse_fault("status:503").value();
    ::setenv("FILIBUSTER_TEST_OPEN", open, 1);
    const ExecutionRecord record = execute("calls_while_some_are_open",
                                           std::vector<PlannedRpcFault>(faults ? 1 : 0, elsewhere));
    const RpcRecord* call = find(record, "/movies/1");
    return call == nullptr ? Cause::kHeader : call->cause;
  };
  EXPECT_EQ(cause_with("1", false), Cause::kOnlyActive);
  EXPECT_EQ(cause_with("2", true), Cause::kNone);
  EXPECT_EQ(cause_with("1", true), Cause::kOnlyActive);
  EXPECT_EQ(cause_with("2", false), Cause::kNone);
  EXPECT_EQ(cause_with("1", true), Cause::kNone) << "seen so without a fault";
}

TEST_F(Session, WhatWasSentBetweenExecutionsIsOfNone) {
  const std::string file = scratch_.path() + "/carrier";
  ASSERT_EQ(::setenv("FILIBUSTER_TEST_CARRIER", file.c_str(), 1), 0);
  EXPECT_EQ(run("calls_between_executions", hub_->address(), "users"), 0);
  const ExecutionRecord record = execute("receives_what_was_sent_before");
  EXPECT_TRUE(record.rpcs.empty());
  EXPECT_EQ(record.late_calls.size(), 1u);
  EXPECT_EQ(record.late.size(), 1u);
  // Also before the first, and after several.
  for (int i = 0; i < 2; ++i) execute("serves_one_request");
  EXPECT_EQ(run("calls_between_executions", hub_->address(), "users"), 0);
  EXPECT_TRUE(execute("receives_what_was_sent_before").rpcs.empty());
}

TEST_F(Session, APreliminaryIndexIsFinalised) {
  const ExecutionRecord record = execute("body_comes_later");
  ASSERT_EQ(record.rpcs.size(), 2u);
  for (const RpcRecord& rpc : record.rpcs) EXPECT_EQ(rpc.flags & kRpcPreliminary, 0);
  EXPECT_EQ(record.rpcs[1].parent, record.rpcs[0].index);
}

TEST_F(Session, CallsBeforeAndAfterTheBodyOfAnEntryHaveIndexesOfTheirOwn) {
  const ExecutionRecord record = execute("calls_before_and_after_its_body");
  ASSERT_EQ(record.rpcs.size(), 3u);
  EXPECT_EQ(record.rpcs[1].parent, record.rpcs[0].index);
  EXPECT_EQ(record.rpcs[2].parent, record.rpcs[0].index);
  EXPECT_NE(record.rpcs[1].index, record.rpcs[2].index);
}

}  // namespace
}  // namespace filibuster::test::session
