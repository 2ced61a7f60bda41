// What did not work: the step, the kernel's answer, and what a person can do about it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace filibuster::bpf {

struct Failure {
  int error = 0;     // errno
  std::string step;  // "cgroup/connect4"
  std::string text;  // "the kernel says: Operation not permitted. Run the daemon as root, ..."
};
using Outcome = std::optional<Failure>;  // nullopt: it worked

// The kernel refused `step` with `error` (errno, of either sign).
Failure refused(const std::string& step, int error);
// Something that we do not do, in our own words.
Failure declined(const std::string& step, int error, std::string text);

// What can be done where the kernel answers `error` to `step`; "" if nothing is known.
std::string advice(const std::string& step, int error);

// Copies what fits, with a zero at the end.
void copy_text(char* to, size_t size, const std::string& text);

}  // namespace filibuster::bpf
