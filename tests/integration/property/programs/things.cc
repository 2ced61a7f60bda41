// A model and a client with each mistake that people make: things model, or things client.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "filibuster_property.h"

using namespace filibuster::property;

class Things : public Model {
 public:
  std::vector<std::string> reads() override { return {"look"}; }

  Json init() override {
    std::cout << "a model prints\n";
    if (std::system("echo so does its child") != 0) throw std::runtime_error("no shell");
    return {{"things", Json::array()}};
  }

  std::vector<Command> commands(const Json&) override {
    return {command("add", text(3), 2), command("look", result_of("add")),
            command("pair", array(integer(0, 9), one_of("a", nullptr))),
            command("put", record({{"key", text()}, {"value", constant({{"int", "eger"}})}})),
            command("clear")};
  }

  bool pre(const Json&, const std::string& f, const Json& value) override {
    return f != "look" || is_symbol(value);
  }

  Step step(Json state, const std::string& f, const Json& value, const Answer& answer) override {
    if (f == "add") {
      state["things"].push_back(value);
      return {state, state["things"].size() - 1};
    }
    if (f == "look" && answer.json() == "nothing") throw Impossible("there are things");
    if (f == "look") return {state, ANY};
    if (f == "echo") return {state, answer};
    if (f == "null") return {state, nullptr};
    if (f == "bytes") return {state, Json::binary({1, 2})};
    if (f == "text") return {state, "\xff"};
    if (f == "nan") return {state, Json::array({std::nan("")})};
    return {state, state.at("absent")};
  }

  std::vector<std::string> classify(const Json&, const std::string& f, const Json&,
                                    const Answer&) override {
    if (f == "one") return {"label"};
    return f == "two" ? std::vector<std::string>{"a", "2"} : std::vector<std::string>{};
  }
};

class Thing : public Client {
 public:
  Thing() {
    on("add", [](const std::string& value) {
      std::cout << "adds " << value << std::endl;
      return std::vector<std::string>{value,
                                      std::string(std::istreambuf_iterator<char>(std::cin), {})};
    });
    on("who", [](const Json&, const std::string& process) { return process; });
    on("refuse", [](const Json&) { throw Fail("503"); });
    on("lose", [](const Json&) { throw Info("500"); });
    on("crash", [](const Json& value) { return value.at("absent"); });
    on("strange", [](const Json&) { throw 7; });
    on("ask", [](const Json&) { return Json::binary({1, 2}); });
    on("forget", [](const Json&) {});
  }

  void reset() override {
    if (++resets_ == 2) throw Fail("cannot");
  }

 private:
  int resets_ = 0;
};

int main(int, char** arguments) {
  if (std::string(arguments[1]) == "model") return run(Things());
  return run(Thing());
}
