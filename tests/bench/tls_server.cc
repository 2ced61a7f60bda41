// tls_server CERTIFICATE KEY: a server of cpp-httplib over TLS, on a port that it prints. Answers each request with
// 100 bytes.
#include <httplib.h>

#include <cstdio>
#include <limits>
#include <string>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  httplib::SSLServer server(argv[1], argv[2]);
  // A thread for each connection, which stays open.
  server.new_task_queue = [] { return new httplib::ThreadPool(64); };
  server.set_keep_alive_max_count(std::numeric_limits<size_t>::max());
  server.set_tcp_nodelay(true);
  const std::string body(100, 'b');
  const auto answer = [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(body, "text/plain");
  };
  server.Get("/", answer);
  server.Post("/bench", answer);
  const int port = server.bind_to_any_port("127.0.0.1");
  printf("listening on %d\n", port);
  fflush(stdout);
  return port > 0 && server.listen_after_bind() ? 0 : 1;
}
