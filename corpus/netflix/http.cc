#include "http.h"

#include <httplib.h>

#include <cstdlib>
#include <iostream>
#include <utility>

namespace netflix {
namespace {

httplib::Client client_for(const std::string& url, std::chrono::milliseconds timeout) {
  httplib::Client client(url);
  client.set_connection_timeout(timeout);
  client.set_read_timeout(timeout);
  return client;
}

std::optional<Answer> answer_of(const httplib::Result& result) {
  if (!result) return std::nullopt;
  return Answer{result->status, result->body};
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::optional<Answer> get(const std::string& url, const std::string& path,
                          std::chrono::milliseconds timeout) {
  return answer_of(client_for(url, timeout).Get(path));
}

std::optional<Answer> post(const std::string& url, const std::string& path, const std::string& body,
                           std::chrono::milliseconds timeout) {
  return answer_of(client_for(url, timeout).Post(path, body, "application/json"));
}

int serve(int argc, char** argv, std::function<Answer(const std::string& path)> handler) {
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " PORT\n";
    return 2;
  }
  httplib::Server server;
  server.Get("/health",
             [](const httplib::Request&, httplib::Response& response) { response.status = 204; });
  const auto reply = [handler = std::move(handler)](const httplib::Request& request,
                                                    httplib::Response& response) {
    const Answer answer = handler(request.path);
    response.status = answer.status;
    response.set_content(answer.body, "application/json");
  };
  server.Get(".*", reply);
  server.Post(".*", reply);
  return server.listen("127.0.0.1", std::atoi(argv[1])) ? 0 : 1;
}

}  // namespace netflix
