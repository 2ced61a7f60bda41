// Programs in counterexamples: what was written is read again, and what is none is refused with its place.
#include "daemon/property/program_json.h"

#include <gtest/gtest.h>

namespace filibuster::property {
namespace {

using OrderedJson = nlohmann::ordered_json;

TEST(ProgramJson, WhatIsWrittenIsReadAgain) {
  const std::vector<ArmableFault> faults = {
      {"Full", {"web", "queue", "POST", "/enqueue"}, parse_fault("status:507").value()},
      {"Slow", {"", "queue", "", ""}, parse_fault("latency:200ms").value()}};
  Program program;
  for (const size_t fault : {size_t{1}, size_t{0}}) {
    Item item;
    item.fault = fault;
    item.occurrence = fault == 0 ? 3 : 1;
    item.lasts = fault == 0 ? 0 : 2;
    program.items.push_back(item);
  }
  for (uint32_t number = 0; number < 2; ++number) {
    Item item;
    item.f = "write";
    item.number = number;
    item.value = {{"text", "\u00e9"}, {"of", {{"result", 0}}}};
    item.parallel = number == 1;
    program.items.push_back(item);
  }
  program.holds = {{0, {"web", "queue", "POST", "/enqueue"}, 2, 1},
                   {1, {"web", "queue", "POST", "/enqueue"}, 1, 0}};
  const auto read = read_program(program_json(program, faults), holds_json(program.holds));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(program_json(read->program, read->faults), program_json(program, faults));
  EXPECT_EQ(read->program.holds, program.holds);
  EXPECT_EQ(read->program.items[2].value, program.items[2].value);
  EXPECT_EQ(read->faults.size(), 2u);
}

std::string problem(const char* program, const char* holds = "[]") {
  const auto read = read_program(OrderedJson::parse(program), OrderedJson::parse(holds));
  return read ? "" : read.error().message;
}

TEST(ProgramJson, WhatIsNoneIsRefusedWithItsPlace) {
  EXPECT_EQ(problem("[]"), "");
  EXPECT_EQ(problem(R"([{"do": "w", "value": null, "number": 0}])"), "");
  for (
      const auto& [program, said] : std::vector<std::pair<const char*, const char*>>{
          {"{}", "program: expected a list"},
          {"[3]", "program: expected a list"},
          {R"([{"value": 1, "number": 0}])", "program[0].do: expected a text"},
          {R"([{"do": "w", "number": 0}])", "program[0].value: expected a value"},
          {R"([{"do": "w", "value": 1, "number": -1}])", "program[0].number: expected a number"},
          {R"([{"do": "w", "value": 1, "number": 4000000000}])", "program[0].number: expected"},
          {R"([{"do": "w", "value": 1, "number": 0, "parallel": true}])",
           "program[0].parallel: expected a command before it"},
          {R"([{"do": "w", "value": 1, "number": 0}, {"do": "w", "value": 1, "number": 0}])",
           "program[1].number: expected one that no other command has"},
          {R"([{"arm": "x", "fault": "nonsense", "caller": "", "service": "s", "method": "", "path": "", "occurrence": 1}])",
           "program[0].fault: expected"},
          {R"([{"arm": "x", "fault": "reset", "caller": "", "service": "", "method": "", "path": "", "occurrence": 1}])",
           "program[0].service: expected the name of a service"},
          {R"([{"arm": "x", "fault": "reset", "caller": "", "service": "s", "method": "", "path": "", "occurrence": 0}])",
           "program[0].occurrence: expected a number from 1"}}) {
    EXPECT_TRUE(problem(program).starts_with(said)) << program << ": " << problem(program);
  }
  const char* const two =
      R"([{"do": "w", "value": 1, "number": 0}, {"do": "w", "value": 1, "number": 1}])";
  const char* const hold =
      R"([{"command": 0, "caller": "a", "service": "b", "method": "", "path": "", "occurrence": 1, "until": 1}])";
  EXPECT_TRUE(problem(two, hold).starts_with("holds: expected two commands of one block"));
  EXPECT_TRUE(problem(two, "[{}]").starts_with("holds[0].command: expected a number"));
}

}  // namespace
}  // namespace filibuster::property
