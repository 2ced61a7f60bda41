#include "daemon/process/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

namespace filibuster {
namespace {

ServiceConfig service_with_port(const std::string& name, uint16_t port) {
  ServiceConfig service;
  service.name = name;
  service.ports[name] = port;
  return service;
}

class Listener {
 public:
  // `option`: SO_REUSEADDR, SO_REUSEPORT or 0.
  explicit Listener(uint16_t port = 0, int option = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    if (option != 0) setsockopt(fd_, SOL_SOCKET, option, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    socklen_t size = sizeof address;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(fd_); }
  uint16_t port() const { return port_; }
  int fd() const { return fd_; }
  int connect() const {
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return client;
  }

 private:
  int fd_;
  uint16_t port_ = 0;
};

TEST(Ports, AskedForOnesAreFreeDifferentAndBelowTheEphemeralRange) {
  Config config;
  for (int i = 0; i < 20; ++i) {
    config.services.push_back(service_with_port("s" + std::to_string(i), 0));
  }
  PortClaims claims;
  const auto ports = allocate_ports(config, {}, &claims);
  ASSERT_TRUE(ports.ok());
  std::set<uint16_t> numbers;
  for (const auto& [name, number] : ports->numbers) {
    EXPECT_GE(number, 20000);
    EXPECT_LT(number, 32000);
    EXPECT_FALSE(port_is_taken(number));
    numbers.insert(number);
  }
  EXPECT_EQ(numbers.size(), 20u);
}

TEST(Ports, FixedOnesAreKept) {
  Config config;
  config.services = {service_with_port("users", 5001), service_with_port("movies", 0)};
  PortClaims claims;
  const auto ports = allocate_ports(config, {{"users", 20001}}, &claims);
  ASSERT_TRUE(ports.ok());
  EXPECT_EQ(ports->numbers.at("users"), 5001);
  EXPECT_NE(ports->numbers.at("movies"), 5001);
  EXPECT_EQ(ports->automatic, (PortMap{{"movies", ports->numbers.at("movies")}}));
  EXPECT_TRUE(ports->moved.empty());
}

TEST(Ports, OneNameForTwoFixedPortsIsAnError) {
  Config config;
  config.services = {service_with_port("users", 5001), service_with_port("users", 5002)};
  PortClaims claims;
  EXPECT_FALSE(allocate_ports(config, {}, &claims).ok());
}

// The ports that `config` gets of itself.
PortMap some_ports(const Config& config) {
  PortClaims claims;
  return allocate_ports(config, {}, &claims)->automatic;
}

Config two_services() {
  Config config;
  config.services = {service_with_port("users", 0), service_with_port("movies", 0)};
  return config;
}

TEST(Ports, ThoseOfBeforeAreTakenAgain) {
  const Config config = two_services();
  PortMap former = some_ports(config);
  // Not in the order in which a search would find them.
  std::swap(former.at("users"), former.at("movies"));
  PortClaims claims;
  const auto ports = allocate_ports(config, former, &claims);
  ASSERT_TRUE(ports.ok());
  EXPECT_EQ(ports->numbers, former);
  EXPECT_EQ(ports->automatic, former);
  EXPECT_TRUE(ports->moved.empty());
}

TEST(Ports, ANewNameDoesNotTakeThePortThatAnotherHadBefore) {
  Config config = two_services();
  const PortMap former = {{"users", some_ports(config).at("movies")}};  // the first that is found
  PortClaims claims;
  const auto ports = allocate_ports(config, former, &claims);
  EXPECT_EQ(ports->numbers.at("users"), former.at("users"));
  EXPECT_NE(ports->numbers.at("movies"), former.at("users"));
}

TEST(Ports, OneThatIsTakenNowIsReplacedAndSaid) {
  const Config config = two_services();
  const PortMap former = some_ports(config);
  const Listener listener(former.at("users"));
  PortClaims claims;
  const auto ports = allocate_ports(config, former, &claims);
  ASSERT_TRUE(ports.ok());
  EXPECT_EQ(ports->numbers.at("movies"), former.at("movies"));
  EXPECT_NE(ports->numbers.at("users"), former.at("users"));
  ASSERT_EQ(ports->moved.size(), 1u);
  EXPECT_EQ(ports->moved[0].name, "users");
  EXPECT_EQ(ports->moved[0].former, former.at("users"));
  EXPECT_EQ(ports->moved[0].now, ports->numbers.at("users"));
}

TEST(Ports, TwoSessionsDoNotTakeTheSameOnesThoughNothingListensYet) {
  const Config config = two_services();
  const PortMap former = some_ports(config);
  PortClaims first, second;
  const auto one = allocate_ports(config, former, &first);
  const auto other = allocate_ports(config, former, &second);
  EXPECT_EQ(one->numbers, former);
  EXPECT_EQ(other->moved.size(), 2u);
  std::set<uint16_t> numbers;
  for (const auto& ports : {one->numbers, other->numbers}) {
    for (const auto& [name, number] : ports) numbers.insert(number);
  }
  EXPECT_EQ(numbers.size(), 4u);
  first.release();
  PortClaims third;
  EXPECT_EQ(allocate_ports(config, former, &third)->numbers, former);
}

TEST(Ports, OneOutsideOfTheRangeIsNotTaken) {
  const Config config = two_services();
  for (const uint16_t wrong : {uint16_t{0}, uint16_t{80}, uint16_t{65535}}) {
    PortClaims claims;
    const auto ports = allocate_ports(config, {{"users", wrong}}, &claims);
    EXPECT_GE(ports->numbers.at("users"), 20000);
    EXPECT_LT(ports->numbers.at("users"), 32000);
  }
}

// A connection of `listener` in TIME_WAIT, on its side: who closes first keeps it.
void leave_connection(const Listener& listener) {
  const int client = listener.connect();
  const int served = accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC);
  close(served);
  char end = 0;
  EXPECT_EQ(read(client, &end, 1), 0);
  close(client);
}

TEST(Ports, OneOnWhichConnectionsLingerIsTakenWhereItsServerCanHaveIt) {
  const Config config = two_services();
  const PortMap former = some_ports(config);
  leave_connection(Listener(former.at("users"), SO_REUSEADDR));
  leave_connection(Listener(former.at("movies")));
  PortClaims claims;
  const auto ports = allocate_ports(config, former, &claims);
  EXPECT_EQ(ports->numbers.at("users"), former.at("users"));
  EXPECT_NE(ports->numbers.at("movies"), former.at("movies"));
  EXPECT_EQ(ports->moved.size(), 1u);
}

TEST(Ports, OneOnWhichConnectionsLingerIsFreeAsSoonAsNobodyListens) {
  for (const int option : {SO_REUSEADDR, SO_REUSEPORT}) {
    const PortMap former = some_ports(two_services());
    const uint16_t port = former.at("users");
    {
      const Listener listener(port, option);
      leave_connection(listener);
      EXPECT_TRUE(port_is_taken(port));
      EXPECT_TRUE(port_is_taken(port, "127.0.0.1"));
    }
    EXPECT_FALSE(port_is_taken(port));
    EXPECT_FALSE(port_is_taken(port, "127.0.0.1"));
    const Listener next(port, option);  // as the kernel sees it
  }
}

TEST(Ports, NamesAreReplacedInText) {
  const PortMap ports{{"users", 1234}, {"db", 99}};
  EXPECT_EQ(substitute_ports("--port ${port:users}", ports).value(), "--port 1234");
  EXPECT_EQ(substitute_ports("${port:db}${port:users}!", ports).value(), "991234!");
  EXPECT_EQ(substitute_ports("$HOME ${HOME} {port:db}", ports).value(), "$HOME ${HOME} {port:db}");
  EXPECT_EQ(substitute_ports("", ports).value(), "");
}

TEST(Ports, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  const auto text = substitute_ports("${port:nope}", {{"users", 1}, {"db", 2}});
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("nope"), std::string::npos);
  EXPECT_NE(text.error().message.find("db, users"), std::string::npos);
}

TEST(Ports, AnUnclosedReferenceIsAnError) {
  EXPECT_FALSE(substitute_ports("--port ${port:users", {{"users", 1}}).ok());
}

TEST(Ports, VariablesAreUpperCaseWithUnderscores) {
  EXPECT_EQ(port_variable("users"), "PORT_USERS");
  EXPECT_EQ(port_variable("review-ml.v2"), "PORT_REVIEW_ML_V2");
  EXPECT_EQ(port_environment({{"a-b", 7}}), std::vector<std::string>{"PORT_A_B=7"});
}

TEST(Ports, TheHolderOfATakenPortIsNamed) {
  const Listener listener;
  EXPECT_TRUE(port_is_taken(listener.port()));
  const auto holder = port_holder(listener.port());
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->pid, getpid());
  EXPECT_NE(holder->program.find(program_invocation_short_name), std::string::npos);
}

TEST(Ports, AFreePortHasNoHolder) {
  uint16_t port = 0;
  {
    const Listener listener;
    port = listener.port();
  }
  EXPECT_FALSE(port_holder(port).has_value());
}

}  // namespace
}  // namespace filibuster
