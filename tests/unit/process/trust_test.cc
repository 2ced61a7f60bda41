#include "daemon/process/trust.h"

#include <gtest/gtest.h>

#include <fstream>

#include "daemon/process/session_lane.h"
#include "daemon/stubs/certificate.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

size_t certificates_in(const std::string& path) {
  const std::string text = read_file(path).value();
  size_t count = 0;
  for (size_t at = text.find("-----BEGIN CERT"); at != std::string::npos;
       at = text.find("-----BEGIN CERT", at + 1))
    ++count;
  return count;
}

TEST(Trust, FilesThatVariablesNameAlreadyKeepWhatTheyHave) {
  const TemporaryFolder folder;
  const std::string authority = stubs::Certificate::make({}).value()->authority();
  const auto trust = Trust::make(authority, folder.path() + "/tls");
  ASSERT_TRUE(trust) << trust.error().message;

  std::vector<std::string> environment;
  trust->add_to(&environment);
  EXPECT_EQ(certificates_in(get_variable(environment, "NODE_EXTRA_CA_CERTS")), 1u);
  const std::string all = get_variable(environment, "SSL_CERT_FILE");
  EXPECT_TRUE(read_file(all).value().ends_with(authority));
  EXPECT_EQ(get_variable(environment, "REQUESTS_CA_BUNDLE"), all);
  EXPECT_EQ(get_variable(environment, "PHP_INI_SCAN_DIR"), ":" + folder.path() + "/tls/php");

  const std::string own = folder.path() + "/own.pem";
  std::ofstream(own) << authority.substr(0, authority.size() - 1);  // no newline at its end
  environment = {"SSL_CERT_FILE=" + own,
                 "REQUESTS_CA_BUNDLE=" + own,
                 "NODE_EXTRA_CA_CERTS=" + folder.path() + "/missing.pem",
                 "CURL_CA_BUNDLE=own.pem",
                 "PHP_INI_SCAN_DIR=/etc/mine",
                 "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=/mine.jks"};
  trust->add_to(&environment);
  EXPECT_EQ(certificates_in(get_variable(environment, "SSL_CERT_FILE")), 2u);
  EXPECT_EQ(certificates_in(get_variable(environment, "REQUESTS_CA_BUNDLE")), 2u);
  EXPECT_EQ(certificates_in(own), 1u);
  EXPECT_EQ(get_variable(environment, "NODE_EXTRA_CA_CERTS"), folder.path() + "/missing.pem");
  EXPECT_EQ(get_variable(environment, "CURL_CA_BUNDLE"), "own.pem");
  EXPECT_EQ(get_variable(environment, "PHP_INI_SCAN_DIR"),
            "/etc/mine:" + folder.path() + "/tls/php");
  EXPECT_EQ(get_variable(environment, "JAVA_TOOL_OPTIONS"), "-Djavax.net.ssl.trustStore=/mine.jks");
}

TEST(Trust, AStoreOfAJvmHasTheCertificatesAloneAndTheirNumber) {
  const std::string one = stubs::Certificate::make({}).value()->authority();
  const auto number_at = [](const std::string& bytes, size_t at) {
    uint32_t out = 0;
    for (size_t i = at; i < at + 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes[i]);
    return out;
  };
  const std::string none = java_trust_store("");
  const std::string two =
      java_trust_store("text\n" + one + "-----BEGIN OTHER-----\nAAAA\n-----END OTHER-----\n" + one);
  EXPECT_EQ(number_at(two, 0), 0xfeedfeedu);
  EXPECT_EQ(number_at(two, 4), 2u);
  EXPECT_EQ(number_at(two, 8), 2u);
  EXPECT_EQ(number_at(none, 8), 0u);
  EXPECT_EQ(none.size(), 12u + 20u);
  EXPECT_NE(two.find("ca0"), std::string::npos);
  EXPECT_NE(two.find("ca1"), std::string::npos);
}

}  // namespace
}  // namespace filibuster
