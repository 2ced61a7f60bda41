// Which preemptions of commands at the same time are tried.
#include "daemon/property/schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "daemon/property/generator.h"
#include "daemon/property/shrinker.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

CallOfCommand get(const std::string& path, const std::string& service = "accounts") {
  return {{"teller", service, "GET", path}, path, false};
}

CallOfCommand put(const std::string& path, const std::string& service = "accounts") {
  return {{"teller", service, "PUT", path}, path, true};
}

std::string text_of(const Hold& hold) {
  return std::to_string(hold.command) + " stops before " + hold.edge.method + " " + hold.edge.path +
         " #" + std::to_string(hold.occurrence) + " until " + std::to_string(hold.until);
}

std::vector<std::string> texts_of(const std::vector<Hold>& holds) {
  std::vector<std::string> out;
  for (const Hold& each : holds) out.push_back(text_of(each));
  return out;
}

TEST(Preemptions, AreThoseBetweenTwoConflicts) {
  // A lost update: one has read, the other one does all, and the first one writes.
  const std::vector<CommandCalls> both = {{3, {get("/a"), put("/a")}}, {5, {get("/a"), put("/a")}}};
  EXPECT_EQ(texts_of(preemptions(both)),
            (std::vector<std::string>{"3 stops before PUT /a #1 until 5",
                                      "5 stops before PUT /a #1 until 3"}));
  // Nothing conflicts before the write, or behind it.
  EXPECT_TRUE(preemptions({{0, {get("/a"), put("/b")}}, {1, {get("/a")}}}).empty());
  // Reads alone never do, nor do calls of different services.
  EXPECT_TRUE(preemptions({{0, {get("/a"), get("/a")}}, {1, {get("/a")}}}).empty());
  EXPECT_TRUE(preemptions({{0, {put("/a", "x"), put("/a", "x")}}, {1, {put("/a", "y")}}}).empty());
  // Half of a transfer is seen.
  EXPECT_EQ(texts_of(preemptions({{0, {put("/a"), put("/b")}}, {1, {get("/a"), get("/b")}}})),
            (std::vector<std::string>{"0 stops before PUT /b #1 until 1",
                                      "1 stops before GET /b #1 until 0"}));
}

TEST(Preemptions, CountTheCallsOfAnEdge) {
  EXPECT_EQ(texts_of(preemptions({{0, {get("/a"), get("/a"), put("/a")}}, {1, {put("/a")}}})),
            (std::vector<std::string>{"0 stops before GET /a #2 until 1",
                                      "0 stops before PUT /a #1 until 1"}));
}

TEST(Preemptions, GoByTheServiceWhereNoPathConflicts) {
  EXPECT_EQ(texts_of(preemptions({{0, {get("/front"), put("/pop")}}, {1, {put("/push")}}})),
            (std::vector<std::string>{"0 stops before PUT /pop #1 until 1"}));
}

TEST(Schedules, HaveTheirBound) {
  const std::vector<std::vector<CommandCalls>> blocks = {
      {{0, {get("/a"), put("/a")}}}, {{1, {get("/a"), put("/a")}}, {2, {get("/a"), put("/a")}}}};
  Random random(1);
  EXPECT_TRUE(schedules(blocks, 0, &random).empty());
  EXPECT_EQ(schedules(blocks, 1, &random).size(), 2u);
  const auto all = schedules(blocks, 2, &random);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].size(), 1u);
  EXPECT_EQ(all[1].size(), 1u);
  for (const auto& twice : {all[2], all[3]}) {
    ASSERT_EQ(twice.size(), 2u);
    EXPECT_EQ(twice[0].until, twice[1].command);
    EXPECT_EQ(twice[1].until, twice[0].command);
  }
}

// A lock: each command takes or gives it back, and may do so only where it can.
class Lock final : public ProgramModel {
 public:
  Result<Json> initial() override { return Json(0); }
  bool only_reads(const std::string& f) const override { return f == "look"; }
  Result<std::vector<Choice>> commands(const Json&) override {
    return std::vector<Choice>{{"take", Json(), 1}, {"give", Json(), 1}, {"look", Json(), 1}};
  }
  Result<bool> holds(const Json& state, const std::string& f, const Json&) override {
    return f == "look" || (f == "take") == (state == 0);
  }
  Result<Step> step(const Json& state, const std::string& f, const Json&,
                    const std::optional<Json>&) override {
    Step out;
    out.state = f == "look" ? state.get<int>() : f == "take" ? 1 : 0;
    return out;
  }
};

TEST(Blocks, AreSafeInEveryOrder) {
  Lock model;
  std::map<size_t, int> sizes;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    GeneratorOptions options;
    options.clients = 3;
    const auto program = generate(&model, {}, options, &random);
    ASSERT_TRUE(program);
    EXPECT_LE(program->items.size(), options.most_items);
    EXPECT_TRUE(is_valid(program.value(), &model).value());
    for (size_t at = 0, size = 0; at < program->items.size(); at += size) {
      size = block_size(program.value(), at);
      ++sizes[size];
      // Of 'take' and 'give' one at most can come first.
      int changes = 0;
      for (size_t i = at; i < at + size; ++i) changes += program->items[i].f != "look";
      EXPECT_LE(changes, 1) << seed;
    }
  }
  EXPECT_GT(sizes[2], 0);
  EXPECT_GT(sizes[3], 0);
  EXPECT_EQ(sizes.rbegin()->first, 3u);
}

// A command a letter; one behind a bar runs at the same time as the one before it.
Program of_blocks(const std::string& text) {
  Program out;
  bool parallel = false;
  for (const char each : text) {
    if (each == '|') {
      parallel = true;
      continue;
    }
    Item item;
    item.f = std::string(1, each);
    item.number = static_cast<uint32_t>(out.items.size());
    item.parallel = std::exchange(parallel, false);
    out.items.push_back(item);
  }
  return out;
}

std::string text_of(const Program& program) {
  std::string out;
  for (const Item& item : program.items) out += (item.parallel ? "|" : "") + item.f;
  return out;
}

TEST(Blocks, KeepTogetherWhatIsLeftOfThem) {
  const Program program = of_blocks("ab|c|de|f");
  ASSERT_EQ(text_of(program), "ab|c|de|f");
  EXPECT_EQ(text_of(without(program, 1, 1)), "ac|de|f");
  EXPECT_EQ(text_of(without(program, 2, 1)), "ab|de|f");
  EXPECT_EQ(text_of(without(program, 3, 1)), "ab|ce|f");
  EXPECT_EQ(text_of(without(program, 3, 2)), "ab|cf");
  EXPECT_EQ(text_of(without(program, 0, 9)), "");
}

TEST(Blocks, HoldsNeedBothCommandsInOne) {
  Program program = of_blocks("ab|cd");
  program.holds = {{1, {"x", "y", "GET", "/"}, 1, 2}};
  EXPECT_TRUE(holds_fit(program));
  EXPECT_FALSE(holds_fit(without(program, 2, 1)));
  program.items[2].parallel = false;
  EXPECT_FALSE(holds_fit(program));
}

TEST(Blocks, AreShrunkToWhatHasToBeAtTheSameTime) {
  Lock model;
  // Fails where two looks are at the same time.
  const FailsAlike fails = [](const Program& program) -> Result<std::optional<bool>> {
    for (size_t i = 1; i < program.items.size(); ++i) {
      if (program.items[i].parallel && program.items[i].f == "look" &&
          program.items[i - 1].f == "look")
        return std::optional(true);
    }
    return std::optional(false);
  };
  int failing = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    GeneratorOptions options;
    options.clients = 3;
    const auto program = generate(&model, {}, options, &random);
    if (!fails(program.value()).value().value()) continue;
    ++failing;
    const auto shrunk = shrink(program.value(), &model, fails);
    ASSERT_EQ(shrunk->program.items.size(), 2u) << seed;
    EXPECT_TRUE(shrunk->program.items[1].parallel);
  }
  EXPECT_GT(failing, 10);
}

}  // namespace
}  // namespace filibuster::property
