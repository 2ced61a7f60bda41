// Programs: how they are generated, what makes them valid, and how they are shrunk.
#include <gtest/gtest.h>

#include <map>

#include "daemon/property/generator.h"
#include "daemon/property/shrinker.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

// The seed's web service: write V answers an index, and read takes one of those that writes have answered.
class Store final : public ProgramModel {
 public:
  Result<Json> initial() override { return Json(0); }
  bool only_reads(const std::string& f) const override { return f == "read"; }
  Result<std::vector<Choice>> commands(const Json& state) override {
    std::vector<Choice> out{{"write", {{"text", {{"max", 6}}}}, 2}};
    if (state.get<int>() > 0) out.push_back({"read", {{"result_of", "write"}}, 8});
    return out;
  }
  Result<bool> holds(const Json& state, const std::string& f, const Json&) override {
    return f == "write" || state.get<int>() > 0;
  }
  Result<Step> step(const Json& state, const std::string& f, const Json&,
                    const std::optional<Json>&) override {
    Step out;
    out.state = state.get<int>() + (f == "write" ? 1 : 0);
    return out;
  }
};

const std::vector<ArmableFault>& faults() {
  static const std::vector<ArmableFault> out = {
      {"Full", {"web", "queue", "POST", "/enqueue"}, parse_fault("status:507").value(), 1},
      {"Empty", {"", "queue", "", ""}, parse_fault("reset").value(), 3}};
  return out;
}

Program generated(uint64_t seed) {
  Store model;
  Random random(seed);
  auto program = generate(&model, faults(), {}, &random);
  EXPECT_TRUE(program) << (program ? "" : program.error().message);
  return program ? program.value() : Program();
}

TEST(PropertyPrograms, FollowFromTheirSeedAlone) {
  EXPECT_EQ(generated(1), generated(1));
  EXPECT_NE(generated(1), generated(2));
}

TEST(PropertyPrograms, AreValidAndHaveWhatTheirWeightsSay) {
  Store model;
  std::map<std::string, int> seen;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Program program = generated(seed);
    const auto valid = is_valid(program, &model);
    ASSERT_TRUE(valid && valid.value()) << seed;
    ASSERT_LE(program.items.size(), GeneratorOptions().most_items);
    for (const Item& item : program.items)
      ++seen[item.is_fault() ? faults()[*item.fault].name : item.f];
  }
  const int all = seen["Full"] + seen["Empty"] + seen["read"] + seen["write"];
  EXPECT_NEAR(seen["Full"] + seen["Empty"], 0.1 * all, 0.02 * all);
  EXPECT_NEAR(seen["Empty"], 3 * seen["Full"], seen["Full"]);
  EXPECT_GT(seen["read"], seen["write"]);
}

TEST(PropertyPrograms, ThatShowAllAreWholeAndHaveEachCommandAsOftenAsAnother) {
  Store model;
  std::map<std::string, int> seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const GeneratorOptions options{.fault_weight = 0, .request_weight = 1, .shows_all = true};
    const auto program = generate(&model, {}, options, &random);
    ASSERT_TRUE(program);
    ASSERT_EQ(program->items.size(), options.most_items) << seed;
    for (const Item& item : program->items) ++seen[item.f];
  }
  EXPECT_NEAR(seen["read"], seen["write"], 0.1 * seen["write"]);
}

TEST(PropertyPrograms, AReferenceNeedsItsCommandBeforeIt) {
  Store model;
  Item write, read;
  write.f = "write";
  write.value = "x";
  read.f = "read";
  read.value = {{"result", 0}};
  read.number = 1;
  EXPECT_TRUE(is_valid({{write, read}}, &model).value());
  EXPECT_FALSE(is_valid({{read, write}}, &model).value());
  read.value = {{"result", 7}};
  EXPECT_FALSE(is_valid({{write, read}}, &model).value());
  // References are found wherever they stand, and nothing else is one.
  EXPECT_EQ(
      results_in(Json::parse(
          R"([{"result": 3}, {"a": {"result": 4}}, {"result": 5, "b": 1}, {"result": "x"}])")),
      (std::vector<uint32_t>{3, 4}));
  EXPECT_EQ(with_results(Json::parse(R"({"a": [{"result": 1}]})"), {std::nullopt, Json(9)}),
            Json::parse(R"({"a": [9]})"));
  EXPECT_EQ(with_results(Json::parse(R"([{"result": 0}])"), {std::nullopt, Json(9)}), std::nullopt);
}

TEST(Values, AreThoseOfTheirGenerators) {
  Random random(5);
  const auto make = [&](const char* text) {
    const auto value = generate_value(Json::parse(text), {}, &random);
    return !value ? "error" : !value.value() ? "none" : value.value()->dump();
  };
  for (int i = 0; i < 200; ++i) {
    const auto value = generate_value(Json::parse(R"({"int": [-2, 2]})"), {}, &random);
    const auto number = value.value()->get<int64_t>();
    ASSERT_TRUE(number >= -2 && number <= 2);
    ASSERT_LE(generate_value(Json::parse(R"({"text": {"max": 3}})"), {}, &random)
                  .value()
                  ->get<std::string>()
                  .size(),
              9u);
  }
  EXPECT_EQ(make(R"({"int": [9223372036854775807, 9223372036854775807]})"), "9223372036854775807");
  EXPECT_NE(make(R"({"int": [-9223372036854775808, 9223372036854775807]})"), "error");
  EXPECT_EQ(make(R"({"one_of": [7]})"), "7");
  EXPECT_EQ(make(R"({"array": [1, {"value": {"int": 3}}]})"), R"([1,{"int":3}])");
  EXPECT_EQ(make(R"({"object": {"a": {"one_of": ["x"]}}})"), R"({"a":"x"})");
  EXPECT_EQ(make(R"({"result_of": "write"})"), "none");
  EXPECT_EQ(make(R"("plain")"), "\"plain\"");
  EXPECT_EQ(make(R"({"int": [2, 1]})"), "error");
  EXPECT_EQ(make(R"({"one_of": []})"), "error");
  EXPECT_EQ(make(R"({"text": 3})"), "error");
}

TEST(Values, AnObjectThatLooksLikeAMisspeltGeneratorIsNoConstant) {
  Random random(5);
  const auto make = [&](const char* text) {
    const auto value = generate_value(Json::parse(text), {}, &random);
    return value ? value.value()->dump() : value.error().message;
  };
  EXPECT_EQ(make(R"({"itn": [0, 9]})"),
            R"('{"itn":[0,9]}': there is no generator 'itn'; did you mean 'int'? )"
            R"(A constant is written {"value": {"itn":[0,9]}})");
  EXPECT_EQ(make(R"({"object": {"a": {"oneof": [1]}}})").find("'oneof'; did you mean 'one_of'?"),
            std::string("'{\"oneof\":[1]}': there is no generator ").size());
  for (const char* constant : {R"({"name":"x"})", R"({"id":7})", R"({"result":3})",
                               R"({"a":1,"itn":[0,9]})", R"({})", R"({"key":"a"})"})
    EXPECT_EQ(make(constant), constant);
  EXPECT_EQ(make(R"({"value": {"itn": [0, 9]}})"), R"({"itn":[0,9]})");
  EXPECT_EQ(make(R"({"one_of": [{"itn": 1}]})"), R"({"itn":1})");
}

TEST(Values, GetSmallerWithinTheirGenerator) {
  const auto smaller = [](const char* value, const char* generator) {
    return Json(smaller_values(Json::parse(value), Json::parse(generator))).dump();
  };
  EXPECT_EQ(smaller("9", R"({"int": [0, 9]})"), "[0,4,8]");
  EXPECT_EQ(smaller("9", R"({"int": [7, 9]})"), "[7,8]");
  EXPECT_EQ(smaller("-5", R"({"int": [-9, -4]})"), "[-4]");
  EXPECT_EQ(smaller("\"c\"", R"({"one_of": ["a", "b", "c", "d"]})"), R"(["a","b"])");
  EXPECT_EQ(smaller("\"bc\"", R"({"text": {"max": 3}})"), R"(["","b","aa"])");
  EXPECT_EQ(smaller(R"({"a": 1, "b": "y"})",
                    R"({"object": {"a": {"int": [0, 1]}, "b": {"one_of": ["x", "y"]}}})"),
            R"([{"a":0,"b":"y"},{"a":1,"b":"x"}])");
  EXPECT_EQ(smaller("[2, 5]", R"({"array": [{"int": [2, 3]}, 5]})"), "[]");
  EXPECT_EQ(smaller("[3, 5]", R"({"array": [{"int": [2, 3]}, 5]})"), "[[2,5]]");
  for (const char* constant : {R"({"value": 7})", R"({"result_of": "write"})", "7"})
    EXPECT_EQ(smaller("7", constant), "[]");
}

TEST(Shrinking, LeavesTheFaultAndTheWriteThatFail) {
  Store model;
  // Fails where a Full stands anywhere before a write.
  uint32_t executed = 0;
  const FailsAlike fails = [&](const Program& program) -> Result<std::optional<bool>> {
    ++executed;
    // Whatever is tried can be: each reference stands behind its command.
    EXPECT_TRUE(is_valid(program, &model).value());
    bool full = false;
    for (const Item& item : program.items) {
      full |= item.is_fault() && *item.fault == 0;
      if (full && item.f == "write") return std::optional(true);
    }
    return std::optional(false);
  };
  int failing = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Program program = generated(seed);
    if (!*fails(program).value()) continue;
    ++failing;
    executed = 0;
    const auto shrunk = shrink(program, &model, fails);
    ASSERT_TRUE(shrunk);
    ASSERT_EQ(shrunk->program.items.size(), 2u) << seed;
    EXPECT_EQ(shrunk->program.items[0].fault, 0u);
    EXPECT_EQ(shrunk->program.items[1].f, "write");
    EXPECT_EQ(shrunk->program.items[1].value, "");
    EXPECT_EQ(shrunk->executed, executed);
    EXPECT_TRUE(shrunk->finished);
  }
  EXPECT_GT(failing, 20);
}

TEST(Shrinking, DeletesAFaultTogetherWithTheCommandThatGotIt) {
  Store model;
  // Each read gets the fault before it, and without one it does something that hides the failure, as a fault that no read gets does.
  const FailsAlike fails = [](const Program& program) -> Result<std::optional<bool>> {
    int waiting = 0, writes = 0;
    for (const Item& item : program.items) {
      waiting += item.is_fault() ? 1 : item.f == "read" ? -1 : 0;
      writes += !item.is_fault() && item.f == "write" ? 1 : 0;
      if (waiting < 0) return std::optional(false);
    }
    return std::optional(waiting == 0 && writes > 0);
  };
  Item fault, write, read;
  fault.fault = 0;
  write.f = "write";
  read.f = "read";
  read.value = {{"result", 0}};
  read.number = 1;
  Item later = read;
  later.number = 2;
  for (const std::vector<Item>& items :
       {std::vector<Item>{write, fault, read}, std::vector<Item>{fault, write, read},
        std::vector<Item>{fault, fault, write, read, later},
        std::vector<Item>{write, fault, read, fault, later}}) {
    ASSERT_TRUE(*fails({items}).value());
    const auto shrunk = shrink({items}, &model, fails);
    ASSERT_TRUE(shrunk);
    ASSERT_EQ(shrunk->program.items.size(), 1u);
    EXPECT_EQ(shrunk->program.items[0].f, "write");
    EXPECT_TRUE(shrunk->finished);
  }
}

// The second write gets the fault, and one that gets it fails.
TEST(Shrinking, DeletesACommandBeforeTheOneThatGetsTheFault) {
  Store model;
  const FailsAlike fails = [](const Program& program) -> Result<std::optional<bool>> {
    uint32_t calls = 0;
    for (size_t i = 1; i < program.items.size(); ++i)
      calls += program.items[i].f == "write" ? 1 : 0;
    const bool is_armed = !program.items.empty() && program.items[0].is_fault();
    return std::optional(is_armed && calls > 0 && program.items[0].occurrence == calls);
  };
  Item fault, write;
  fault.fault = 0;
  fault.occurrence = 3;
  write.f = "write";
  const auto shrunk = shrink({{fault, write, write, write}}, &model, fails);
  ASSERT_TRUE(shrunk);
  ASSERT_EQ(shrunk->program.items.size(), 2u);
  EXPECT_EQ(shrunk->program.items[0].occurrence, 1u);
}

TEST(Shrinking, StopsWhereItIsTold) {
  Store model;
  const FailsAlike stop = [](const Program&) -> Result<std::optional<bool>> {
    return std::optional<bool>();
  };
  Program program = generated(3);
  const auto shrunk = shrink(program, &model, stop);
  ASSERT_TRUE(shrunk);
  EXPECT_FALSE(shrunk->finished);
  EXPECT_EQ(shrunk->program, program);
  EXPECT_EQ(shrunk->executed, 0u);
}

TEST(Shrinking, ValuesGetSmaller) {
  EXPECT_EQ(smaller_values(9), (std::vector<Json>{0, 4, 8}));
  EXPECT_EQ(smaller_values(-3), (std::vector<Json>{0, -1, -2}));
  EXPECT_TRUE(smaller_values(0).empty());
  EXPECT_EQ(smaller_values("b\u00e9c"), (std::vector<Json>{"", "b", "b\u00e9", "aaa"}));
  EXPECT_TRUE(smaller_values("").empty());
  EXPECT_TRUE(smaller_values(Json{{"result", 3}}).empty());
  EXPECT_EQ(smaller_values(Json::array({1, true})), (std::vector<Json>{Json::array({0, true})}));
}

}  // namespace
}  // namespace filibuster::property
