#include "bpf/loader/failure.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "bpf/loader/capabilities.h"
#include "bpf/loader/kernel.h"

namespace filibuster::bpf {
namespace {

// The first row that fits a refusal says what to do about it.
struct AdviceRow {
  std::string_view step;  // a prefix; "": any
  int error;              // 0: any
  std::string_view text;
};

// clang-format off
constexpr AdviceRow kAdvice[] = {
    {"cgroup2 mount", 0, "mount one: mount -t cgroup2 none /sys/fs/cgroup/unified"},
    {"BTF", 0, "this needs a kernel that was built with CONFIG_DEBUG_INFO_BTF=y (Debian's are)"},
    {"cgroup/", EINVAL, "this needs Linux 5.8 or later with CONFIG_CGROUP_BPF=y"},
    {"sockops", EINVAL, "this needs Linux 5.8 or later with CONFIG_CGROUP_BPF=y"},
    {"sk_lookup", EINVAL, "this needs Linux 5.9 or later"},
    {"sk_lookup", E2BIG, "64 programs steer connections in this network namespace already: end some of them"},
    {"sk_msg", 0, "this needs a kernel with CONFIG_BPF_STREAM_PARSER=y or CONFIG_NET_SOCK_MSG=y"},
    {"fentry", 0, "nothing is lost where another way to observe works"},
    {"iter/tcp", 0, "this needs Linux 5.9 or later with BTF"},
    {"ring buffer", EINVAL, "this needs Linux 5.8 or later"},
    {"pidfd_getfd", ENOSYS, "this needs Linux 5.6 or later"},
    {"pidfd_getfd", EPERM, "give filibuster-bpf CAP_SYS_PTRACE, or set kernel.yama.ptrace_scope to less than 3"},
    {"uprobe", EACCES, "run it as root, or set kernel.perf_event_paranoid to 2 (sysctl): this kernel lets only root open uprobes"},
    {"", ENOMEM, "the kernel has no memory for it; end other programs, or raise the limit of the cgroup"},
    {"", ENOSPC, "attach fewer services or processes"},
    {"", ESRCH, "this kernel has no such place to observe"},
};
// clang-format on

}  // namespace

std::string advice(const std::string& step, int error) {
  if (error == EPERM || error == EACCES) {
    if (const std::string missing = missing_capabilities(); !missing.empty())
      return "run it as root, or give it what is missing (" + missing + "): setcap " +
             kSetcapArgument + " filibuster-bpf";
    if (const std::string mode = lockdown_mode(); !mode.empty() && mode != "none")
      return "the kernel is locked down (" + mode + "): boot it without lockdown=" + mode;
  }
  for (const AdviceRow& row : kAdvice) {
    if (step.starts_with(row.step) && (row.error == 0 || row.error == error))
      return std::string(row.text);
  }
  return "";
}

Failure refused(const std::string& step, int error) {
  error = std::abs(error);
  std::string text = std::string("the kernel says: ") + std::strerror(error);
  if (const std::string what = advice(step, error); !what.empty()) text += "; " + what;
  return {error, step, text};
}

Failure declined(const std::string& step, int error, std::string text) {
  return {error, step, std::move(text)};
}

void copy_text(char* to, size_t size, const std::string& text) {
  const size_t length = text.size() < size ? text.size() : size - 1;
  std::memcpy(to, text.data(), length);
  std::memset(to + length, 0, size - length);
}

}  // namespace filibuster::bpf
