// Nothing here takes a lock or keeps books. Without a replay a load is paid.
#include "preload/hooks/host_name.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/protocol/shown_host.h"
#include "preload/interpose.h"

namespace filibuster::preload {
namespace {

constinit char g_name[kMaxHostName + 1] = {};
constinit size_t g_size = 0;

// Before main, while nothing else runs.
__attribute__((constructor(103))) void find_name() {
  const char* const name = std::getenv(kHostNameVariable);
  const size_t size = name == nullptr ? 0 : std::strlen(name);
  if (size == 0 || size > kMaxHostName) return;
  std::memcpy(g_name, name, size);
  g_size = size;
}

// As gethostname(2) does it: what does not fit is cut, and that is an error.
int tell_name(char* out, size_t size) {
  std::memcpy(out, g_name, g_size < size ? g_size + 1 : size);
  if (g_size < size) return 0;
  errno = ENAMETOOLONG;
  return -1;
}

}  // namespace

std::string_view shown_host_name() {
  return {g_name, g_size};
}

}  // namespace filibuster::preload

using filibuster::preload::g_name;
using filibuster::preload::g_size;
using filibuster::preload::tell_name;

FILIBUSTER_HOOK(int, gethostname, (char* out, size_t size)) {
  if (__builtin_expect(g_size == 0, 1)) return REAL(gethostname)(out, size);
  return tell_name(out, size);
}

FILIBUSTER_HOOK(int, __gethostname_chk, (char* out, size_t size, size_t room)) {
  if (__builtin_expect(g_size == 0, 1) || size > room)
    return REAL(__gethostname_chk)(out, size, room);
  return tell_name(out, size);
}

FILIBUSTER_HOOK(int, uname, (utsname * out)) {
  const int result = REAL(uname)(out);
  if (__builtin_expect(g_size == 0, 1) || result != 0) return result;
  static_assert(sizeof out->nodename > filibuster::kMaxHostName);
  std::memcpy(out->nodename, g_name, g_size + 1);
  return result;
}
