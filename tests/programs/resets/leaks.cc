// leaks HAZARD: a test that leaves something behind. Each execution asks FRONT, looks for what an earlier one has left ("LEAKED: ...",
// status 9), leaves it itself, and ends with 0, or with 3 if FRONT has answered neither 200 nor 503. What stands before the first
// connect(2) is done once if the test is forked or reset. A line of `seen` tells the process and how many executions its memory knows.
// Status 77: this machine does not have what the hazard needs.
#include "tests/programs/resets/hazard.h"

namespace {
int g_executions = 0;
}  // namespace

int main(int, char** arguments) {
  volatile int on_stack = 1;
  g_stack = &on_stack;
  Hazard* hazard = nullptr;
  for (const auto hazards :
       {memory_hazards, kernel_state_hazards, descriptor_hazards, process_hazards, end_hazards})
    for (const Entry& one : hazards())
      if (strcmp(one.name, arguments[1]) == 0) hazard = one.make();
  if (hazard == nullptr) fail(arguments[1]);
  leaks_has_ends = strcmp(arguments[1], "ends") == 0;
  hazard->prepare();
  const int status = ask(&g_error_of_connect);
  add_line("seen", std::to_string(getpid()) + " " + std::to_string(++g_executions));
  const std::string leaked = hazard->find();
  if (!leaked.empty()) {
    printf("LEAKED: %s\n", leaked.c_str());
    exit(9);
  }
  hazard->leave(status);
  exit(status == 200 || status == 503 ? 0 : 3);
}