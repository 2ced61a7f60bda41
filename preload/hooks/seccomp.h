// Programs that restrict which system calls they may make (seccomp(2)), as sshd does before it knows its client. One call
// of ours that the program does not make itself would be its end. So its process takes part in no session from then on.
#pragma once

#include <atomic>
#include <cstdint>

namespace filibuster::preload {

// As long as the restriction is being made. Where it fails, the process goes on as before.
class Restriction {
 public:
  // Does this call, or prctl(2) with these arguments, restrict the process? Programs ask without a filter whether they could.
  static bool is_prctl(long option, long mode, long filter);
  static bool is_seccomp(long operation, long filter);

  Restriction();
  void failed();

 private:
  const std::atomic<uint64_t>* session_ = nullptr;
};

}  // namespace filibuster::preload
