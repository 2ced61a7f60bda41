// `property` of a test without the user's code: a model that comes with the tool, and a client of HTTP.
#include <gtest/gtest.h>

#include "daemon/config/config.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;

ParsedConfig parse_property(const std::string& model, const std::string& client) {
  return parse_config(
      R"({"version": 1, "services": [{"name": "web", "command": "x", "ports": ["web"]}],
 "tests": [{"name": "t", "property": {"model": )" +
          model + ", \"client\": " + client + "}}]}",
      "f.json", "/app");
}
std::string first_error(const ParsedConfig& parsed) {
  return parsed.errors.empty() ? "" : parsed.errors.front().message;
}

const char* const kKv = R"({"object": "kv", "keys": ["a", "b"]})";
std::string client(const std::string& commands, const std::string& more = "") {
  return R"({"http": "http://127.0.0.1:${port:web}", "reset": {"method": "POST", "path": "/reset"},
 "commands": )" +
         commands + more + "}";
}
const std::string kGet = R"("get": {"method": "GET", "path": "/${key}", "answer": "/value"})";
const std::string kPut =
    R"("put": {"method": "PUT", "path": "/${key}", "body": {"value": "${value}"}})";

TEST(ReadyProperty, IsReadWithItsDefaults) {
  const ParsedConfig parsed = parse_property(kKv, client("{" + kPut + ", " + kGet + "}"));
  ASSERT_TRUE(parsed.errors.empty()) << first_error(parsed);
  const PropertyConfig& property = *parsed.config.tests.front().property;
  EXPECT_TRUE(property.model.empty() && property.client.empty());
  EXPECT_EQ(property.ready_model->keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(property.http_client["timeout_ms"], Json(10000));
  EXPECT_EQ(property.http_client["reset"].size(), 1u);
  EXPECT_EQ(property.http_client["commands"]["put"]["body"], Json({{"value", "${value}"}}));
}

// 8:2, whatever else there is, and only what the client has.
TEST(ReadyProperty, CommandsAreThoseOfTheClient) {
  const auto weights = [](const std::string& model, const std::string& commands) {
    const ParsedConfig parsed = parse_property(model, commands);
    EXPECT_TRUE(parsed.errors.empty()) << first_error(parsed);
    std::map<std::string, uint64_t> out;
    for (const auto& each : parsed.config.tests.front().property->ready_model->commands)
      out[each.f] = each.weight;
    return out;
  };
  using Weights = std::map<std::string, uint64_t>;
  EXPECT_EQ(weights(kKv, client("{" + kPut + ", " + kGet + "}")),
            (Weights{{"get", 8}, {"put", 2}}));
  const std::string remove = R"("delete": {"method": "DELETE", "path": "/${key}"})";
  EXPECT_EQ(weights(kKv, client("{" + kPut + ", " + kGet + ", " + remove + "}")),
            (Weights{{"get", 16}, {"put", 2}, {"delete", 2}}));
  EXPECT_EQ(weights(R"({"object": "kv", "commands": {"get": 1, "put": 5}})",
                    client("{" + kPut + ", " + kGet + ", " + remove + "}")),
            (Weights{{"get", 1}, {"put", 5}}));
  EXPECT_EQ(weights(R"({"object": "queue"})", "\"python3 client.py\""),
            (Weights{{"enqueue", 2}, {"dequeue", 2}}));
}

TEST(ReadyProperty, SaysWhatIsWrongWithAModel) {
  const struct {
    const char *model, *expected;
  } rows[] = {
      {"3", "'model': expected text that the shell runs, an array of arguments, or an object"},
      {R"({})", "'model' needs 'object'"},
      {R"({"object": "stack"})", "'object': expected 'register', 'cas-register', 'kv'"},
      {R"({"object": "kv", "key": ["a"]})", "did you mean 'keys'?"},
      {R"({"object": "kv", "keys": []})", "'keys': expected at least one"},
      {R"({"object": "kv", "keys": ["a", "a"]})", "'keys': 'a' is given twice"},
      {R"({"object": "set", "keys": ["a"]})", "'keys' are of the object 'kv'"},
      {R"({"object": "bank"})", "a bank needs 'initial'"},
      {R"({"object": "bank", "initial": {"a": 1}})", "the balances of two accounts or more"},
      {R"({"object": "bank", "initial": {"a": 1, "b": "2"}})", "the balances of two accounts"},
      {R"({"object": "counter", "initial": "0"})", "'initial': expected a whole number"},
      {R"({"object": "queue", "initial": {}})", "'initial': expected an array"},
      {R"({"object": "kv", "initial": []})", "'initial': expected an object of values by key"},
      {R"({"object": "kv", "values": {"int": [3, 1]}})", "expected {\"int\": [LEAST, MOST]}"},
      {R"({"object": "kv", "values": {"text": {"max": -1}}})", "{\"text\": {\"max\": LENGTH}}"},
      {R"({"object": "kv", "values": {"array": [{"one_of": []}]}})", "{\"one_of\": [VALUE, ...]}"},
      {R"({"object": "kv", "values": {"itn": [0, 9]}})", "no generator 'itn'; did you mean 'int'?"},
      {R"({"object": "kv", "values": {"result_of": "put"}})", "do not depend on answers"},
      {R"({"object": "counter", "values": {"text": {"max": 1}}})", "expected whole numbers"},
      {R"({"object": "kv", "commands": {"pop": 1}})", "unknown key 'pop' in 'commands'"},
      {R"({"object": "kv", "commands": {"put": 0}})", "the weight of 'put': expected"},
      {R"({"object": "kv", "commands": {"append": 1}, "values": {"int": [0, 9]}})",
       "'append' takes no others"}};
  for (const auto& row : rows) {
    const ParsedConfig parsed = parse_property(row.model, "\"python3 client.py\"");
    EXPECT_NE(first_error(parsed).find(row.expected), std::string::npos)
        << row.model << ": " << first_error(parsed);
    EXPECT_EQ(parsed.errors.size(), 1u) << row.model;
  }
}

TEST(ReadyProperty, SaysWhatIsWrongWithAClient) {
  const auto get = [](const std::string& more) {
    return client(R"({"get": {"method": "GET", "path": "/x", "answer": "json")" + more + "}}");
  };
  const auto only = [](const std::string& command) { return client("{" + command + "}"); };
  const struct {
    std::string client, expected;
  } rows[] = {
      {"3", "'client': expected text that the shell runs, an array of arguments, or an object"},
      {R"({"http": "http://h", "commands": {)" + kGet + "}}", "'client' needs 'reset'"},
      {client("{}"), "'commands': expected at least one"},
      {only(R"("gte": {"method": "GET", "path": "/"})"), "did you mean 'get'?"},
      {only(R"("get": {"method": "GET", "path": "/${key}"})"), "'get' needs 'answer'"},
      {only(R"("put": {"path": "/"})"), "'put' needs 'method'"},
      {only(R"("put": {"method": "put", "path": "/"})"), "'method': expected a method of HTTP"},
      {only(R"("put": {"method": "PUT", "path": "x"})"), "a path that begins with '/'"},
      {only(R"("put": {"method": "PUT", "path": "/a b"})"), "written as %20"},
      {only(R"("put": {"method": "PUT", "path": "/${kye}"})"),
       "'${kye}': 'put' has 'key', 'value' or 'process'"},
      {only(R"("put": {"method": "PUT", "path": "/", "body": [{"a": "${x}"}]})"), "'${x}': 'put'"},
      {only(R"("put": {"method": "PUT", "path": "/", "body": {"${x}": 1}})"), "'${x}': 'put'"},
      {only(R"("put": {"method": "PUT", "path": "/", "text": "${"})"), "without its closing '}'"},
      {only(R"("put": {"method": "PUT", "path": "/", "text": "a", "body": 1})"),
       "has a 'body' already"},
      {get(R"(, "headers": {"a b": "c"})"), "'a b' is no header field"},
      {get(R"(, "headers": {"a": "b\nc"})"), "'a' is no header field"},
      {get(R"(, "headers": {"a": "${value}"})"), "'${value}': 'get' has 'key' or 'process'"},
      {get(R"(, "statuses": {"99": "ok"})"), "'99' is no status of an answer"},
      {get(R"(, "statuses": {"4xx": "good"})"), "'statuses': expected 'ok', 'fail', 'info'"},
      {only(R"("get": {"method": "GET", "path": "/", "answer": "value"})"),
       "'answer': expected a JSON pointer"},
      {only(R"("get": {"method": "GET", "path": "/", "answer": "/a~2"})"),
       "'answer': expected a JSON pointer"},
      {client("{" + kGet + "}", R"(, "timeout": 0)"), "'timeout': expected more than 0"},
      {client("{" + kGet + "}", R"(, "headers": {"a": "${key}"})"), "'${key}'"},
      {R"({"http": "127.0.0.1", "reset": {"method": "POST", "path": "/"}, "commands": {)" + kGet +
           "}}",
       "'http': expected a URL"},
      {R"({"http": "http://h:${port:wbe}", "reset": {"method": "POST", "path": "/"}, "commands": {)" +
           kGet + "}}",
       "did you mean '${port:web}'?"},
      {R"({"http": "http://h", "reset": [], "commands": {)" + kGet + "}}",
       "'reset': expected at least one request"},
      {R"({"http": "http://h", "reset": {"method": "POST", "path": "/", "answer": null}, "commands": {)" +
           kGet + "}}",
       "nobody asks what a reset is answered"},
  };
  for (const auto& row : rows) {
    const ParsedConfig parsed = parse_property(kKv, row.client);
    EXPECT_NE(first_error(parsed).find(row.expected), std::string::npos)
        << row.client << ": " << first_error(parsed);
    EXPECT_EQ(parsed.errors.size(), 1u) << row.client;
  }
}

TEST(ReadyProperty, ACommandOfTheModelIsOneOfTheClient) {
  const ParsedConfig parsed =
      parse_property(R"({"object": "kv", "commands": {"put": 1}})", client("{" + kGet + "}"));
  EXPECT_EQ(first_error(parsed), "'model': the client has no command 'put'");
}

TEST(ReadyProperty, TheValuesOfAProgramMayHaveAnyMembers) {
  const ParsedConfig parsed = parse_property(
      "\"python3 model.py\"", client(R"({"any": {"method": "PUT", "path": "/${whatever}"}})"));
  EXPECT_EQ(first_error(parsed), "");
}

TEST(ReadyProperty, AnErrorHasItsPlace) {
  const ParsedConfig parsed = parse_config(R"({"version": 1, "tests": [
  {"name": "t", "property": {
    "model": {"object": "kv"},
    "client": {"http": "http://h", "reset": {"method": "POST", "path": "/"}, "commands": {
      "put": {"method": "PUT", "path": "/a/${kye}"}}}}}]})",
                                           "f.json", "/app");
  ASSERT_EQ(parsed.errors.size(), 1u);
  EXPECT_EQ(parsed.errors.front().line, 5);
  EXPECT_EQ(parsed.errors.front().column, 44);
}

}  // namespace
}  // namespace filibuster
