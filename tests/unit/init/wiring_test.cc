#include "cli/init/wiring.h"

#include <gtest/gtest.h>

#include "cli/init/other_reads.h"
#include "tests/unit/init/drafts.h"

namespace filibuster::init {
namespace {

Reader reader(const std::string& service, const std::string& file, const std::string& text) {
  return {service, variables_read(file, text), {}, true};
}

nlohmann::json wired(Draft* draft, const std::vector<Reader>& readers, Files environment = {}) {
  learn_ports(readers, draft);
  if (draft->origin == Draft::Origin::kCompose) separate_ports(draft);
  wire(readers, variables(std::move(environment)), draft);
  return written(*draft);
}

Draft procfile(const std::string& text) {
  const auto draft = read_procfile("Procfile", text, files({}));
  EXPECT_TRUE(draft.ok());
  return draft.value();
}

Draft compose_of(const std::string& text) {
  const auto draft = read_compose("compose.yaml", text, files({}), variables({}));
  EXPECT_TRUE(draft.ok());
  return draft.value();
}

TEST(Wiring, OfAProcfileReplacesItsFixedPorts) {
  Draft draft = procfile(
      "redis: redis-server --port $PORT\n"
      "catalog: REDIS_PORT=6379 NAME=a python3 catalog.py $PORT\n"
      "web: ./web $PORT --catalog http://localhost:5100\n");
  const auto json = wired(&draft, {reader("catalog", "catalog.py", "os.environ['REDIS_PORT']")});
  EXPECT_EQ(json["services"][1]["command"],
            "exec env REDIS_PORT=${port:redis} NAME=a python3 catalog.py $PORT");
  EXPECT_FALSE(json["services"][1]["env"].contains("REDIS_PORT"));
  EXPECT_EQ(json["services"][2]["command"],
            "exec ./web $PORT --catalog http://localhost:${port:catalog}");
  EXPECT_EQ(remarks_of(draft), "");
}

TEST(Wiring, GivesWhatSourcesReadAndNamesTheRest) {
  Draft draft = procfile("users: ./users $PORT\ngateway: ./gateway $PORT\n");
  const auto json = wired(
      &draft,
      {reader("gateway", "gateway.py",
              "os.environ['USERS_URL']\nos.environ['CA_FILE']\nos.environ['HOME']\n"
              "os.environ.get('STOCK', 'http://localhost:9')\nos.environ.get('COLOR', 'red')\n"
              "os.environ['SET_URL']\n"),
       reader("", "test_a.py",
              "os.environ['GATEWAY_URL']\nos.environ['CA_FILE']\n"
              "os.environ['BASE_URL']\n")},
      {{"SET_URL", "x"}});
  EXPECT_EQ(json["services"][1]["env"]["USERS_URL"], "http://127.0.0.1:${port:users}");
  EXPECT_EQ(json["services"][1]["env"].size(), 2u);  // and PORT
  EXPECT_EQ(json["tests"][0]["env"]["GATEWAY_URL"], "http://127.0.0.1:${port:gateway}");
  EXPECT_EQ(json["tests"][0]["env"]["BASE_URL"], "http://127.0.0.1:${port:gateway}");
  EXPECT_EQ(json["tests"][0]["env"].size(), 2u);
  EXPECT_EQ(remarks_of(draft),
            "CA_FILE is read by gateway.py:2 and test_a.py:2 and set by nothing\n"
            "STOCK is read by gateway.py:4 and set by nothing, and no service here is known to be "
            "at its default http://localhost:9\n");
}

TEST(Wiring, GivesTheVariablesOfDotEnvAsForemanDoes) {
  Draft draft = procfile("users: ./users $PORT\ngateway: ./gateway $PORT\nother: ./other\n");
  Reader gateway = reader("gateway", "gateway.py",
                          "os.environ['USERS_URL'], os.environ['COLOR'], os.environ['API_TOKEN']");
  gateway.dot_env = {{"USERS_URL", "http://localhost:5000"},
                     {"COLOR", "red"},
                     {"API_TOKEN", "t0ken"},
                     {"ELSE", "8"}};
  Reader other{"other", {}, gateway.dot_env, false};
  const auto json = wired(&draft, {gateway});
  EXPECT_EQ(json["services"][1]["env"]["USERS_URL"], "http://localhost:${port:users}");
  EXPECT_EQ(json["services"][1]["env"]["COLOR"], "red");
  EXPECT_FALSE(json["services"][1]["env"].contains("API_TOKEN"));
  EXPECT_NE(remarks_of(draft).find("look like secrets: API_TOKEN; export"), std::string::npos);
  EXPECT_FALSE(json["services"][1]["env"].contains("ELSE"));
  EXPECT_NE(remarks_of(draft).find("given them: ELSE\n"), std::string::npos) << remarks_of(draft);
  // A service whose sources were not found gets them all.
  EXPECT_EQ(wired(&draft, {other})["services"][2]["env"]["ELSE"], "8");
}

TEST(Wiring, KeepsThePortWhereOnlyTheHostIsTold) {
  const std::string text =
      "services:\n  web: {build: web, command: ./web, ports: ['80:8000'], environment: {REDIS_HOST: redis}}\n"
      "  redis: {image: redis}\n";
  Draft draft = compose_of(text);
  EXPECT_EQ(wired(&draft, {})["services"][1]["ports"]["redis"], 6379);
  EXPECT_NE(remarks_of(draft).find(
                "'redis' keeps the port 6379, since only its host is told by REDIS_HOST of 'web'"),
            std::string::npos);
  Draft other = compose_of(text);
  const auto json = wired(&other, {reader("web", "web/a.js", "process.env.REDIS_PORT || 6379")});
  EXPECT_EQ(json["services"][0]["env"]["REDIS_PORT"], "${port:redis}");
  EXPECT_FALSE(json["services"][1].contains("ports"));
}

TEST(Wiring, FindsHostsThatStandOnlyInSources) {
  Draft draft = compose_of(
      "services:\n  web: {build: web, command: ./web, ports: [8000]}\n"
      "  users: {build: users, command: ./users}\n  store: {image: redis}\n");
  const auto json = wired(
      &draft,
      {reader("web", "web/a.js",
              "process.env.USERS || 'http://users:5000/x'; process.env.STORE_HOST || 'store'")});
  EXPECT_EQ(json["services"][0]["env"]["USERS"], "http://127.0.0.1:${port:users}/x");
  EXPECT_EQ(json["services"][1]["ports"]["users"], 5000);
  EXPECT_FALSE(json["services"][1].contains("ready"));
  EXPECT_EQ(json["services"][0]["env"]["STORE_HOST"], "127.0.0.1");
  EXPECT_EQ(json["services"][2]["ports"]["store"], 6379);
}

TEST(Wiring, TellsAServiceItsPortByTheVariableThatItReads) {
  Draft draft = compose_of(
      "services:\n  cart: {build: cart, command: node a.js, ports: [8080]}\n"
      "  user: {build: user, command: node a.js, ports: [8080]}\n");
  const auto json =
      wired(&draft, {reader("cart", "cart/a.js", "process.env.CART_SERVER_PORT || '8080'"),
                     reader("user", "user/a.js", "process.env.METRICS_PORT || '8080'")});
  EXPECT_EQ(json["services"][0]["env"]["CART_SERVER_PORT"], "${port:cart}");
  EXPECT_FALSE(json["services"][0].contains("ports"));
  EXPECT_EQ(json["services"][1]["ports"]["user"], 8080);
  EXPECT_FALSE(json["services"][1].contains("env"));
}

TEST(Wiring, TakesWhatACommandReadsAsItsPort) {
  Draft draft = procfile("checkings: uvicorn --port $CHECKING_PORT c:app\nweb: ./web $PORT\n");
  Reader checkings{"checkings", variables_of_command("a", "$CHECKING_PORT"), {}, true};
  checkings.dot_env = {{"CHECKING_PORT", "5600"}};
  const auto json = wired(
      &draft, {checkings, reader("web", "web.py", "os.getenv('CHECKS', 'http://localhost:5600')")});
  EXPECT_EQ(json["services"][0]["env"]["CHECKING_PORT"], "${port:checkings}");
  EXPECT_FALSE(json["services"][0].contains("ready"));
  EXPECT_EQ(json["services"][1]["env"]["CHECKS"], "http://localhost:${port:checkings}");
}

TEST(Wiring, ReadsAPortBesideAHostOfThisMachine) {
  const auto env_of = [](const std::string& host) {
    Draft draft = procfile("users: ./users $PORT\nweb: ./web $PORT\n");
    return wired(&draft, {reader("web", "web.py",
                                 "os.getenv('BACK_HOST', '" + host +
                                     "'), os.getenv('BACK_PORT', '5000')")})["services"][1]["env"];
  };
  EXPECT_EQ(env_of("localhost")["BACK_PORT"], "${port:users}");
  EXPECT_FALSE(env_of("back.example.com").contains("BACK_PORT"));
}

TEST(Wiring, WritesHttpsForAServiceThatServesTls) {
  Draft draft = procfile("pay: ./pay $PORT\nweb: ./web $PORT\n");
  Reader pay = reader("pay", "pay.js", "");
  pay.tls = true;
  EXPECT_EQ(wired(&draft, {pay, reader("web", "web.py",
                                       "os.environ['PAY_URL']")})["services"][1]["env"]["PAY_URL"],
            "https://localhost:${port:pay}");
}

TEST(Wiring, LeavesAVariableOfSharedSourcesToThoseThatHaveIt) {
  Draft draft = compose_of(
      "services:\n  a: {build: ., command: ./a, ports: [8001], environment: {KEY_FILE: k}}\n"
      "  b: {build: ., command: ./b, ports: [8002]}\n");
  Reader a = reader("a", "c.py", "os.environ['KEY_FILE'], os.environ['CA_FILE']");
  for (VariableRead& read : a.reads) read.shared = true;
  Reader b = a;
  b.service = "b";
  wired(&draft, {a, b});
  EXPECT_EQ(remarks_of(draft), "CA_FILE is read by c.py:1 and set by nothing\n");
}

TEST(Wiring, KnowsServicesOfPackagesByTheirDefaultPorts) {
  Draft draft =
      read_package("package.json",
                   R"({"scripts": {"start:api": "node api.js", "start:web": "node web.js"}})",
                   files({}), [](const std::string&) { return std::vector<std::string>(); })
          .value();
  const auto json =
      wired(&draft, {reader("api", "api.js", "process.env.PORT || 4000"),
                     reader("web", "web.js", "process.env.BACKEND || 'http://localhost:4000'")});
  EXPECT_EQ(json["services"][1]["env"]["BACKEND"], "http://localhost:${port:api}");
}

}  // namespace
}  // namespace filibuster::init
