// attach_client: a static program with frame pointers that attach_bench.py attaches. It reads commands and answers each with one
// line; figures are medians in microseconds.
//   requests PORT COUNT   COUNT requests of 300 bytes one after the other on a connection of their own, in bursts: the median
//   open PORT COUNT       opens COUNT connections and uses each once: "open"
//   last CLOSES           one more request on each of them, and closes it: the median. CLOSES 1: each answer has to say that it is the
//                         last one, 0: none may
#include <iostream>
#include <sstream>

#include "tests/bench/loops.h"
#include "tests/programs/http_text.h"

namespace {

constexpr int kWarmUp = 200;
// After each burst a daemon has time to read what was seen.
constexpr int kBurst = 50, kPauseUs = 10'000;

std::vector<int> opened;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Microseconds from the request to the end of its answer.
double ask(int fd, const std::string& request, std::string* answer) {
  answer->clear();
  const double begin = loops::now_ns();
  if (write(fd, request.data(), request.size()) != static_cast<ssize_t>(request.size()))
    loops::die("write");
  char piece[4096];
  do {
    const ssize_t got = read(fd, piece, sizeof piece);
    if (got <= 0) loops::die("read");
    answer->append(piece, static_cast<size_t>(got));
  } while (message_size(*answer) == 0);
  return (loops::now_ns() - begin) / 1000;
}

double requests(int port, int count) {
  const int fd = loops::connect_to(port);
  const std::string request = loops::request();
  std::string answer;
  std::vector<double> times;
  for (int i = -kWarmUp; i < count; ++i) {
    const double time = ask(fd, request, &answer);
    if (i >= 0) times.push_back(time);
    if (i % kBurst == 0) usleep(kPauseUs);
  }
  close(fd);
  return median(times);
}

void open_connections(int port, int count) {
  std::string answer;
  for (int i = 0; i < count; ++i) {
    opened.push_back(loops::connect_to(port));
    ask(opened.back(), loops::request(), &answer);
  }
}

double last(bool closes) {
  std::string answer;
  std::vector<double> times;
  for (const int fd : opened) {
    times.push_back(ask(fd, loops::request(), &answer));
    if ((field(answer.substr(0, answer.find("\r\n\r\n") + 2), "connection") == "close") != closes) {
      std::cerr << "not the answer that was expected: " << answer << std::endl;
      exit(1);
    }
    close(fd);
  }
  opened.clear();
  return median(times);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    int first = 0, second = 0;
    words >> verb >> first >> second;
    if (verb == "requests") {
      std::cout << requests(first, second) << std::endl;
    } else if (verb == "open") {
      open_connections(first, second);
      std::cout << "open" << std::endl;
    } else if (verb == "last") {
      std::cout << last(first != 0) << std::endl;
    } else {
      std::cerr << "no such command: " << verb << std::endl;
      return 2;
    }
  }
}
