#include "cli/init/peers.h"

#include <gtest/gtest.h>

namespace filibuster::init {
namespace {

Peer peer(const std::string& name, std::vector<uint16_t> ports, bool free = true) {
  Peer out;
  out.name = name;
  out.hosts = {name};
  out.ports = std::move(ports);
  out.server = known_server(name);
  out.free = free;
  return out;
}

std::vector<Peer> shop() {
  return {peer("api-gateway", {8080}), peer("users", {5001}),
          peer("movies", {5002}),      peer("productcatalogservice", {3550}),
          peer("redis", {6379}),       peer("postgres", {5432}, false)};
}

std::string about(const std::string& variable, const std::vector<Peer>& peers = shop()) {
  const Peer* const found = peer_about(read_variable_name(variable), peers);
  return found == nullptr ? "" : found->name;
}

TEST(Peers, AreFoundByTheNameOfAVariable) {
  EXPECT_EQ(about("USERS_URL"), "users");
  EXPECT_EQ(about("USER_SERVICE_HOST"), "users");
  EXPECT_EQ(about("USERSERVICE_URL"), "users");
  EXPECT_EQ(about("MOVIES_BASE_URL"), "movies");
  EXPECT_EQ(about("VITE_MOVIES_API_URL"), "movies");
  EXPECT_EQ(about("GATEWAY_URL"), "api-gateway");
  EXPECT_EQ(about("API_GATEWAY_PORT"), "api-gateway");
  EXPECT_EQ(about("PRODUCT_CATALOG_SERVICE_ADDR"), "productcatalogservice");
  EXPECT_EQ(about("REDISHOST"), "redis");
  EXPECT_EQ(about("CACHE_URL"), "redis");
  EXPECT_EQ(about("SPRING_DATA_REDIS_HOST"), "redis");
  EXPECT_EQ(about("DB_HOST"), "postgres");
  EXPECT_EQ(about("PG_PORT"), "postgres");
  EXPECT_EQ(about("moviesUrl"), "movies");
  EXPECT_EQ(about("BASE_URL"), "");
  EXPECT_EQ(about("PAYMENTS_URL"), "");
  EXPECT_EQ(about("RABBITMQ_HOST"), "");
  // Two that could be meant are none.
  EXPECT_EQ(about("DB_HOST", {peer("mysql", {}), peer("postgres", {})}), "");
  EXPECT_EQ(about("DB_HOST", {peer("mysql", {}), peer("db", {})}), "db");
}

std::string linked(const std::string& variable, const std::optional<std::string>& value, From from,
                   const std::string& self = "", const Peer* general = nullptr) {
  const std::vector<Peer> peers = shop();
  const auto link = link_to(variable, value, from, peers, self, general);
  return link ? link->value : "";
}

TEST(Links, OfGivenValuesReplaceWhatIsAnAddressOfAService) {
  const auto given = [](const std::string& variable, const std::string& value,
                        const std::string& self = "") {
    return linked(variable, value, From::kFiles, self);
  };
  EXPECT_EQ(given("REDIS_PORT", "6379"), "${port:redis}");
  EXPECT_EQ(given("REDIS_URL", "redis://:pw@localhost:6379/0"),
            "redis://:pw@localhost:${port:redis}/0");
  EXPECT_EQ(given("BROKER", "redis:6379"), "127.0.0.1:${port:redis}");
  EXPECT_EQ(given("USERS_URL", "https://localhost:5001/v1"), "https://localhost:${port:users}/v1");
  EXPECT_EQ(given("PEERS", "127.0.0.1:5001,localhost:5002"),
            "127.0.0.1:${port:users},localhost:${port:movies}");
  EXPECT_EQ(given("BACKEND", "http://host.docker.internal:5001"), "http://127.0.0.1:${port:users}");
  EXPECT_EQ(given("MOVIES", "http://movies/all"), "http://127.0.0.1:${port:movies}/all");
  EXPECT_EQ(given("REDIS_HOST", "redis"), "127.0.0.1");
  // No one is at its number, and its name says which service is meant.
  EXPECT_EQ(given("USERS_URL", "http://localhost:9000"), "http://localhost:${port:users}");
  // The number says more than the name.
  EXPECT_EQ(given("USERS_URL", "http://localhost:5002"), "http://localhost:${port:movies}");
  for (const auto& [variable, value] : std::vector<std::pair<std::string, std::string>>{
           {"PORT", "6379"},
           {"METRICS_PORT", "6379"},
           {"TIMEOUT", "6379"},
           {"POSTGRES_PORT", "5433"},
           {"USERS_URL", "https://users.example.com"},
           {"USERS_URL", "https://users.example.com:5001"},
           {"X", "localhost:9000"},
           {"TIME", "12:5001"},
           {"DSN", "u:5001@elsewhere"},
           {"BIND", "0.0.0.0:5001"},
           {"USERS_NAME", "users of movies"}})
    EXPECT_EQ(given(variable, value), "") << variable << "=" << value;
  EXPECT_EQ(given("LISTEN", "localhost:5001", "users"), "");
  EXPECT_EQ(given("USERS_PORT", "5001", "users"), "");
  EXPECT_EQ(given("USERS_PORT", "5001", "movies"), "${port:users}");
}

TEST(Links, OfSourcesAreMadeOfNameAndDefault) {
  const auto read = [](const std::string& variable, std::optional<std::string> value = {}) {
    return linked(variable, value, From::kSource);
  };
  EXPECT_EQ(read("GATEWAY_URL"), "http://127.0.0.1:${port:api-gateway}");
  EXPECT_EQ(read("USERS_ADDR"), "127.0.0.1:${port:users}");
  EXPECT_EQ(read("USERS_HOST"), "127.0.0.1");
  EXPECT_EQ(read("USERS_PORT"), "${port:users}");
  EXPECT_EQ(read("REDIS_PORT", "6379"), "${port:redis}");
  EXPECT_EQ(read("REDIS_URL"), "redis://127.0.0.1:${port:redis}");
  EXPECT_EQ(read("USERS_URL", "https://localhost:9000/v1"), "https://localhost:${port:users}/v1");
  EXPECT_EQ(read("USERS_URL", "http://user-service:80"), "http://127.0.0.1:${port:users}");
  EXPECT_EQ(read("USERS_URL", "https://users.example.com"), "http://127.0.0.1:${port:users}");
  EXPECT_EQ(read("BACKEND_URL", "http://localhost:5002"), "http://localhost:${port:movies}");
  EXPECT_EQ(read("POSTGRES_URL"), "");  // its user and its database are not known
  EXPECT_EQ(read("USERS_TOKEN"), "");
  EXPECT_EQ(read("USERS_TIMEOUT", "5001"), "");
  EXPECT_EQ(read("BASE_URL"), "");
  const std::vector<Peer> peers = shop();
  EXPECT_EQ(linked("BASE_URL", std::nullopt, From::kSource, "", &peers[0]),
            "http://127.0.0.1:${port:api-gateway}");
  EXPECT_EQ(linked("USERS_URL", std::nullopt, From::kSource, "", &peers[0]),
            "http://127.0.0.1:${port:users}");
  EXPECT_EQ(linked("STRIPE_URL", std::nullopt, From::kSource, "", &peers[0]), "");
}

TEST(Links, OfCommandsAreThoseThatAsk) {
  const std::vector<Peer> peers = shop();
  EXPECT_EQ(linked_command("./a --users http://localhost:5001 --redis localhost:6379 -b "
                           "localhost:5002",
                           peers, "x"),
            "./a --users http://localhost:${port:users} --redis localhost:${port:redis} -b "
            "localhost:5002");
}

}  // namespace
}  // namespace filibuster::init
