// As tests/integration/apps/get_client.py, with cpp-httplib: get_client URL
#include <httplib.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int, char** arguments) {
  const std::string url = arguments[1];
  httplib::Client client(url.substr(0, url.rfind('/')));
  if (const char* authority = std::getenv("SSL_CERT_FILE")) client.set_ca_cert_path(authority);
  client.set_connection_timeout(1);
  client.set_read_timeout(1);
  const httplib::Result answer = client.Get("/");
  if (!answer) {
    std::printf("%s\n", httplib::to_string(answer.error()).c_str());
    return 0;
  }
  std::string expected;
  for (int i = 0; i < 200; ++i) expected += "0123456789";
  const bool whole = answer->body == expected || answer->status != 200;
  std::printf("%d %zu bytes%s\n", answer->status, answer->body.size(), whole ? "" : " changed");
}
