// Servers that applications use and do not build themselves.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>

#include "cli/init/draft.h"

namespace filibuster::init {
namespace {

constexpr uint16_t kRedisPort = 6379;
// A name with a '/' is the end of the name of an image.
// clang-format off
constexpr Server kServers[] = {
    {"redis", kRedisPort, true}, {"valkey", kRedisPort, true}, {"keydb", kRedisPort, true},
    {"dragonfly", kRedisPort, true},
    {"redismod", kRedisPort, true}, {"garnet", kRedisPort, true},
    {"postgres", 5432}, {"postgresql", 5432}, {"postgis", 5432}, {"pgvector", 5432},
    {"timescaledb", 5432},
    {"pgbouncer"}, {"mysql", 3306}, {"mysqld", 3306}, {"mariadb", 3306}, {"percona", 3306},
    {"mssql/server", 1433}, {"azure-sql-edge", 1433},
    {"mongo", 27017}, {"mongod", 27017}, {"mongodb", 27017}, {"memcached", 11211},
    {"rabbitmq", 5672},
    {"kafka", 9092}, {"redpanda", 9092}, {"zookeeper", 2181}, {"schema-registry", 8081},
    {"nats", 4222}, {"pulsar", 6650},
    {"activemq", 61616}, {"consul", 8500}, {"etcd", 2379}, {"vault", 8200}, {"cassandra", 9042},
    {"scylla", 9042},
    {"clickhouse"}, {"clickhouse-server"}, {"cockroach", 26257}, {"couchdb", 5984}, {"neo4j", 7687},
    {"elasticsearch", 9200},
    {"opensearch", 9200}, {"opensearch-dashboards", 5601}, {"kibana", 5601}, {"logstash"},
    {"solr", 8983}, {"meilisearch", 7700},
    {"minio", 9000}, {"localstack", 4566}, {"dynamodb-local", 8000}, {"keycloak", 8080},
    {"mailhog", 1025}, {"mailpit", 1025},
    {"influxdb", 8086}, {"prometheus", 9090}, {"alertmanager", 9093}, {"grafana", 3000},
    {"loki", 3100}, {"tempo", 3200}, {"jaeger"},
    {"jaegertracing/all-in-one"}, {"zipkin", 9411}, {"otel-collector", 4317},
    {"opentelemetry-collector", 4317}, {"otelcol", 4317},
    {"fluentd", 24224}, {"fluent-bit"}, {"cadvisor", 8080}, {"node-exporter", 9100},
    {"datalust/seq", 5341}, {"adminer", 8080},
    {"phpmyadmin", 80}, {"pgadmin4", 80}, {"portainer-ce", 9000}, {"portainer", 9000}};
// Words beside the name of a server that make it something else, which only talks to it:
// "redis-exporter".
constexpr std::string_view kOthers[] = {
    "exporter", "commander", "express", "insight", "ui", "manager", "backup", "client", "cli"};
// clang-format on

bool is_other(std::string_view name) {
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find_first_of("-_."));
    if (std::find(std::begin(kOthers), std::end(kOthers), word) != std::end(kOthers)) return true;
    name.remove_prefix(std::min(word.size() + 1, name.size()));
  }
  return false;
}

// "port 7000" in the settings of Redis and its kind, the last one; else `port`.
uint16_t port_of_settings(const std::string& settings, uint16_t port) {
  std::istringstream lines(settings);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, value;
    words >> name >> value;
    if (name == "port") std::from_chars(value.data(), value.data() + value.size(), port);
  }
  return port;
}

}  // namespace

const Server* known_server(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const size_t slash = image.rfind('/');
  image = image.substr(0, image.find(':', slash == image.npos ? 0 : slash));
  const std::string_view name = image.substr(slash == image.npos ? 0 : slash + 1);
  // A name that is known whole comes before one that begins another: "pgadmin4",
  // "opensearch-dashboards".
  for (const Server& server : kServers) {
    const std::string with_slash = "/" + std::string(server.name);
    const bool path = server.name.find('/') != server.name.npos;
    if (path ? image == server.name || image.ends_with(with_slash) : name == server.name)
      return &server;
  }
  if (is_other(name)) return nullptr;
  for (const Server& server : kServers) {
    const std::string own(server.name);
    if (name.starts_with(own + "-") || name.ends_with("-" + own)) return &server;
  }
  return nullptr;
}

std::optional<DraftService> server_of(const std::string& command, const ReadFile& read) {
  std::istringstream text(command);
  const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  const auto program = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word != "exec" && word != "env" && word.find('=') == std::string::npos;
  });
  const Server* const server = program == words.end() ? nullptr : known_server(*program);
  if (server == nullptr) return std::nullopt;
  DraftService out;
  out.redis = server->redis;
  out.left_alone = !out.redis;
  out.server = server;
  out.command = with_exec(command);
  uint16_t port = server->redis ? server->port : uint16_t{0};
  // redis-server FILE --port PORT: what stands later counts.
  if (server->redis && program + 1 != words.end() && !(program + 1)->starts_with("-")) {
    if (const auto settings = read(*(program + 1))) port = port_of_settings(*settings, port);
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    if (name != "--port" && name != "-p") continue;
    const std::string value = equals != std::string::npos ? words[i].substr(equals + 1)
                              : i + 1 < words.size()      ? words[i + 1]
                                                          : "";
    std::from_chars(value.data(), value.data() + value.size(), port);
  }
  out.worker = port == 0;  // nothing shows that it is ready
  if (port != 0) out.ports.push_back(port);
  return out;
}

}  // namespace filibuster::init
