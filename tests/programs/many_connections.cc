// many_connections MODE PORT COUNT PID_FILE: COUNT connections to the echo server, each with one
// request whose answer is the very bytes of it.
//   after   one after the other
//   once    all of them open at once, then asked, then read, then closed
//   kept    as `after`, but they stay open until all is printed
// Prints what came back, and how many descriptors and kilobytes of memory this program and the server
// (its pid is in PID_FILE) have afterwards, beyond what they had after the first tenth (`kept`: of
// memory that is not shared).
#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <fstream>
#include <vector>

#include "tests/programs/http_text.h"

namespace {

const std::string kRequest = "GET /one HTTP/1.1\r\nHost: localhost\r\n\r\n";

int descriptors_of(const std::string& pid) {
  int count = 0;
  DIR* const folder = opendir(("/proc/" + pid + "/fd").c_str());
  while (folder != nullptr && readdir(folder) != nullptr) ++count;
  if (folder != nullptr) closedir(folder);
  return count;
}

long resident_kb(const std::string& pid, const std::string& field) {
  std::ifstream file("/proc/" + pid + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field, 0) == 0) return atol(line.c_str() + field.size());
  }
  return -1;
}

// Who serves sees the ends of the last connections a moment later.
int settled_descriptors_of(const std::string& pid) {
  int last = descriptors_of(pid);
  for (int same = 0; same < 20; ++same) {
    usleep(10'000);
    const int now = descriptors_of(pid);
    if (now != last) same = 0;
    last = now;
  }
  return last;
}

// From one of many addresses of this machine: the ports of one would not do.
int connect_from(int number, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  sockaddr_in from{};
  from.sin_family = AF_INET;
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + static_cast<uint32_t>(number % 200));
  sockaddr_in to = from;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(port));
  if (bind(fd, reinterpret_cast<sockaddr*>(&from), sizeof from) == 0 &&
      connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

// Our header field, which arrives in a session, stands between the two.
bool is_answer(const std::string& text) {
  return text.rfind("HTTP/1.1 200 OK\r\n", 0) == 0 &&
         text.find("\r\n\r\nGET /one HTTP/1.1\r\n") != std::string::npos &&
         text.find("Host: localhost\r\n\r\n") != std::string::npos;
}

bool read_answer(int fd) {
  std::string text;
  char buffer[4096];
  while (true) {
    const size_t size = message_size(text);
    if (size != 0) return size == text.size() && is_answer(text);
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.append(buffer, static_cast<size_t>(n));
  }
}

struct Counts {
  int good = 0, wrong = 0, not_connected = 0, not_sent = 0;
};

void one_after_the_other(int from, int to, int port, bool keep, Counts* counts) {
  for (int i = from; i < to; ++i) {
    const int fd = connect_from(i, port);
    if (fd < 0) {
      ++counts->not_connected;
      continue;
    }
    if (!send_all(fd, kRequest)) {
      ++counts->not_sent;
    } else {
      ++(read_answer(fd) ? counts->good : counts->wrong);
    }
    if (!keep) close(fd);
  }
}

void at_once(int count, int port, Counts* counts) {
  std::vector<int> open;
  for (int i = 0; i < count; ++i) {
    const int fd = connect_from(i, port);
    fd < 0 ? void(++counts->not_connected) : open.push_back(fd);
  }
  std::vector<bool> sent;
  for (const int fd : open) {
    sent.push_back(send_all(fd, kRequest));
    if (!sent.back()) ++counts->not_sent;
  }
  for (size_t i = 0; i < open.size(); ++i) {
    if (sent[i]) ++(read_answer(open[i]) ? counts->good : counts->wrong);
    close(open[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string mode = argv[1];
  const int port = atoi(argv[2]), count = atoi(argv[3]);
  std::string server;
  std::ifstream(argv[4]) >> server;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);

  Counts counts;
  const auto some = [&](int part) {
    if (mode == "once") {
      at_once(part, port, &counts);
    } else {
      one_after_the_other(0, part, port, mode == "kept", &counts);
    }
  };
  some(mode == "once" ? count : count / 10);
  const std::string self = "self", field = mode == "kept" ? "RssAnon:" : "VmRSS:";
  const int before_server = settled_descriptors_of(server);
  const long before[] = {descriptors_of(self), resident_kb(self, field),
                         resident_kb(server, field)};
  some(mode == "once" ? count : count - count / 10);
  const int after_server = settled_descriptors_of(server);
  printf("good %d wrong %d not connected %d not sent %d\n", counts.good, counts.wrong,
         counts.not_connected, counts.not_sent);
  printf("descriptors %ld server %d\n", descriptors_of(self) - before[0],
         after_server - before_server);
  printf("memory %ld server %ld\n", resident_kb(self, field) - before[1],
         resident_kb(server, field) - before[2]);
  return 0;
}
