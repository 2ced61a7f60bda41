// Models that come with the tool: what they say, what they draw, and that they agree with the objects of `filibuster check`.
#include "daemon/property/ready_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "daemon/config/ready_kinds.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

// With all commands of its kind, and equal weights.
ReadyModelConfig config_of(std::string_view object) {
  ReadyModelConfig out;
  out.object = object;
  for (const ReadyCommand& each : ready_kind(object)->commands)
    out.commands.push_back({std::string(each.f), 1});
  if (object == "bank") out.initial = {{"a", 10}, {"b", 0}, {"c", 3}};
  return out;
}

std::unique_ptr<TestModel> model_of(const ReadyModelConfig& config) {
  auto made = make_ready_model(config);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? std::move(made).value() : nullptr;
}
std::unique_ptr<TestModel> model_of(std::string_view object) {
  return model_of(config_of(object));
}

struct Said {
  Json state;
  std::optional<Json> answer;
};
Said step(TestModel& model, const Json& state, const std::string& f, const Json& value,
          const Json& answer) {
  auto stepped = model.step(state, f, value, answer);
  EXPECT_TRUE(stepped && !stepped->impossible) << f;
  return stepped ? Said{stepped->state, stepped->answer} : Said();
}

TEST(ReadyModel, SaysWhatTheObjectMustAnswer) {
  const struct {
    const char *object, *f;
    Json state, value, wrong, right, behind;
  } rows[] = {
      {"register", "read", 3, nullptr, 4, 3, 3},
      {"register", "read", 3, nullptr, "3", 3, 3},
      {"cas-register", "cas", 3, {{"old", 3}, {"new", 4}}, false, true, 4},
      {"cas-register", "cas", 3, {{"old", 2}, {"new", 4}}, nullptr, false, 3},
      {"kv", "get", {{"a", 1}}, {{"key", "a"}}, nullptr, 1, {{"a", 1}}},
      {"kv", "get", Json::object(), {{"key", "a"}}, 1, nullptr, Json::object()},
      {"kv", "cas", {{"a", 1}}, {{"key", "a"}, {"old", 1}, {"new", 2}}, false, true, {{"a", 2}}},
      {"kv", "cas", {{"a", 1}}, {{"key", "b"}, {"old", 1}, {"new", 2}}, true, false, {{"a", 1}}},
      {"queue", "dequeue", {1, 2}, nullptr, 2, 1, {2}},
      {"queue", "dequeue", Json::array(), nullptr, 2, nullptr, Json::array()},
      {"set", "contains", {1, 2}, 2, false, true, {1, 2}},
      {"set", "contains", {1, 2}, 3, true, false, {1, 2}},
      {"set", "read", {1, 2}, nullptr, {1, 3}, {1, 2}, {1, 2}},
      {"set", "read", {1, 2}, nullptr, "no array", {1, 2}, {1, 2}},
      {"list", "read", {1, 2}, nullptr, {2, 1}, {1, 2}, {1, 2}},
      {"counter", "add_and_get", 3, 4, 3, 7, 7},
      {"bank",
       "read",
       {{"a", 1}, {"b", 2}},
       nullptr,
       {{"a", 1}},
       {{"a", 1}, {"b", 2}},
       {{"a", 1}, {"b", 2}}},
      {"bank",
       "transfer",
       {{"a", 5}, {"b", 0}},
       {{"from", "a"}, {"to", "b"}, {"amount", 5}},
       false,
       true,
       {{"a", 0}, {"b", 5}}},
      {"bank",
       "transfer",
       {{"a", 5}, {"b", 0}},
       {{"from", "a"}, {"to", "b"}, {"amount", 6}},
       nullptr,
       false,
       {{"a", 5}, {"b", 0}}}};
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.object) + " " + row.f + " " + row.value.dump());
    const auto model = model_of(row.object);
    const Said wrong = step(*model, row.state, row.f, row.value, row.wrong);
    EXPECT_EQ(wrong.answer, std::optional(row.right));
    const Said right = step(*model, row.state, row.f, row.value, row.right);
    EXPECT_EQ(right.answer, std::nullopt);
    EXPECT_EQ(right.state, row.behind);
  }
}

TEST(ReadyModel, TakesWhatTheObjectTakes) {
  // A set in any order, what is not there as an empty text, and whatever a write is answered.
  EXPECT_EQ(step(*model_of("set"), {1, 2}, "read", nullptr, {2, 1}).answer, std::nullopt);
  EXPECT_EQ(step(*model_of("kv"), Json::object(), "get", {{"key", "a"}}, "").answer, std::nullopt);
  const Said written = step(*model_of("register"), 1, "write", 2, "done");
  EXPECT_EQ(written.answer, std::nullopt);
  EXPECT_EQ(written.state, Json(2));
}

TEST(ReadyModel, BeginsAsItIsTold) {
  ReadyModelConfig config = config_of("kv");
  config.initial = {{"a", 1}};
  EXPECT_EQ(model_of(config)->initial().value(), Json({{"a", 1}}));
  EXPECT_EQ(model_of("counter")->initial().value(), Json(0));
  EXPECT_EQ(model_of("queue")->initial().value(), Json::array());
  EXPECT_EQ(model_of("register")->initial().value(), Json());
}

// Each program that is drawn is one that a smaller one may be compared with, and an object takes its calls.
TEST(ReadyModel, DrawsProgramsThatAreValidAndThatTheObjectTakes) {
  for (const ReadyKind& kind : kReadyKinds) {
    SCOPED_TRACE(kind.object);
    const auto model = model_of(kind.object);
    std::map<std::string, int> seen;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Random random(seed);
      const auto program = generate(model.get(), {}, {}, &random);
      ASSERT_TRUE(program) << program.error().message;
      ASSERT_FALSE(program->items.empty());
      ASSERT_TRUE(is_valid(program.value(), model.get()).value()) << seed;
      const auto object = model->object()();
      ASSERT_TRUE(object);
      Json state = model->initial().value();
      Words words = object.value()->initial();
      for (const Item& item : program->items) {
        ++seen[item.f];
        Call call = model->call(item.f, item.value);
        ASSERT_TRUE(object.value()->accepts(call)) << item.f;
        EXPECT_EQ(call.key.empty(), kind.object != "kv");
        EXPECT_EQ(object.value()->only_reads(call), model->only_reads(item.f)) << item.f;
        words = object.value()->next(words, call).value();
        state = step(*model, state, item.f, item.value, Json{{"result", item.number}}).state;
        Json of_object = object.value()->state(words);
        if (kind.object == "set") {
          // In the order in which the object has met them.
          std::sort(of_object.begin(), of_object.end());
          std::sort(state.begin(), state.end());
        }
        ASSERT_EQ(of_object, state) << item.f;
      }
    }
    EXPECT_EQ(seen.size(), kind.commands.size());
  }
}

TEST(ReadyModel, AProgramIsMadeSmallerOnlyToWhatItMightHaveDrawn) {
  ReadyModelConfig config = config_of("bank");
  const auto bank = model_of(config);
  const Json state = bank->initial().value();
  const auto transfer = [](const Json& from, const Json& to, const Json& amount) {
    return Json{{"from", from}, {"to", to}, {"amount", amount}};
  };
  EXPECT_TRUE(bank->holds(state, "transfer", transfer("a", "b", 1)).value());
  EXPECT_FALSE(bank->holds(state, "transfer", transfer("a", "a", 1)).value());
  EXPECT_FALSE(bank->holds(state, "transfer", transfer("a", "", 1)).value());
  EXPECT_FALSE(bank->holds(state, "transfer", transfer("a", "b", 0)).value());
  EXPECT_FALSE(bank->holds(state, "transfer", "a").value());
  EXPECT_FALSE(bank->holds(state, "deposit", 1).value());
  const auto kv = model_of("kv");
  EXPECT_TRUE(kv->holds(Json::object(), "get", {{"key", "b"}}).value());
  EXPECT_FALSE(kv->holds(Json::object(), "get", {{"key", ""}}).value());
  // What is there may be compared with, even where it was never drawn.
  EXPECT_TRUE(model_of("cas-register")->holds(77, "cas", {{"old", 77}, {"new", 1}}).value());
  EXPECT_FALSE(model_of("cas-register")->holds(7, "cas", {{"old", 77}, {"new", 1}}).value());
}

TEST(ReadyModel, ACommandThatHasSeveralGeneratorsIsAsOftenAsItsWeightSays) {
  for (const char* const object : {"bank", "cas-register", "set"}) {
    SCOPED_TRACE(object);
    const auto model = model_of(object);
    std::map<std::string, uint64_t> weights;
    const Json state = std::string(object) == "set" ? Json{1, 2} : model->initial().value();
    const auto choices = model->commands(state);
    ASSERT_TRUE(choices);
    for (const ProgramModel::Choice& each : choices.value()) weights[each.f] += each.weight;
    for (const auto& [f, weight] : weights) EXPECT_EQ(weight, weights.begin()->second) << f;
  }
}

TEST(ReadyModel, CountsWhatIsRare) {
  const auto kv = model_of("kv");
  const std::vector<std::string> nothing = {"get of nothing"};
  EXPECT_EQ(kv->labels(Json::object(), "get", {{"key", "a"}}, nullptr).value(), nothing);
  EXPECT_TRUE(kv->labels({{"a", 1}}, "get", {{"key", "a"}}, 1).value().empty());
  EXPECT_EQ(model_of("cas-register")->labels(1, "cas", {{"old", 2}, {"new", 1}}, false).value(),
            std::vector<std::string>{"cas refused"});
}

TEST(Generators, MakeWhatTheyMayMake) {
  const Json generators[] = {{{"int", {-3, 3}}},
                             {{"text", {{"max", 5}}}},
                             {{"one_of", {1, "two", nullptr}}},
                             {{"array", {{{"int", {0, 1}}}, "x"}}},
                             {{"object", {{"n", {{"int", {0, 1}}}}, {"c", {{"value", 4}}}}}},
                             7};
  Random random(1);
  for (const Json& generator : generators) {
    for (int i = 0; i < 50; ++i) {
      const auto value = generate_value(generator, {}, &random);
      ASSERT_TRUE(value && value.value());
      EXPECT_TRUE(may_make(generator, *value.value())) << generator << " " << *value.value();
    }
  }
  EXPECT_FALSE(may_make({{"int", {0, 3}}}, 4));
  EXPECT_FALSE(may_make({{"int", {0, 3}}}, "1"));
  EXPECT_FALSE(may_make({{"text", {{"max", 1}}}}, "ab"));
  EXPECT_TRUE(may_make({{"text", {{"max", 1}}}}, "\u4e2d"));
  EXPECT_FALSE(may_make({{"one_of", {1, 2}}}, 3));
  EXPECT_FALSE(may_make({{"array", {1, 2}}}, {1}));
  EXPECT_FALSE(may_make({{"object", {{"a", 1}}}}, {{"b", 1}}));
}

}  // namespace
}  // namespace filibuster::property
