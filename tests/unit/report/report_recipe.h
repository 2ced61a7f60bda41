// Failing executions and the report of a session, as the tests write them down.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/fault/fault.h"
#include "core/hash.h"
#include "daemon/model/finding.h"
#include "daemon/model/session_report.h"

namespace filibuster::test {

inline InjectedFault fault(uint64_t index, const std::string& text) {
  InjectedFault out;
  out.index = Hash128{1, index};
  out.fault = text;
  out.caller = "users";
  out.service = "bookings";
  out.method = "GET";
  out.path = "/users/x/bookings?token=s3cret";
  out.call_site = "users.py:31 (get_bookings)";
  out.stack = {"users.py:31 (get_bookings)", "users.py:12 (main)"};
  out.service_path = {"test", "users", "bookings"};
  out.count = 2;
  out.connect_key = Hash128{2, 2};
  out.signature = Hash128{3, 3};
  out.parent = Hash128{4, 4};
  return out;
}

inline Execution execution(uint32_t number, std::vector<InjectedFault> faults) {
  Execution out;
  out.test = "bookings";
  out.number = number;
  out.id = number;
  out.faults = std::move(faults);
  out.verdict = Verdict::kFailed;
  out.detail = "exit status 1";
  out.output = "asserting\nAssertionError: 500 != 200\n";
  return out;
}

inline SessionReport report() {
  TestReport test;
  test.test = "bookings";
  test.finished = true;
  test.counts.executed = 27;
  test.counts.redundant = 46;
  test.seconds = 3.25;
  test.reference_seconds = 0.04;
  test.median_execution_seconds = 0.041;
  test.search_seconds = {0.002, 0.001};
  test.store_seconds = 0.003;
  test.fault_configuration = {"bookings: refused, status:503"};
  test.default_faults = true;
  test.findings = group_failures({execution(4, {fault(1, "status:503")})});
  test.findings[0].reproduced = true;
  test.findings[0].counterexample = ".filibuster/counterexamples/1.json";
  test.skipped = {{"execution {users -> bookings: refused}", "plan not met"}};
  test.dependencies_not_tested = {{"users", "127.0.0.1:5432", "postgres", "udp", true, 3}};
  test.without_cause = {"users -> metrics POST /push: its cause is not known"};
  test.notes = {"reduction (ESR) was off"};
  RpcRecord rpc;
  rpc.rpc = 1;
  rpc.service = "users";
  rpc.target = "/users/x?password=p";
  rpc.response_sample = "{\"access_token\": \"abc\"}";
  test.reference = {rpc};
  return {"s1", "filibuster.json", {test}, false, 1};
}

inline InjectedFault grpc_fault(const char* text, const char* message) {
  InjectedFault out = fault(1, "");
  FaultSpec spec = parse_fault(text).value();
  spec.message = message;
  out.set_fault(spec);
  out.caller = "order", out.service = "cart", out.method = "POST";
  out.path = "/shop.CartService/GetCart";
  out.protocol = Protocol::kGrpc;
  return out;
}

inline InjectedFault redis_fault(const char* text, const char* message = "") {
  InjectedFault out = fault(1, "");
  FaultSpec spec = parse_fault(text).value();
  spec.message = message;
  out.set_fault(spec);
  out.service = "cache", out.path = "user:*";
  out.protocol = Protocol::kRedis;
  return out;
}

}  // namespace filibuster::test
