// What principled testing has shown of one test: for the documents and the texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/principled/diagnostic.h"
#include "daemon/verbs/principled/observed.h"

namespace filibuster {

struct PrincipledBlock {
  std::string name;  // "execute"
  bool passed = true;
  double seconds = 0;
  // The calls that began in it, "test -> order shop.OrderService/PlaceOrder", with how they ended and the fault they got.
  struct Row {
    std::string call, ending, fault, arguments, group;
    uint32_t depth = 0;  // 0: made by the test
  };
  std::vector<Row> calls;
};

struct PrincipledExecution {
  uint32_t number = 0;
  std::string name;  // "without faults", "shop.UserService/GetUser: grpc:UNAVAILABLE"
  std::vector<principled::FaultedCall> faults;
  principled::Thrown outcome;
  std::vector<PrincipledBlock> blocks;
  std::optional<principled::Diagnostic> diagnostic;  // nullopt: all that is stated holds
  double seconds = 0;
  bool ahead = false;  // run only to know which statements can be offered
};

// A method of the service under test, and what called it.
struct CoveredMethod {
  std::string service, method;
  uint64_t executions = 0;            // that called it
  std::vector<std::string> outcomes;  // "a success", "UNAVAILABLE"
};

struct PrincipledTest {
  std::string test;
  std::string form;     // principled::Program::form()
  std::string service;  // under test
  std::vector<PrincipledExecution> executions;
  std::vector<principled::Diagnostic> diagnostics;  // beside those of executions
  std::vector<CoveredMethod> methods;
  std::vector<std::string> notes;
  uint64_t left = 0;       // executions that were not run since a diagnostic stopped the test
  bool finished = false;   // all faults were tried
  bool time_over = false;  // an execution was not begun for that
  std::string error;       // why it could not go on
  bool passed() const;
  uint64_t judged() const;        // executions that were not run ahead
  std::string not_begun() const;  // what was not begun since the time was over; "": nothing
};

// The line above what can be written; "": nothing can.
std::string advice_of(const principled::Diagnostic& diagnostic);

// The diagnostic for a person: what happened, where, whether it is a bug, and what to write otherwise.
std::string diagnostic_text(const principled::Diagnostic& diagnostic);

}  // namespace filibuster
