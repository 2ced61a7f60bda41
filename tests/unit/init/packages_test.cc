#include <gtest/gtest.h>

#include "tests/unit/init/drafts.h"

namespace filibuster::init {
namespace {

// The folders of the files' paths.
ListFolders folders(Files all) {
  return [all = std::move(all)](const std::string& folder) {
    std::vector<std::string> out;
    const std::string begin = folder.empty() ? "" : folder + "/";
    for (const auto& [path, text] : all) {
      const size_t slash = path.find('/', begin.size());
      if (!path.starts_with(begin) || slash == std::string::npos) continue;
      const std::string name = path.substr(begin.size(), slash - begin.size());
      if (out.empty() || out.back() != name) out.push_back(name);
    }
    return out;
  };
}

Result<Draft> package(const std::string& text, const Files& all = {}) {
  return read_package("package.json", text, files(all), folders(all));
}

std::string names(const std::string& text, const Files& all = {}) {
  const auto draft = package(text, all);
  if (!draft) return draft.error().message;
  std::string out;
  for (const DraftService& service : draft->services)
    out += (out.empty() ? "" : " ") + service.name;
  written(draft.value());
  return out;
}

TEST(Package, ScriptsThatStartAreServices) {
  const auto draft = package(
      R"({"name": "@shop/all", "scripts": {"start:api": "node api.js", "build": "tsc", "test": "jest"},
          "workspaces": ["web"]})",
      {{"web/package.json", R"({"name": "web", "scripts": {"start": "next start"}})"}});
  ASSERT_TRUE(draft.ok());
  const auto json = written(draft.value());
  ASSERT_EQ(json["services"].size(), 2u);
  EXPECT_EQ(json["services"][0]["name"], "api");
  EXPECT_EQ(json["services"][0]["command"], "exec node api.js");
  EXPECT_EQ(json["services"][1]["directory"], "web");
  EXPECT_EQ(json["tests"][0]["command"], "npm test");
  EXPECT_FALSE(package("{}").ok());
  EXPECT_FALSE(package("{").ok());
  EXPECT_FALSE(package("1e999").ok());
  EXPECT_FALSE(package(std::string(1000, '[')).ok());
}

TEST(Package, AScriptThatOnlyStartsTheOthersIsNone) {
  for (const char* const start :
       {"concurrently npm:start:*", "concurrently 'npm run start:api' 'npm run start:web'",
        "npm-run-all -p start:*", "run-p start:**", "npx turbo run start",
        "lerna run start --parallel", "nx run-many -t start",
        "cross-env NODE_ENV=production concurrently a b", "npm run start:api & npm run start:web",
        "npm start --workspaces", "pnpm -r start", "yarn workspaces run start",
        "pnpm --filter=web start", "docker compose up", "nf start"}) {
    const std::string text = R"({"name": "all", "scripts": {"start": ")" + std::string(start) +
                             R"(", "start:api": "node api.js", "start:web": "next start"}})";
    EXPECT_EQ(names(text), "api web") << start;
  }
  for (const char* const start : {"node server.js", "npm run build && node server.js", "next start",
                                  "nodemon --exec 'ts-node a.ts'", "npm run start:prod"}) {
    const std::string text = R"({"name": "all", "scripts": {"start": ")" + std::string(start) +
                             R"(", "start:dev": "node dev.js", "start:prod": "node p.js"}})";
    EXPECT_EQ(names(text), "all") << start;
  }
  EXPECT_NE(
      names(R"({"scripts": {"start": "turbo run start"}})").find("only starts other programs"),
      std::string::npos);
}

TEST(Package, WorkspacesAreThoseOfTheirPatterns) {
  const std::string own = R"({"scripts": {"start": "node a.js"}})";
  const Files all = {{"apps/api/package.json", own},
                     {"apps/docs/package.json", own},
                     {"apps/node_modules/x/package.json", own},
                     {"deep/a/b/package.json", own},
                     {"packages/lib/package.json", R"({"scripts": {"build": "tsc"}})"}};
  EXPECT_EQ(names(R"({"workspaces": ["apps/*", "!apps/docs", "packages/*"]})", all), "api");
  EXPECT_EQ(names(R"({"workspaces": {"packages": ["./deep/**"]}})", all), "b");
  EXPECT_EQ(names(R"({"workspaces": ["deep/*/b", "apps/api"]})", all), "b api");
  Files pnpm = all;
  pnpm["pnpm-workspace.yaml"] =
      "packages:\n  - \"apps/*\"\n  - '!apps/docs' # none\nother:\n  - deep/**\n";
  EXPECT_EQ(names("{}", pnpm), "api");
  Files lerna = all;
  lerna["lerna.json"] = R"({"packages": ["deep/*/*"]})";
  EXPECT_EQ(names("{}", lerna), "b");
}

TEST(Package, KnowsServers) {
  const auto draft = package(R"({"scripts": {"start:cache": "redis-server --port 7000"}})");
  ASSERT_TRUE(draft.ok());
  const auto service = written(draft.value())["services"][0];
  EXPECT_EQ(service["protocol"], "redis");
  EXPECT_EQ(service["ports"]["cache"], 7000);
}

TEST(Procfile, AServerGetsThePortOfItsCommandOrItsSettings) {
  const auto draft = read_procfile("Procfile",
                                   "a: redis-server\n"
                                   "b: redis-server conf/redis.conf\n"
                                   "c: /usr/bin/keydb-server conf/redis.conf --port 7002\n"
                                   "d: dragonfly --port=7003\n"
                                   "e: redis-server none.conf --save ''\n",
                                   files({{"conf/redis.conf", "# port 1\nport 7001\nsave ''\n"}}));
  ASSERT_TRUE(draft.ok());
  Draft one = draft.value();
  one.services.pop_back();  // it has the port of the first
  const auto services = written(one)["services"];
  EXPECT_EQ(draft->services[4].ports, std::vector<uint16_t>{6379});
  const std::vector<int> kPorts = {6379, 7001, 7002, 7003};
  for (size_t i = 0; i < kPorts.size(); ++i) {
    EXPECT_EQ(services[i]["protocol"], "redis");
    EXPECT_EQ(services[i]["ports"][std::string(1, static_cast<char>('a' + i))], kPorts[i]);
  }
}

}  // namespace
}  // namespace filibuster::init
