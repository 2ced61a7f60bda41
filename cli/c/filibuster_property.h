// Models and clients for `filibuster property`, in C++17 on POSIX. One file, to copy. It needs nlohmann's json (Debian: nlohmann-json3-dev).
//
// A model says what the application does, in the simplest way. This one is of a list, to which `append` answers the
// index:
//
//   #include "filibuster_property.h"
//   using namespace filibuster::property;
//
//   class List : public Model {
//     std::vector<std::string> reads() override { return {"get"}; }
//
//     Json init() override { return Json::array(); }
//
//     std::vector<Command> commands(const Json& state) override {
//       return {command("append", text(8)), command("get", integer(0, state.size()), 2)};
//     }
//
//     Step step(Json state, const std::string& f, const Json& value, const Answer&) override {
//       if (f == "append") {
//         state.push_back(value);
//         return {state, state.size() - 1};
//       }
//       return {state, value < state.size() ? state[value.get<std::size_t>()] : Json()};
//     }
//   };
//
//   int main() { return run(List()); }
//
// A client does the same commands with the application, and says what it saw:
//
//   class Http : public Client {
//    public:
//     Http() {
//       on("append", [this](const std::string& value) {
//         const auto answer = post("/", value);
//         if (answer.status == 503) throw Fail("503");  // it has certainly not happened
//         if (answer.status != 200) throw Info(std::to_string(answer.status));  // nobody knows
//         return std::stoi(answer.body);
//       });
//       on("get", ...);
//     }
//
//     // Makes the state again that the model begins with.
//     void reset() override { post("/reset", ""); }
//   };
//
//   int main() { return run(Http()); }
//
// Each is a program that answers questions, one JSON text a line, which the daemon asks on its standard input. What
// they print goes to the standard error.
#ifndef FILIBUSTER_PROPERTY_H
#define FILIBUSTER_PROPERTY_H

#include <cxxabi.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace filibuster::property {

using Json = nlohmann::json;

// A client's command had no effect, for certain.
class Fail : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Nobody knows whether a client's command had its effect, or will still have it.
class Info : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// In this state of the model, a command cannot have been answered so.
class Impossible : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// JSON, or one of the two words below.
class Answer {
 public:
  // Whatever Json can be made of.
  template <typename Value,
            typename = std::enable_if_t<!std::is_same_v<std::decay_t<Value>, Answer> &&
                                        std::is_constructible_v<Json, Value>>>
  Answer(Value&& value) : json_(std::forward<Value>(value)) {}  // NOLINT: an answer is a value
  static Answer any() { return Answer(Kind::kAny); }
  static Answer unknown() { return Answer(Kind::kUnknown); }

  bool is_any() const { return kind_ == Kind::kAny; }
  bool is_unknown() const { return kind_ == Kind::kUnknown; }
  // Throws std::logic_error where there is none.
  const Json& json() const {
    if (kind_ != Kind::kJson) throw std::logic_error("an answer that nobody saw is no JSON");
    return json_;
  }

 private:
  enum class Kind { kJson, kAny, kUnknown };
  explicit Answer(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::kJson;
  Json json_;
};

// The second of what step() returns: whatever is answered will do.
inline const Answer ANY = Answer::any();
// What step() and classify() are given where nobody saw the answer: is_unknown().
inline const Answer UNKNOWN = Answer::unknown();

// ---- values that are generated ----

// A whole number from `low` to `high`, both included.
inline Json integer(std::int64_t low, std::int64_t high) {
  return {{"int", Json::array({low, high})}};
}

// A text of at most `max` characters.
inline Json text(std::size_t max = 8) {
  return {{"text", {{"max", max}}}};
}

// One of these values, as they stand.
template <typename... Values>
Json one_of(Values&&... values) {
  return {{"one_of", Json::array({Json(std::forward<Values>(values))...})}};
}

// An array with a value of each generator.
template <typename... Generators>
Json array(Generators&&... generators) {
  return {{"array", Json::array({Json(std::forward<Generators>(generators))...})}};
}

// An object with a value of each generator under its name.
inline Json record(const std::map<std::string, Json>& generators) {
  return {{"object", generators}};
}

// What an earlier command `f` of the same program was answered.
inline Json result_of(const std::string& f) {
  return {{"result_of", f}};
}

// This value, also if it looks like a generator.
inline Json constant(const Json& value) {
  return {{"value", value}};
}

// Of command().
struct Command {
  std::string f;
  Json value;
  std::uint64_t weight;
};

// A command that may come next. `value` is a generator, or a constant; `weight` says how often it is chosen beside others.
inline Command command(std::string f, Json value = nullptr, std::uint64_t weight = 1) {
  return {std::move(f), std::move(value), weight};
}

// Whether this stands for an answer that is not known yet: while a program is made, no command has been executed.
inline bool is_symbol(const Json& value) {
  return value.is_object() && value.size() == 1 && value.contains("result");
}

// ---- what people write ----

// What step() returns: the state after the command, and what it must have been answered. The second is ANY where each
// answer will do.
struct Step {
  Json state;
  Answer answer;
};

// What the application does. Every question brings its state, so nothing need be kept in the object.
class Model {
 public:
  virtual ~Model() = default;

  // The commands that never change the state.
  virtual std::vector<std::string> reads() { return {}; }

  // The state after a reset.
  virtual Json init() = 0;

  // The commands that may come next.
  virtual std::vector<Command> commands(const Json& state) = 0;

  // Whether the command may be called in this state. A shortened program has only commands that may.
  virtual bool pre(const Json& /*state*/, const std::string& /*f*/, const Json& /*value*/) {
    return true;
  }

  // `answer` is what the command was answered. It is a symbol while programs are made (is_symbol), and UNKNOWN where
  // nobody saw it. Throws Impossible where the command cannot have had this answer in this state.
  virtual Step step(Json state, const std::string& f, const Json& value, const Answer& answer) = 0;

  // Texts under which this step is counted.
  virtual std::vector<std::string> classify(const Json& /*state*/, const std::string& /*f*/,
                                            const Json& /*value*/, const Answer& /*answer*/) {
    return {};
  }
};

namespace detail {
class ClientProgram;
}

// Executes commands: on() says what each of them does.
class Client {
 public:
  virtual ~Client() = default;

  // Makes the state again that the model begins with.
  virtual void reset() {}

 protected:
  // `method` takes the value, or the value and the name of its process, a text. It returns the answer, or throws Fail or
  // Info. Any other exception counts as Info. A method that returns nothing answers null.
  template <typename Callable>
  void on(const std::string& f, Callable method, const char* file = __builtin_FILE(),
          int line = __builtin_LINE()) {
    methods_[f] = {taking_both(std::move(method)),
                   " (" + std::string(file) + ":" + std::to_string(line) + ")"};
  }

 private:
  friend class detail::ClientProgram;
  using Both = std::function<Json(const Json& value, const std::string& process)>;
  struct Method {
    Both call;
    std::string where;
  };

  template <typename Callable>
  static Both taking_both(Callable method) {
    constexpr bool takes_process = std::is_invocable_v<Callable, const Json&, const std::string&>;
    static_assert(takes_process || std::is_invocable_v<Callable, const Json&>,
                  "a method of a client takes a value, or a value and the name of its process");
    return [method = std::move(method)](const Json& value,
                                        [[maybe_unused]] const std::string& process) mutable {
      if constexpr (takes_process) {
        return answered([&]() -> decltype(auto) { return method(value, process); });
      } else {
        return answered([&]() -> decltype(auto) { return method(value); });
      }
    };
  }

  template <typename Call>
  static Json answered(Call call) {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return nullptr;
    } else {
      return Json(call());
    }
  }

  std::map<std::string, Method> methods_;
};

namespace detail {

// What the daemon is told instead of an answer.
class Wrong : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Of a text that may be anything but UTF-8.
inline std::string written(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The value, if it is JSON. Json also holds what is none.
inline const Json& checked(const Json& value, const std::string& what) {
  if (value.is_structured()) {
    for (const auto& [name, one] : value.items()) {
      if (value.is_object()) checked(Json(name), what);
      checked(one, what);
    }
  } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    throw Wrong(what + " holds " +
                (std::isnan(number) ? "nan"
                 : number > 0       ? "inf"
                                    : "-inf") +
                ", which JSON does not have");
  } else if (value.is_binary() || value.is_discarded()) {
    throw Wrong(what + " holds bytes, which are not JSON");
  } else if (value.is_string()) {
    try {
      value.dump();
    } catch (const Json::type_error&) {
      throw Wrong(what + " holds the text " + written(value) + ", which is not UTF-8");
    }
  }
  return value;
}

// The same of what the function at `where` returned.
inline const Json& checked(const Json& value, const std::string& what, const std::string& where) {
  try {
    return checked(value, what);
  } catch (const Wrong& wrong) {
    throw Wrong(wrong.what() + where);
  }
}

inline std::string quoted(const std::string& name) {
  return "'" + name + "'";
}

inline std::string described(const std::exception& error) {
  int status = 0;
  char* const name = abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status);
  std::string out = status == 0 ? name : typeid(error).name();
  std::free(name);
  return out + ": " + error.what();
}

inline const Json& member(const Json& question, const char* name) {
  const auto found = question.find(name);
  if (found == question.end())
    throw Wrong("the question has no " + quoted(name) + ": " + written(question));
  return *found;
}

inline std::string text_of(const Json& question, const char* name) {
  const Json& found = member(question, name);
  return found.is_string() ? found.get<std::string>() : written(found);
}

// What answers questions: a model or a client.
class Program {
 public:
  virtual ~Program() = default;

  Json answer(const std::string& line) {
    Json question;
    try {
      question = Json::parse(line);
    } catch (const Json::parse_error& error) {
      return {{"error", std::string("the question is not JSON: ") + error.what()}};
    }
    try {
      if (!question.is_object()) throw Wrong("the question is no object: " + written(question));
      return answer_to(question);
    } catch (const Wrong& wrong) {
      return {{"error", wrong.what()}};
    } catch (const std::exception& error) {
      return {{"error", reported(described(error) + where_)}};
    } catch (...) {
      return {{"error", reported("an exception that is no std::exception" + where_)}};
    }
  }

 protected:
  explicit Program(std::string where) : where_(std::move(where)) {}
  virtual Json answer_to(const Json& question) = 0;
  const std::string& where() const { return where_; }
  static std::string reported(std::string error) {
    std::cerr << error << std::endl;
    return error;
  }

 private:
  const std::string
      where_;  // " (FILE:LINE)" of run(): an exception does not tell where it was thrown
};

class ModelProgram final : public Program {
 public:
  ModelProgram(Model* model, std::string where) : Program(std::move(where)), model_(*model) {}

 private:
  Json answer_to(const Json& question) override {
    const std::string asked = text_of(question, "ask");
    if (asked == "init") {
      Json state = model_.init();
      return {{"state", checked(state, "the state", where())}, {"reads", model_.reads()}};
    }
    if (asked != "commands" && asked != "pre" && asked != "step" && asked != "classify")
      throw Wrong("a model is not asked " + quoted(asked));
    const Json& state = member(question, "state");
    if (asked == "commands") {
      Json rows = Json::array();
      for (const Command& each : model_.commands(state))
        rows.push_back({{"f", each.f}, {"value", each.value}, {"weight", each.weight}});
      return {{"commands", checked(rows, "a command", where())}};
    }
    const std::string f = text_of(question, "f");
    const Json value = question.value("value", Json());
    if (asked == "pre") return {{"holds", model_.pre(state, f, value)}};
    const auto found = question.find("answer");
    const Answer answer = found == question.end() ? UNKNOWN : Answer(*found);
    if (asked == "classify") {
      const Json labels = model_.classify(state, f, value, answer);
      return {{"labels", checked(labels, "a label of " + quoted(f), where())}};
    }
    return step(state, f, value, answer);
  }

  Json step(const Json& state, const std::string& f, const Json& value, const Answer& answer) {
    try {
      const Step step = model_.step(state, f, value, answer);
      Json out = {{"state", checked(step.state, "the state after " + quoted(f), where())}};
      // Whoever hands on the answer that nobody saw has no opinion of it.
      if (!step.answer.is_any() && !step.answer.is_unknown())
        out["answer"] = checked(step.answer.json(), "the answer of " + quoted(f), where());
      return out;
    } catch (const Impossible& why) {
      return {{"impossible", why.what()}};
    }
  }

  Model& model_;
};

class ClientProgram final : public Program {
 public:
  ClientProgram(Client* client, std::string where) : Program(std::move(where)), client_(*client) {}

 private:
  Json answer_to(const Json& question) override {
    const std::string done = text_of(question, "do");
    if (done == "reset") {
      client_.reset();
      return {{"ok", nullptr}};
    }
    const auto found = client_.methods_.find(done);
    if (found == client_.methods_.end())
      throw Wrong("the client has no method " + quoted(done) + where());
    const auto& [call, where] = found->second;
    const Json process = question.value("process", Json());
    Json answer;
    try {
      answer = call(question.value("value", Json()),
                    process.is_string() ? process.get<std::string>() : "");
    } catch (const Fail& why) {
      return {{"fail", why.what()}};
    } catch (const Info& why) {
      return {{"info", why.what()}};
    } catch (const std::exception& error) {
      return {{"info", reported(described(error) + where)}};
    } catch (...) {
      return {{"info", reported("an exception that is no std::exception" + where)}};
    }
    return {{"ok", checked(answer, "the answer of " + quoted(done), where)}};
  }

  Client& client_;
};

// The standard input and output for this file alone. Whatever else prints, also a program that the user's code starts,
// prints to the standard error, and whatever else reads finds nothing.
inline std::pair<std::FILE*, std::FILE*> own_streams() {
  std::FILE* const questions = fdopen(fcntl(0, F_DUPFD_CLOEXEC, 3), "r");
  std::FILE* const answers = fdopen(fcntl(1, F_DUPFD_CLOEXEC, 3), "w");
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, 0);
  if (dup2(2, 1) < 0) dup2(nothing, 1);  // the standard error is closed
  close(nothing);
  return {questions, answers};
}

inline int run(Program&& program) {
  const auto [questions, answers] = own_streams();
  if (questions == nullptr || answers == nullptr) {
    std::cerr << "the standard input or output is closed" << std::endl;
    return 2;
  }
  char* line = nullptr;
  std::size_t room = 0;
  while (getline(&line, &room, questions) > 0) {
    const std::string question(line);
    if (question.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    // A reason may be any text.
    const std::string answer = written(program.answer(question)) + "\n";
    std::fwrite(answer.data(), 1, answer.size(), answers);
    if (std::fflush(answers) != 0) break;  // nobody asks any more
  }
  std::free(line);
  return 0;
}

}  // namespace detail

// Answers questions about the model, or executes commands by the client, until there are no more. To be returned by main().
template <typename Served>
int run(Served&& served, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  constexpr bool is_model = std::is_base_of_v<Model, std::decay_t<Served>>;
  static_assert(is_model || std::is_base_of_v<Client, std::decay_t<Served>>,
                "run() takes a Model or a Client, as in run(Jobs())");
  using Program = std::conditional_t<is_model, detail::ModelProgram, detail::ClientProgram>;
  return detail::run(Program(&served, " (" + std::string(file) + ":" + std::to_string(line) + ")"));
}

}  // namespace filibuster::property

#endif  // FILIBUSTER_PROPERTY_H
