#include "preload/hooks/hosts.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "preload/hooks/host_name.h"
#include "preload/interpose.h"
#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/session/state.h"
#include "preload/snapshot/snapshot.h"
#include "preload/stream/ready_made.h"

namespace filibuster::preload {
namespace {

// The lane, where this process has one.
const LaneMemory* lane() {
  if (!session_present() || !own_process()) return nullptr;
  const Attachment* const attachment = attach();
  return attachment == nullptr ? nullptr : attachment->lane;
}

// What no name of the table is: programs ask so for addresses that they have already, and for this machine.
bool is_no_name(std::string_view text) {
  return text.empty() || text.size() > sizeof(HostRow::name) || text == "localhost" ||
         text.find(':') != std::string_view::npos ||
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

void report_no_port(const LaneMemory* lane, uint16_t number, uint16_t port) {
  const HostRow* const row = find_any_port(lane, number);
  if (row == nullptr) return;
  char digits[8];
  const char* const end = std::to_chars(digits, digits + sizeof digits, port).ptr;
  report_note({"a connect to port ", std::string_view(digits, static_cast<size_t>(end - digits)),
               " of '", std::string_view(row->name, row->name_size),
               "' is refused: no entry of 'hosts' has that port"});
}

}  // namespace

AskedName::AskedName(const char* name) {
  address_[0] = '\0';
  if (name == nullptr) return;
  std::string_view text(name, strnlen(name, sizeof(HostRow::name) + 2));
  // The machine that a replay names has no address here.
  if (!text.empty() && text == shown_host_name()) {
    std::memcpy(name_, name, text.size());
    name_[text.size()] = '\0';
    write_long_address(INADDR_LOOPBACK, text.size(), address_);
    return;
  }
  if (!identity().may_have_hosts) return;
  if (text.ends_with('.')) text.remove_suffix(1);
  if (is_no_name(text)) return;
  // What a name leads to is an execution's, as a connect is.
  if (t_hook_depth == 0) reach_snapshot(SnapshotPoint::kConnect);
  HookScope scope;
  if (scope.pass_through()) return;
  made_stream_socket();
  const LaneMemory* const memory = lane();
  const uint16_t number = memory == nullptr ? 0 : number_of_name(memory, text);
  if (number == 0) return;
  std::memcpy(name_, name, text.size());
  name_[text.size()] = '\0';
  write_address_text(number, text.size(), address_);
}

void AskedName::write_over(char* copy) const {
  if (copy != nullptr && std::strcmp(copy, address_) == 0) std::strcpy(copy, name_);
}

LedAddress::LedAddress(int fd, const void* address, socklen_t size)
    : given_(static_cast<const sockaddr*>(address)), to_(given_) {
  const uint16_t number = number_of_address(given_, size);
  if (__builtin_expect(number == 0, 1)) return;
  HookScope scope;
  if (scope.pass_through()) return;
  int type = 0;
  socklen_t type_size = sizeof type;
  raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &type_size);
  const LaneMemory* const memory = type == SOCK_STREAM ? lane() : nullptr;
  if (memory == nullptr || find_any_port(memory, number) == nullptr) return;
  const uint16_t port = port_of_address(given_);
  const HostRow* const row = find_host(memory, number, port);
  std::memcpy(&led_, given_, given_->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof led_);
  to_ = reinterpret_cast<const sockaddr*>(&led_);
  if (row != nullptr) {
    lead_address(reinterpret_cast<sockaddr*>(&led_), row->address, row->real_port);
    return;
  }
  // Nobody can listen at port 0. At this port someone could, at all addresses of this machine.
  constexpr uint8_t kLocalhost[4] = {127, 0, 0, 1};
  lead_address(reinterpret_cast<sockaddr*>(&led_), kLocalhost, 0);
  report_no_port(memory, number, port);
}

}  // namespace filibuster::preload
