// A program of another application, which a session must leave as it is:
//   neighbour serve PORT [TARGET]   answers each request with "ok"; with TARGET it asks there first, and says "failed" where
//                                   that did not answer 200. "field" if the request carries our header field.
//   neighbour load PORT FILE        sends requests, each over a connection of its own, until FILE is there, and prints how often
//                                   it got which answer: "{"ok": 977, "failed": 13}".
// The two of them say what a session does to them: nothing, if every answer is "ok".
#include <map>
#include <thread>

#include "tests/programs/http_text.h"

namespace {

const std::string kRequest =
    "GET /neighbour HTTP/1.1\r\nHost: neighbour\r\nConnection: close\r\n\r\n";

// The body of the answer, or what came in its place.
std::string ask(int port) {
  const int fd = connect_to(port);
  if (fd < 0) return "refused";
  std::string rest, answer, problem = "reset";
  if (send_all(fd, kRequest)) problem = receive_answer(fd, &rest, &answer);
  close(fd);
  if (!problem.empty()) return problem;
  if (answer.compare(0, 13, "HTTP/1.1 200 ") != 0) return "status " + answer.substr(9, 3);
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

std::string answer_to(const std::string& request, int target) {
  const std::string got = target == 0 ? "ok" : ask(target);
  if (got != "ok" && got != "field") return "failed";
  return field(request, "x-filibuster").empty() ? got : "field";
}

void serve_one(int fd, int target) {
  std::string request;
  char buffer[4096];
  while (message_size(request) == 0) {
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    request.append(buffer, static_cast<size_t>(n));
  }
  if (message_size(request) != 0) {
    const std::string body = answer_to(request, target);
    send_all(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n" + length_field(body) + "\r\n" + body);
  }
  close(fd);
}

int serve(int port, int target) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 128) != 0) {
    perror("neighbour");
    return 1;
  }
  for (;;) {
    const int fd = accept(listener, nullptr, nullptr);
    if (fd >= 0) std::thread(serve_one, fd, target).detach();
  }
}

int load(int port, const char* file) {
  std::map<std::string, int> answers;
  while (access(file, F_OK) != 0) {
    ++answers[ask(port)];
    usleep(2000);  // a busy client, and not a processor that nobody else gets
  }
  std::string out;
  for (const auto& [answer, number] : answers)
    out += (out.empty() ? "{\"" : ", \"") + answer + "\": " + std::to_string(number);
  printf("%s}\n", out.empty() ? "{" : out.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc < 3 ? "" : argv[1];
  if (mode == "serve") return serve(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0);
  if (mode == "load" && argc == 4) return load(atoi(argv[2]), argv[3]);
  fprintf(stderr, "usage: neighbour serve PORT [TARGET] | neighbour load PORT FILE\n");
  return 2;
}
