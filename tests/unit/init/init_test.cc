#include <gtest/gtest.h>

#include "tests/unit/init/drafts.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster::init {
namespace {

TEST(Compose, NamesOfContainersBecomeAddressesOfThisMachine) {
  const auto json = compose(R"(
services:
  users:
    build: ./users
    command: python users.py --port 5000
    ports: ["8080:5000"]
    environment:
      MOVIES_URL: http://movies:${MOVIES_PORT:-5001}/api
      DB_HOST: db
      DB_PORT: 5432
    depends_on: [movies, db]
  movies:
    build: {context: movies, dockerfile: Docker}
    environment: ["CACHE=redis://cache:6379/0", "EMPTY="]
    healthcheck: {test: ["CMD", "curl", "-f", "http://localhost:5001/health"]}
  db: {image: "postgres:15", ports: ["5432"]}
  cache: {image: "redis:7-alpine", ports: ["6379:6379"]}
)",
                            {{"movies/Docker",
                              "FROM node AS base\nEXPOSE 5001/tcp\nENV PORT=5001\nFROM base\n"
                              "# comment\nCMD [\"node\", \\\n  \"app.js\"]\n"}});
  const auto& services = json["services"];
  ASSERT_EQ(services.size(), 4u);
  EXPECT_EQ(services[0]["command"], "exec python users.py --port ${port:users}");
  EXPECT_EQ(services[0]["directory"], "users");
  EXPECT_FALSE(services[0].contains("ports"));
  EXPECT_EQ(services[0]["env"]["MOVIES_URL"], "http://127.0.0.1:${port:movies}/api");
  EXPECT_EQ(services[0]["env"]["DB_HOST"], "127.0.0.1");
  EXPECT_EQ(services[0]["env"]["DB_PORT"], "${port:db}");
  EXPECT_EQ(services[1]["command"], "exec node app.js");
  EXPECT_EQ(services[1]["env"]["PORT"], "${port:movies}");
  EXPECT_EQ(services[1]["env"]["CACHE"], "redis://127.0.0.1:${port:cache}/0");
  EXPECT_EQ(services[1]["ready"]["http"], "/health");
  EXPECT_EQ(services[2]["interpose"], false);
  EXPECT_EQ(services[2]["ports"]["db"], 5432);
  EXPECT_EQ(services[3]["protocol"], "redis");
}

TEST(Compose, TwoServicesAtOnePortGetTwo) {
  const auto json = compose(
      "services:\n  a: {build: a, command: ./a, ports: [80]}\n"
      "  b: {build: b, command: ./b, expose: ['80']}\n");
  EXPECT_EQ(json["services"][0]["ports"]["a"], 80);
  EXPECT_EQ(json["services"][1]["env"]["PORT"], "${port:b}");
}

TEST(Compose, WhatIsNotKnownIsSaid) {
  const auto draft =
      read_compose("c.yaml", "services:\n  a: {build: .}\n", files({}), variables({}));
  ASSERT_TRUE(draft.ok());
  EXPECT_EQ(draft->remarks, std::vector<std::string>{
                                "the command of 'a' is not known: Dockerfile could not be read"});
  written(draft.value());
}

TEST(Compose, MistakesHaveTheirPlaces) {
  for (const auto& [text, place] : std::map<std::string, std::string>{
           {"services: 3\n", "c.yaml:1:1: "},
           {"services:\n  a: 3\n", "c.yaml:2:3: "},
           {"services:\n\t- a", "c.yaml:2:2: "},
           {"", "c.yaml:1:1: "},
           {"services:\n  a: {ports: {b: c}}\n", "c.yaml:2:3: expected a list for 'ports'"},
           {"services:\n  a: {image: [x]}\n", "c.yaml:2:3: expected a text for 'image'"}}) {
    const auto draft = read_compose("c.yaml", text, files({}), variables({}));
    ASSERT_FALSE(draft.ok()) << text;
    EXPECT_TRUE(draft.error().message.starts_with(place)) << draft.error().message;
  }
}

TEST(Procfile, EachLineIsAService) {
  const auto draft = read_procfile(
      "Procfile",
      "# app\nweb: gunicorn app:app -b 127.0.0.1:$PORT\nworker: cd w && ./w\nrelease: ./m\n",
      files({}));
  ASSERT_TRUE(draft.ok());
  const auto json = written(draft.value());
  ASSERT_EQ(json["services"].size(), 2u);
  EXPECT_EQ(json["services"][0]["command"], "exec gunicorn app:app -b 127.0.0.1:$PORT");
  EXPECT_EQ(json["services"][0]["env"]["PORT"], "${port:web}");
  EXPECT_EQ(json["services"][1]["ready"], "none");
  EXPECT_NE(json["tests"][0]["command"].get<std::string>().find("${port:web}"), std::string::npos);
  EXPECT_EQ(read_procfile("Procfile", "\nweb gunicorn\n", files({})).error().message,
            "Procfile:2:1: expected NAME: COMMAND");
}

TEST(Procfile, KnowsServersAndWritesExec) {
  const auto draft = read_procfile("Procfile",
                                   "cache: redis-server --port 7000 --save ''\n"
                                   "queue: redis-server\n"
                                   "other: valkey-server --port $PORT\n"
                                   "db: postgres -D data -p 5433\n"
                                   "search: elasticsearch\n"
                                   "web: PYTHONPATH=. WORKERS=2 gunicorn app:app -b :$PORT\n"
                                   "api: exec ./api $PORT\n",
                                   files({}));
  ASSERT_TRUE(draft.ok());
  const auto services = written(draft.value())["services"];
  ASSERT_EQ(services.size(), 7u);
  EXPECT_EQ(services[0]["protocol"], "redis");
  EXPECT_EQ(services[0]["command"], "exec redis-server --port 7000 --save ''");
  EXPECT_EQ(services[0]["ports"]["cache"], 7000);
  EXPECT_FALSE(services[0].contains("ready"));
  EXPECT_EQ(services[1]["ports"]["queue"], 6379);
  EXPECT_EQ(services[2]["protocol"], "redis");
  EXPECT_EQ(services[2]["env"]["PORT"], "${port:other}");
  EXPECT_EQ(services[3]["interpose"], false);
  EXPECT_EQ(services[3]["ports"]["db"], 5433);
  EXPECT_EQ(services[4]["ready"], "none");
  EXPECT_EQ(services[5]["command"], "exec env PYTHONPATH=. WORKERS=2 gunicorn app:app -b :$PORT");
  EXPECT_EQ(services[6]["command"], "exec ./api $PORT");
}

TEST(TestOfFolder, IsPytestsWhereItWouldFindTests) {
  for (const char* const file : {"conftest.py", "pytest.ini", "test_shop.py", "shop_test.py",
                                 "tests/test_shop.py", "tests/conftest.py", "test/test_a.py"}) {
    TemporaryFolder folder;
    EXPECT_EQ(test_of_folder(folder.path()), "");
    for (const char* const below : {"/tests", "/test"})
      std::filesystem::create_directory(folder.path() + below);
    folder.write("shop.py", "");
    folder.write("tests/data.txt", "");
    EXPECT_EQ(test_of_folder(folder.path()), "");
    folder.write(file, "");
    EXPECT_EQ(test_of_folder(folder.path()), "exec pytest -q") << file;
  }
  EXPECT_EQ(test_of_folder("/no/such/folder"), "");
}

TEST(Listeners, AreNamedByTheirPrograms) {
  const Draft draft =
      read_listeners({{10, 5000, {"/usr/bin/python3", "-u", "/app/users.py"}, "/app"},
                      {11, 5001, {"java", "-jar", "it's shop.jar"}, "/srv"},
                      {11, 5002, {}, ""},
                      {12, 6379, {"redis-server", "*:6379"}, "/"},
                      {13, 80, {"./users"}, "/app/x"}},
                     "/app");
  const auto json = written(draft);
  const auto& services = json["services"];
  ASSERT_EQ(services.size(), 4u);
  EXPECT_EQ(services[0]["name"], "users");
  EXPECT_EQ(services[0]["command"], "exec /usr/bin/python3 -u /app/users.py");
  EXPECT_FALSE(services[0].contains("directory"));
  EXPECT_EQ(services[1]["name"], "it-s-shop");
  EXPECT_EQ(services[1]["ports"].size(), 2u);
  EXPECT_EQ(services[1]["directory"], "/srv");
  EXPECT_EQ(services[2]["protocol"], "redis");
  EXPECT_EQ(services[3]["name"], "users-2");
  EXPECT_EQ(services[3]["directory"], "x");
}

}  // namespace
}  // namespace filibuster::init
