#include "daemon/property/program_model.h"

#include "daemon/property/history.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

Error wrong_answer(const Json& question, const Json& answer, const std::string& expected) {
  return Error{"the model answered " + json_text(question) + " with " + json_text(answer) +
               "; expected " + expected};
}

class OfProgram final : public TestModel {
 public:
  explicit OfProgram(std::shared_ptr<ModelProgram> program) : program_(std::move(program)) {}

  Result<Json> initial() override { return Json(program_->initial()); }
  bool only_reads(const std::string& f) const override { return program_->only_reads(f); }

  Result<std::vector<Choice>> commands(const Json& state) override {
    const Json question = {{"ask", "commands"}, {"state", state}};
    auto answer = program_->ask(question);
    if (!answer) return answer.error();
    const char* const expected =
        R"({"commands": [{"f": NAME, "value": GENERATOR, "weight": NUMBER}, ...]})";
    const auto rows = answer->find("commands");
    if (rows == answer->end() || !rows->is_array())
      return wrong_answer(question, answer.value(), expected);
    std::vector<Choice> out;
    for (const Json& row : *rows) {
      const bool whole = row.is_object() && row.contains("f") && row["f"].is_string() &&
                         whole_number(row.value("weight", Json(1))).value_or(-1) >= 0;
      if (!whole) return wrong_answer(question, answer.value(), expected);
      out.push_back({row["f"].get<std::string>(), row.value("value", Json()),
                     row.value("weight", uint64_t{1})});
    }
    return out;
  }

  Result<bool> holds(const Json& state, const std::string& f, const Json& value) override {
    const Json question = {{"ask", "pre"}, {"state", state}, {"f", f}, {"value", value}};
    auto answer = program_->ask(question);
    if (!answer) return answer.error();
    if (!answer->value("holds", Json()).is_boolean())
      return wrong_answer(question, answer.value(), R"({"holds": true} or {"holds": false})");
    return answer->value("holds", false);
  }

  Result<Step> step(const Json& state, const std::string& f, const Json& value,
                    const std::optional<Json>& answered) override {
    Json question = {{"ask", "step"}, {"state", state}, {"f", f}, {"value", value}};
    if (answered) question["answer"] = *answered;
    auto answer = program_->ask(question);
    if (!answer) return answer.error();
    Step out;
    if (const auto why = answer->find("impossible"); why != answer->end()) {
      out.impossible = why->is_string() ? why->get<std::string>() : json_text(*why);
      return out;
    }
    out.state = answer->value("state", Json());
    if (const auto expected = answer->find("answer"); expected != answer->end())
      out.answer = *expected;
    return out;
  }

  ObjectMaker object() const override {
    return [program = program_]() -> Result<std::unique_ptr<Object>> {
      return make_program_object(program);
    };
  }

  Call call(const std::string& f, const Json& value) const override {
    Call out;
    out.f = f;
    out.asked = value;
    return out;
  }

  Result<std::vector<std::string>> labels(const Json& state, const std::string& f,
                                          const Json& value, const Json& answer) override {
    auto said = program_->ask(
        {{"ask", "classify"}, {"state", state}, {"f", f}, {"value", value}, {"answer", answer}});
    if (!said) return said.error();
    std::vector<std::string> out;
    for (const Json& each : said->value("labels", Json::array())) {
      if (each.is_string()) out.push_back(each.get<std::string>());
    }
    return out;
  }

  std::string contradiction() override { return program_->contradiction(); }

 private:
  const std::shared_ptr<ModelProgram> program_;
};

}  // namespace

std::unique_ptr<TestModel> make_program_model(std::shared_ptr<ModelProgram> program) {
  return std::make_unique<OfProgram>(std::move(program));
}

}  // namespace filibuster::property
