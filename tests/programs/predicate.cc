// Asks a question of cli/c/filibuster_predicates.h: predicate SERVICE prints "yes" or "no".
#include <cstdio>
#include <exception>

#include "cli/c/filibuster_predicates.h"

int main(int, char** arguments) {
  try {
    filibuster_question question{};
    question.service = arguments[1];
    std::puts(filibuster::was_fault_injected(question) ? "yes" : "no");
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
