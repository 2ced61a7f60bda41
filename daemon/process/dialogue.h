// A program that is asked in lines on its standard input, and answers each with one line on its standard output. What it writes to
// its standard error goes into its log.
//
//   auto program = Dialogue::start(std::move(spawn));
//   auto answer = program->ask("{\"ask\": \"init\"}", 10s);
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/result.h"
#include "daemon/process/process.h"

namespace filibuster {

inline constexpr size_t kLongestAnswer = size_t{16} << 20;  // bytes of a line

class Dialogue {
 public:
  // `options`: without input and output. Whoever calls must not be ended by SIGPIPE.
  static Result<Dialogue> start(SpawnOptions options);
  Dialogue(Dialogue&& other) noexcept;
  Dialogue& operator=(Dialogue&&) = delete;
  ~Dialogue();  // ends the program

  // The answer, without the end of its line. Error: the program ended, or did not answer in time; with its last lines. There is no further
  // answer then. Also ends when `wake_fd` (if >= 0) is readable.
  Result<std::string> ask(std::string_view line, std::chrono::milliseconds timeout,
                          int wake_fd = -1);
  pid_t pid() const { return process_.pid(); }

 private:
  Dialogue(Process process, int to, int from, std::string log)
      : process_(std::move(process)), to_(to), from_(from), log_(std::move(log)) {}
  Error failed(const std::string& what);
  Result<void> write(std::string_view text, std::chrono::steady_clock::time_point end, int wake_fd);

  Process process_;
  int to_ = -1, from_ = -1;
  std::string log_;
  std::string rest_;  // what was read behind the last answer
};

}  // namespace filibuster
