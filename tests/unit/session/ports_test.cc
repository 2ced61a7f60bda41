#include "daemon/session/ports.h"

#include <arpa/inet.h>
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
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    socklen_t size = sizeof address;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(fd_); }
  uint16_t port() const { return port_; }

 private:
  int fd_;
  uint16_t port_ = 0;
};

TEST(Ports, AskedForOnesAreFreeDifferentAndBelowTheEphemeralRange) {
  Config config;
  for (int i = 0; i < 20; ++i) {
    config.services.push_back(service_with_port("s" + std::to_string(i), 0));
  }
  const auto ports = allocate_ports(config);
  ASSERT_TRUE(ports.ok());
  std::set<uint16_t> numbers;
  for (const auto& [name, number] : ports.value()) {
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
  const auto ports = allocate_ports(config);
  ASSERT_TRUE(ports.ok());
  EXPECT_EQ(ports.value().at("users"), 5001);
  EXPECT_NE(ports.value().at("movies"), 5001);
}

TEST(Ports, OneNameForTwoFixedPortsIsAnError) {
  Config config;
  config.services = {service_with_port("users", 5001), service_with_port("users", 5002)};
  EXPECT_FALSE(allocate_ports(config).ok());
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
  EXPECT_NE(holder->program.find("unit_session"), std::string::npos);
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
