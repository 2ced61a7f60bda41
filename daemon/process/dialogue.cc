#include "daemon/process/dialogue.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace filibuster {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kToEnd{2000};  // from the end of its input to SIGKILL
constexpr int kShownLines = 20;

// False: the time was over, or the caller is to stop.
bool wait_until(int fd, short events, Clock::time_point end, int wake_fd) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd watched[2] = {{fd, events, 0}, {wake_fd, POLLIN, 0}};
    const int ready = poll(watched, wake_fd >= 0 ? 2 : 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0 && wake_fd >= 0 && watched[1].revents != 0) return false;
    if (ready > 0 && watched[0].revents != 0) return true;
  }
}

}  // namespace

Result<Dialogue> Dialogue::start(SpawnOptions options) {
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0) return Error{std::string("no pipe: ") + strerror(errno)};
  if (pipe2(output, O_CLOEXEC) != 0) {
    close(input[0]);
    close(input[1]);
    return Error{std::string("no pipe: ") + strerror(errno)};
  }
  options.input = input[0];
  options.output = output[1];
  auto process = Process::spawn(options);
  close(input[0]);
  close(output[1]);
  fcntl(input[1], F_SETFL, O_NONBLOCK);
  fcntl(output[0], F_SETFL, O_NONBLOCK);
  if (!process) {
    close(input[1]);
    close(output[0]);
    return process.error();
  }
  return Dialogue(std::move(process).value(), input[1], output[0], options.log_path);
}

Dialogue::Dialogue(Dialogue&& other) noexcept
    : process_(std::move(other.process_)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      log_(std::move(other.log_)),
      rest_(std::move(other.rest_)) {}

Dialogue::~Dialogue() {
  if (to_ < 0) return;
  close(to_);  // a well-behaved program ends with its input
  if (!process_.wait(kToEnd)) process_.kill_group(SIGKILL);
  process_.wait(kToEnd);
  close(from_);
}

Error Dialogue::failed(const std::string& what) {
  std::string text = what;
  if (const auto status = process_.poll_exit()) text += " (" + to_text(*status) + ")";
  const std::string lines = last_lines(log_, kShownLines);
  if (!lines.empty()) text += "\n" + lines;
  return Error{text};
}

Result<void> Dialogue::write(std::string_view text, Clock::time_point end, int wake_fd) {
  while (!text.empty()) {
    const ssize_t size = ::write(to_, text.data(), text.size());
    if (size > 0) {
      text.remove_prefix(static_cast<size_t>(size));
    } else if (size < 0 && errno == EAGAIN) {
      if (!wait_until(to_, POLLOUT, end, wake_fd))
        return failed("it did not read the question in time");
    } else if (size < 0 && errno != EINTR) {
      process_.wait(kToEnd);  // so that how it ended can be said
      return failed("it ended before it was asked");
    }
  }
  return {};
}

Result<std::string> Dialogue::ask(std::string_view line, milliseconds timeout, int wake_fd) {
  const Clock::time_point end = Clock::now() + timeout;
  std::string question(line);
  question += '\n';
  if (auto written = write(question, end, wake_fd); !written) return written.error();
  size_t searched = 0;
  while (true) {
    if (const size_t at = rest_.find('\n', searched); at != std::string::npos) {
      std::string answer = rest_.substr(0, at);
      rest_.erase(0, at + 1);
      return answer;
    }
    searched = rest_.size();
    if (searched > kLongestAnswer)
      return failed("its answer has more than " + std::to_string(kLongestAnswer) + " bytes");
    char buffer[65536];
    const ssize_t size = read(from_, buffer, sizeof buffer);
    if (size > 0) {
      rest_.append(buffer, static_cast<size_t>(size));
    } else if (size == 0) {
      process_.wait(kToEnd);
      return failed("it ended before it answered");
    } else if (errno == EAGAIN) {
      if (!wait_until(from_, POLLIN, end, wake_fd))
        return failed("it did not answer within " + std::to_string(timeout.count()) + " ms");
    } else if (errno != EINTR) {
      return failed(std::string("its answer cannot be read: ") + strerror(errno));
    }
  }
}

}  // namespace filibuster
