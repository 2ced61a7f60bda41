#include "bpf/loader/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "bpf/loader/kernel.h"

namespace filibuster::bpf {
namespace {

struct Needed {
  unsigned number;
  const char* name;
};

const std::vector<Needed>& needed() {
  // A kernel answers EINVAL (-1) for a capability that it does not know.
  static const bool knows_bpf = prctl(PR_CAPBSET_READ, CAP_BPF, 0, 0, 0) >= 0;
  static const std::vector<Needed> today = {{CAP_BPF, "CAP_BPF"},
                                            {CAP_NET_ADMIN, "CAP_NET_ADMIN"},
                                            {CAP_PERFMON, "CAP_PERFMON"},
                                            {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"}};
  static const std::vector<Needed> before = {{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
                                             {CAP_NET_ADMIN, "CAP_NET_ADMIN"},
                                             {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"}};
  return knows_bpf ? today : before;
}

// Both words of a set of capabilities (capset(2)).
uint64_t read(uint32_t __user_cap_data_struct::*set) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return 0;
  return data[0].*set | (static_cast<uint64_t>(data[1].*set) << 32);
}

void put_in_force(uint64_t effective, uint64_t permitted) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  for (int half = 0; half < 2; ++half) {
    data[half].effective = static_cast<uint32_t>(effective >> (32 * half));
    data[half].permitted = static_cast<uint32_t>(permitted >> (32 * half));
  }
  syscall(SYS_capset, &header, data);
}

constexpr uint64_t kAdministrator = 1ull << CAP_SYS_ADMIN;

bool uprobes_want_an_administrator() {
  return std::atoi(text_of("/proc/sys/kernel/perf_event_paranoid").c_str()) > 2;
}

}  // namespace

void keep_what_is_needed() {
  const uint64_t permitted = read(&__user_cap_data_struct::permitted);
  uint64_t kept = 0;
  for (const Needed& capability : needed()) kept |= permitted & (1ull << capability.number);
  const uint64_t effective = kept;
  if (uprobes_want_an_administrator()) kept |= permitted & kAdministrator;
  for (unsigned number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number) {
    if ((kept & (1ull << number)) == 0) prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  put_in_force(effective, kept);
}

AsAdministrator::AsAdministrator() {
  const uint64_t permitted = read(&__user_cap_data_struct::permitted);
  const uint64_t effective = read(&__user_cap_data_struct::effective);
  raised_ = (permitted & ~effective & kAdministrator) != 0;
  if (raised_) put_in_force(effective | kAdministrator, permitted);
}

AsAdministrator::~AsAdministrator() {
  if (raised_)
    put_in_force(read(&__user_cap_data_struct::effective) & ~kAdministrator,
                 read(&__user_cap_data_struct::permitted));
}

std::string missing_capabilities() {
  const uint64_t effective = read(&__user_cap_data_struct::effective);
  std::string missing;
  for (const Needed& capability : needed()) {
    if ((effective & (1ull << capability.number)) == 0)
      missing += std::string(missing.empty() ? "" : " ") + capability.name;
  }
  return missing;
}

}  // namespace filibuster::bpf
