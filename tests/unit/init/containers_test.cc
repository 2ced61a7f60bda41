// What compose files and Dockerfiles of real applications have in them, each in a case of its own.
#include <gtest/gtest.h>

#include "cli/init/images.h"
#include "tests/unit/init/drafts.h"

namespace filibuster::init {
namespace {

// The command of the one service that is built with this Dockerfile.
std::string command_of(const std::string& dockerfile, const std::string& more = "") {
  const auto json = compose("services:\n  a: {build: ., ports: [80]" + more + "}\n",
                            {{"Dockerfile", dockerfile}});
  return json["services"][0].value("command", "");
}

TEST(Folder, IsThatOfTheDockerfileWhereTheContextIsTheRepository) {
  const Files kFiles = {{"src/users/Dockerfile", "FROM python\nCMD [\"python\", \"u.py\"]"},
                        {"docker/a/Dockerfile", "FROM python\nCMD [\"python\", \"a.py\"]"},
                        {"app/one/Dockerfile", "FROM python\nCMD [\"python\", \"1.py\"]"},
                        {"app/two/Dockerfile", "FROM python\nCMD [\"python\", \"2.py\"]"},
                        {"lone/ops/File", "FROM python\nCMD [\"python\", \"3.py\"]"},
                        {"../src/up/Dockerfile", "FROM python\nCMD [\"python\", \"4.py\"]"}};
  const auto json = compose(R"(
services:
  users: {build: {context: ./, dockerfile: ./src/users/Dockerfile}}
  a: {build: {context: ., dockerfile: docker/a/Dockerfile}}
  one: {build: {context: app, dockerfile: one/Dockerfile}}
  two: {build: {context: ./app/, dockerfile: two/Dockerfile}}
  lone: {build: {context: lone, dockerfile: ops/File}}
  up: {build: {context: .., dockerfile: src/up/Dockerfile}}
)",
                            kFiles);
  std::vector<std::string> folders;
  for (const auto& service : json["services"]) folders.push_back(service.value("directory", "."));
  EXPECT_EQ(folders, (std::vector<std::string>{"src/users", ".", "app/one", "app/two", "lone",
                                               "../src/up"}));
}

TEST(Folder, IsTheOneThatIsMountedWhereTheProgramRuns) {
  const auto json = compose(R"(
services:
  a:
    image: node:20
    working_dir: /code/api
    volumes: ["data:/data", "./src:/code:ro"]
    command: npm start
  b:
    build: docker
    volumes: [{type: bind, source: ./b, target: /app}]
)",
                            {{"docker/Dockerfile", "FROM ruby\nWORKDIR /app\nCMD ruby b.rb"}});
  EXPECT_EQ(json["services"][0]["directory"], "src/api");
  EXPECT_EQ(json["services"][0]["command"], "exec npm start");
  EXPECT_EQ(json["services"][1]["directory"], "b");
}

TEST(Entrypoint, OfTheUsualImagesIsKnown) {
  const std::vector<std::pair<std::string, std::string>> kCases = {
      {"FROM gcr.io/distroless/nodejs22-debian12\nCMD [\"index.js\"]", "exec node index.js"},
      {"FROM gcr.io/distroless/python3\nCMD [\"a.py\"]", "exec python3 a.py"},
      {"FROM gcr.io/distroless/java17-debian12\nCMD [\"a.jar\"]", "exec java -jar a.jar"},
      {"FROM gcr.io/distroless/static:nonroot\nCMD [\"./a\"]", "exec ./a"},
      {"FROM cgr.dev/chainguard/node:latest\nCMD [\"a.js\"]", "exec node a.js"},
      {"FROM docker.io/library/node:20-alpine\nCMD [\"a.js\"]", "exec node a.js"},
      {"FROM node\nCMD [\"--enable-source-maps\", \"a.js\"]",
       "exec node --enable-source-maps a.js"},
      {"FROM node\nCMD [\"npm\", \"start\"]", "exec npm start"},
      {"FROM php:8-cli\nCMD [\"-S\", \"0.0.0.0:80\"]", "exec php -S 0.0.0.0:${port:a}"},
      {"FROM php:8.3-apache\nCOPY . /var/www", "exec apache2-foreground"},
      {"FROM php:8-fpm-alpine", "exec php-fpm"},
      {"FROM python:3\nCMD [\"python\", \"a.py\"]", "exec python a.py"},
      {"FROM nginx:alpine\nCOPY a /etc/nginx", "exec nginx -g 'daemon off;'"},
      {"FROM mcr.microsoft.com/dotnet/aspnet:8.0\nENTRYPOINT [\"dotnet\", \"A.dll\"]",
       "exec dotnet A.dll"},
      // Arguments of the build choose the image.
      {"ARG TAG=22\nFROM gcr.io/distroless/nodejs${TAG}\nCMD [\"a.js\"]", "exec node a.js"},
      {"FROM node AS base\nFROM base AS Run\nFROM run\nCMD [\"a.js\"]", "exec node a.js"}};
  for (const auto& [dockerfile, right] : kCases) EXPECT_EQ(command_of(dockerfile), right);
}

TEST(Entrypoint, ThatIsNotKnownIsNamed) {
  const Files argument = {{"Dockerfile", "FROM example.org/ours:3\nCMD [\"listen\", \"80\"]"}};
  const std::string remarks =
      remarks_of(drafted("services:\n  a: {build: ., ports: [80]}\n", argument));
  EXPECT_NE(
      remarks.find("'a' runs `listen 80`, which may be an argument of the entrypoint that its "
                   "base image example.org/ours:3 brings"),
      std::string::npos)
      << remarks;
  for (const char* const known :
       {"FROM example.org/ours:3\nCMD [\"./serve\"]",
        "FROM example.org/ours:3\nCMD python3.11 a.py",
        "FROM example.org/ours:3\nENTRYPOINT [\"listen\"]", "FROM debian:12\nCMD [\"listen\"]"})
    EXPECT_EQ(
        remarks_of(drafted("services:\n  a: {build: ., ports: [80]}\n", {{"Dockerfile", known}})),
        "")
        << known;
  const std::string none = remarks_of(
      drafted("services:\n  a: {build: .}\n", {{"Dockerfile", "FROM example.org/ours:3"}}));
  EXPECT_NE(none.find("what its base image example.org/ours:3 runs is not known"),
            std::string::npos)
      << none;
}

TEST(Entrypoint, OfAnImageThatIsNotBuiltHereLeavesItToTheUser) {
  const auto json = compose(R"(
services:
  flags: {image: "example.org/flags:1", command: "start --uri f.json", ports: [8013]}
  load: {image: example.org/load, command: ["-d", "60"]}
  own: {image: example.org/own, command: python worker.py}
)");
  const auto& services = json["services"];
  EXPECT_FALSE(services[0].contains("command"));
  EXPECT_EQ(services[0]["interpose"], false);
  EXPECT_EQ(services[0]["ports"]["flags"], 8013);
  EXPECT_FALSE(services[1].contains("command"));
  EXPECT_EQ(services[2]["command"], "exec python worker.py");
  EXPECT_NE(remarks_of(drafted("services:\n  a: {image: x, command: -d 60}\n"))
                .find("its image runs `-d 60` behind an entrypoint that is not known here"),
            std::string::npos);
}

TEST(Command, IsTheEntrypointAndThenTheCommand) {
  const std::string image = "FROM debian\nENTRYPOINT [\"./a\"]\nCMD [\"--all\"]\n";
  EXPECT_EQ(command_of(image), "exec ./a --all");
  EXPECT_EQ(command_of(image, ", command: [--one]"), "exec ./a --one");
  EXPECT_EQ(command_of(image, ", entrypoint: ./b"), "exec ./b");
  EXPECT_EQ(command_of(image, ", entrypoint: [./b], command: [c]"), "exec ./b c");
  EXPECT_EQ(command_of("FROM debian\nENTRYPOINT ./a $X\nCMD [\"b\"]\n"), "exec ./a $X");
  EXPECT_EQ(command_of("FROM debian\nCMD ./a --x\nENTRYPOINT [\"./e\"]\n"),
            "exec ./e /bin/sh -c './a --x'");
  EXPECT_EQ(command_of("FROM debian AS x\nCMD [\"b\"]\nFROM x\nENTRYPOINT [\"./a\"]\n"),
            "exec ./a");
  // A text that an instruction brings is none of the Dockerfile's.
  EXPECT_EQ(command_of("FROM debian\nCMD [\"./a\"]\nRUN <<EOF\nFROM x\nCMD y\nEOF\n"), "exec ./a");
}

TEST(Dockerfile, SaysPortsAndVariables) {
  const auto json =
      compose("services:\n  a: {build: {context: ., args: [\"PORT=81\"]}}\n",
              {{"Dockerfile",
                "FROM debian\nARG PORT=80\nARG NAME=shop\nENV ADMIN=${PORT} PATH=/opt/bin:$PATH\n"
                "ENV TITLE=\"My $NAME\"\nEXPOSE $PORT 53/udp\nCMD [\"./a\"]\n"}});
  const auto& a = json["services"][0];
  EXPECT_EQ(a["ports"]["a"], 81);
  EXPECT_EQ(a["env"], (nlohmann::json{{"ADMIN", "81"}, {"TITLE", "My shop"}}));
}

TEST(Servers, ThatSpeakRedisAreRedis) {
  for (const char* const image :
       {"redis", "redis:7-alpine", "redis/redis-stack-server", "bitnami/redis:7", "valkey/valkey:9",
        "ghcr.io/valkey-io/valkey:9", "eqalpha/keydb",
        "docker.dragonflydb.io/dragonflydb/dragonfly", "localhost:5000/redis@sha256:abc"}) {
    const auto json = compose("services:\n  s: {image: '" + std::string(image) + "'}\n");
    EXPECT_EQ(json["services"][0].value("protocol", ""), "redis") << image;
  }
  for (const char* const image : {"oliver006/redis_exporter", "rediscommander/redis-commander",
                                  "redis-exporter", "example.org/predis", "kafka"}) {
    const auto json = compose("services:\n  s: {image: '" + std::string(image) + "'}\n");
    EXPECT_FALSE(json["services"][0].contains("protocol")) << image;
  }
}

TEST(Servers, AreKnownBelowADockerfileAndHaveTheirPorts) {
  const auto json = compose(R"(
services:
  db: {build: ./db}
  cache: {build: ./cache}
  other: {image: "postgres:16"}
  queue: {image: "rabbitmq:3-management", ports: ["15672:15672"]}
  a: {build: ., command: ./a, environment: {DB_HOST: db, QUEUE_URL: "amqp://u:p@queue/v"}}
)",
                            {{"db/Dockerfile", "FROM postgres:16\nCOPY i.sql /"},
                             {"cache/Dockerfile", "FROM valkey/valkey:9\nCOPY v.conf /"}});
  const auto& services = json["services"];
  EXPECT_EQ(services[0]["ports"]["db"], 5432);
  EXPECT_EQ(services[0]["interpose"], false);
  EXPECT_EQ(services[1]["protocol"], "redis");
  EXPECT_EQ(services[2]["ports"]["other"], 5433);  // two cannot have one port
  EXPECT_EQ(services[3]["ports"]["queue"], 5672);
  EXPECT_EQ(services[4]["env"]["QUEUE_URL"], "amqp://u:p@127.0.0.1:${port:queue}/v");
}

TEST(Addresses, AreFoundInTheFormsInWhichTheyStand) {
  const auto json = compose(R"(
services:
  ad:
    build: .
    command: ad
    environment:
      OTEL_SERVICE_NAME: ad
      DATABASE: db
      EventBusConnection: queue
      DB: "Server=db;Port=5432;Database=db"
      DSN: "host=db user=x"
      JDBC: "jdbc:postgresql://db/shop"
      TWO: "http://cart:7070/a,http://cart:7070/b"
      THIRD: "http://cart-extra/x"
      ALIAS: "basket:7070"
      ASPNETCORE_URLS: "http://*:8080"
      AD_PORT: 8080
      MAPS_HOST: maps
      MAPS_PORT: 8080
      CART_ADMIN_HOST: cart
    ports: [8080]
  cart: {build: ., command: ./cart, container_name: basket, ports: [7070]}
  db: {image: postgres}
  queue: {image: rabbitmq}
)");
  const auto& ad = json["services"][0];
  EXPECT_EQ(ad["command"], "exec ad");
  EXPECT_EQ(
      ad["env"],
      (nlohmann::json{{"OTEL_SERVICE_NAME", "ad"},
                      {"DATABASE", "db"},
                      {"EventBusConnection", "127.0.0.1"},
                      {"DB", "Server=127.0.0.1;Port=5432;Database=db"},
                      {"DSN", "host=127.0.0.1 user=x"},
                      {"JDBC", "jdbc:postgresql://127.0.0.1:${port:db}/shop"},
                      {"TWO", "http://127.0.0.1:${port:cart}/a,http://127.0.0.1:${port:cart}/b"},
                      {"THIRD", "http://cart-extra/x"},
                      {"ALIAS", "127.0.0.1:${port:cart}"},
                      {"ASPNETCORE_URLS", "http://*:${port:ad}"},
                      {"AD_PORT", "${port:ad}"},
                      {"MAPS_HOST", "maps"},
                      {"MAPS_PORT", "8080"},
                      {"CART_ADMIN_HOST", "127.0.0.1"}}));
}

TEST(Ports, OneNumberIsNeverListedTwice) {
  const auto json = compose(
      R"(
services:
  a: {build: ., command: ./a, ports: [80, 9000]}
  b: {build: ., command: ./b, ports: [81, 9000]}
  c: {image: example.org/c, ports: [82, 80]}
  d: {build: d, ports: [80]}
)",
      {{"d/Dockerfile", "FROM mcr.microsoft.com/dotnet/aspnet:8.0\nCMD [\"dotnet\", \"d.dll\"]"}});
  EXPECT_EQ(json["services"][0]["ports"].size(), 2u);
  EXPECT_EQ(json["services"][1]["ports"], (nlohmann::json{{"b", 81}}));
  EXPECT_EQ(json["services"][2]["ports"], (nlohmann::json{{"c", 82}}));
  EXPECT_EQ(json["services"][3]["env"]["ASPNETCORE_URLS"], "http://127.0.0.1:${port:d}");
}

TEST(Compose, MergesKeysOverridesExtensionsAndIncludes) {
  const std::string text = R"(
include: [parts/more.yaml]
x-all: &all
  environment: {LEVEL: info}
  build: {context: ., dockerfile: a/Dockerfile}
services:
  a:
    <<: *all
    command: ./a
  b:
    extends: a
    command: [./b]
    environment: ["WHO=b"]
  c:
    extends: {file: parts/base.yaml, service: base}
)";
  const Files kFiles = {
      {"parts/base.yaml", "services:\n  base: {build: c, command: ./c, env_file: c.env}\n"},
      {"parts/c/Dockerfile", "FROM debian"},
      {"parts/c.env", "FROM_FILE=1\n"},
      {"parts/more.yaml", "services:\n  d: {build: {context: d}, command: ./d}\n"},
      {"a/Dockerfile", "FROM debian"},
      {"compose.override.yml",
       "services:\n  a: {command: [./over], ports: [80], environment: {LEVEL: debug}}\n"}};
  const Draft draft = drafted(text, kFiles);
  EXPECT_EQ(draft.source, "compose.yaml and compose.override.yml");
  const auto services = written(draft)["services"];
  ASSERT_EQ(services.size(), 4u);
  EXPECT_EQ(services[0]["command"], "exec ./over");
  EXPECT_EQ(services[0]["env"]["LEVEL"], "debug");
  EXPECT_EQ(services[0]["directory"], "a");
  EXPECT_EQ(services[1]["command"], "exec ./b");
  EXPECT_EQ(services[1]["env"], (nlohmann::json{{"LEVEL", "info"}, {"WHO", "b"}}));
  EXPECT_EQ(services[2]["directory"], "parts/c");
  EXPECT_EQ(services[2]["env"]["FROM_FILE"], "1");
  EXPECT_EQ(services[3]["directory"], "parts/d");
  // A file of another name has no override.
  EXPECT_EQ(written(drafted(text, kFiles, {}, "ci.yaml"))["services"][0]["command"], "exec ./a");
}

TEST(Compose, FilesThatDoNotEndAreMistakes) {
  const Files kFiles = {{"compose.yaml", "include: [compose.yaml]\n"},
                        {"x.yaml", "services:\n  b: {extends: {file: x.yaml, service: b}}\n"}};
  std::string laughs = "a: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 8; ++j) laughs += "," + before;
    laughs += "]\n";
  }
  for (const std::string& text :
       {std::string("include: [compose.yaml]\n"), std::string("include: [none.yaml]\n"),
        std::string("services:\n  a: {extends: a}\n  b: {extends: {file: x.yaml, service: b}}\n"),
        std::string("services:\n  a: {extends: {file: none.yaml, service: b}}\n"),
        laughs + "services:\n  a: {command: *a11}\n"}) {
    const auto draft = read_compose("compose.yaml", text, files(kFiles), variables({}));
    ASSERT_FALSE(draft.ok()) << text;
    EXPECT_NE(draft.error().message.find(": "), std::string::npos);
  }
}

TEST(Compose, ProfilesThatNobodyAsksForAreLeftOut) {
  const std::string text =
      "services:\n  a: {build: ., command: ./a}\n  b: {build: ., command: ./b, profiles: [more]}\n";
  EXPECT_EQ(compose(text)["services"].size(), 1u);
  EXPECT_NE(remarks_of(drafted(text)).find("'b'"), std::string::npos);
  EXPECT_EQ(compose(text, {}, {{"COMPOSE_PROFILES", "x,more"}})["services"].size(), 2u);
}

TEST(Compose, PathsOfContainersAreNamed) {
  for (const auto& [command, named] :
       std::map<std::string, bool>{{"java -jar /app.jar", true},
                                   {"/entrypoint.sh a", true},
                                   {"sh -c 'exec /srv/a'", true},
                                   {"sh -c 'a > /etc/a.conf'", true},
                                   {"/bin/sh -c /usr/bin/env", false},
                                   {"./a http://b/c d/e", false}}) {
    const std::string remarks = remarks_of(
        drafted("services:\n  a: {build: ., ports: [80], command: \"" + command + "\"}\n"));
    EXPECT_EQ(remarks.find("a path of its container") != std::string::npos, named) << command;
  }
}

TEST(Test, AsksTheServiceInFrontOfTheOthers) {
  const auto asked = [](const std::string& services) {
    return compose("services:\n" + services)["tests"][0]["command"].get<std::string>();
  };
  EXPECT_NE(asked("  api-gateway: {build: ., command: ./g, ports: [80]}\n"
                  "  a: {build: ., command: ./a, ports: [81]}\n")
                .find("${port:api-gateway}"),
            std::string::npos);
  EXPECT_NE(asked("  db: {image: postgres}\n  edge: {image: e, ports: [80]}\n"
                  "  a: {image: a, ports: [81]}\n")
                .find("${port:edge}"),
            std::string::npos);
}

using Names = std::vector<std::string>;

TEST(Init, ServicesOfAComposeFileAreReachedUnderTheirNames) {
  const auto config = compose(R"(services:
  web:
    build: .
    command: python app.py
    ports: ["8000:5000", "9090"]
    links: ["db:Database"]
  worker:
    build: .
    command: python worker.py
  redis:
    image: redis:7
    container_name: shop-redis
  db:
    image: postgres
    hostname: postgres.internal
    networks:
      back:
        aliases: [store, "10.0.0.1", localhost]
  other:
    image: postgres
    networks:
      back:
        aliases: [store]
)");
  const auto hosts = [&](size_t i) { return config["services"][i]["hosts"].get<Names>(); };
  EXPECT_EQ(hosts(0), (Names{"web:5000", "web:9090"}));
  EXPECT_FALSE(config["services"][1].contains("hosts")) << "it does not listen";
  EXPECT_EQ(hosts(2), (Names{"redis:6379", "shop-redis:6379"}));
  EXPECT_EQ(hosts(3), (Names{"db:5432", "postgres.internal:5432", "store:5432", "database:5432"}));
  EXPECT_EQ(hosts(4), (Names{"other:5432"})) << "'store' is one of the two";
  EXPECT_EQ(config["services"][4]["ports"]["other"], 5433);
}

TEST(Init, AServiceWithAFreePortIsCalledAtItsPortInTheContainer) {
  const auto config = compose(R"(services:
  users:
    build: .
    command: python users.py
    environment: {PORT: 8080}
)");
  EXPECT_EQ(config["services"][0]["hosts"].get<Names>(), Names{"users:8080"});
  EXPECT_FALSE(config["services"][0].contains("ports"));
}

}  // namespace
}  // namespace filibuster::init
