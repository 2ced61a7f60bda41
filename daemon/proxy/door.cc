#include "daemon/proxy/door.h"

#include <dlfcn.h>

#include "core/rpc/header_field.h"

namespace filibuster::proxy {
namespace {

template <typename Function>
void look_up(const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

Door Door::find() {
  Door door;
  look_up("filibuster_attached_origin", &door.origin_);
  look_up("filibuster_attached_incoming", &door.incoming_);
  look_up("filibuster_attached_stream", &door.stream_);
  look_up("filibuster_attached_request", &door.request_);
  look_up("filibuster_attached_answered", &door.answered_);
  look_up("filibuster_attached_lost", &door.lost_);
  look_up("filibuster_attached_inner", &door.inner_);
  look_up("filibuster_attached_requests_lost", &door.requests_lost_);
  look_up("filibuster_attached_watched", &door.watched_);
  look_up("filibuster_attached_seen", &door.seen_);
  if (door.origin_ == nullptr || door.incoming_ == nullptr || door.inner_ == nullptr ||
      door.stream_ == nullptr || door.request_ == nullptr || door.answered_ == nullptr ||
      door.lost_ == nullptr || door.watched_ == nullptr || door.seen_ == nullptr ||
      door.requests_lost_ == nullptr)
    return {};
  return door;
}

std::string Door::open_request(int fd) const {
  char value[kHeaderValueSize];
  if (incoming_ == nullptr || incoming_(fd, value, sizeof value) != 1 || value[0] == 0) return {};
  return {value, sizeof value};
}

std::string Door::request_of_stream(int fd, uint32_t stream) const {
  char value[kHeaderValueSize];
  if (stream_ == nullptr || stream_(fd, stream, value, sizeof value) != 1 || value[0] == 0)
    return {};
  return {value, sizeof value};
}

void Door::watched(int fd, const Address& at, bool from_start) const {
  if (watched_ == nullptr) return;
  sockaddr_storage address{};
  const socklen_t size = to_socket(at, &address);
  watched_(fd, reinterpret_cast<const sockaddr*>(&address), size, from_start ? 1 : 0);
}

}  // namespace filibuster::proxy
